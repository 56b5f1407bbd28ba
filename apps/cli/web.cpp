#include "apps/cli/web.h"

#include <iostream>

#include "host/browser.h"

namespace vramwise::cli {

int run_web(bool only_path, const Output& output) {
  const auto page = host::find_page();
  if (!page) return show_error(page.error(), output);
  std::cout << *page << "\n" << std::flush;
  if (only_path) return 0;
  const auto opened = host::open_in_browser(*page);
  if (!opened) {
    std::cerr << "note: " << opened.error().message << "; open the file above in a browser\n";
  }
  return 0;
}

}  // namespace vramwise::cli
