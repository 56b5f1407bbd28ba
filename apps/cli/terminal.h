// What the terminal is like, read once at the start.
#pragma once

#include <string>

#include "report/style.h"

namespace vramwise::cli {

// `color`: auto, always, never. `width` 0 = find out. Order: flag, NO_COLOR, FORCE_COLOR or
// CLICOLOR_FORCE, then a terminal that is not dumb.
report::Style detect_style(const std::string& color, int width, bool ascii, bool for_stderr);

}  // namespace vramwise::cli
