// The page on this machine: where its one file lies, and handing it to the person's browser.
#pragma once

#include <string>

#include "base/result.h"

namespace vramwise::host {

// The file of the page: installed (../share/vramwise/ seen from the program's folder) or of the
// build tree the program stands in. Errors: not_found, with where it was looked for.
Result<std::string> find_page();

// Starts the desktop's opener (xdg-open, on a Mac open) for a local file and does not wait for the
// browser. Errors: not_found when there is no opener or no desktop, unsupported when it refuses.
Result<bool> open_in_browser(const std::string& path);

}  // namespace vramwise::host
