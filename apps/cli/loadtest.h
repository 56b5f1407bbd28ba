// `vramwise loadtest`: real requests to a running server, up to the planned number of users.
#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/live_options.h"

namespace vramwise::cli {

class LoadtestCommand : public Command {
 public:
  explicit LoadtestCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
  Question question_;  // the plan, by the usual flags
  std::string server_;
  GivenOptions given_;
};

}  // namespace vramwise::cli
