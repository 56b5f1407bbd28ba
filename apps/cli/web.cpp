#include "apps/cli/web.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "host/browser.h"

namespace vramwise::cli {

WebCommand::WebCommand(const Program& program)
    : Command(
          program.app.add_subcommand("web", "the page: the same planner in a browser, offline")),
      output_(program.output) {
  command_->add_flag("--path", only_path_, "print where the file is, open nothing");
}

int WebCommand::run(const std::string& /*launch_line*/) {
  const auto page = host::find_page();
  if (!page) return show_error(page.error(), output_);
  std::cout << *page << "\n" << std::flush;
  if (only_path_) return 0;
  const auto opened = host::open_in_browser(*page);
  if (!opened) {
    std::cerr << "note: " << opened.error().message << "; open the file above in a browser\n";
  }
  return 0;
}

}  // namespace vramwise::cli
