// `vramwise web`: the page, the same planner in a browser, from the file beside this program.
#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/output.h"

namespace vramwise::cli {

class WebCommand : public Command {
 public:
  explicit WebCommand(const Program& program);
  // Opens the page, or only prints its path. Without a desktop the path is printed too. Exit status
  // 0, or 4 when the page is not installed.
  bool asks_catalog() const override { return false; }
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
  bool only_path_ = false;
};

}  // namespace vramwise::cli
