// `vramwise web`: the page, the same planner in a browser, from the file beside this program.
#pragma once

#include "apps/cli/output.h"

namespace vramwise::cli {

// Opens the page, or only prints its path. Without a desktop the path is printed too. Exit status
// 0, or 4 when the page is not installed.
int run_web(bool only_path, const Output& output);

}  // namespace vramwise::cli
