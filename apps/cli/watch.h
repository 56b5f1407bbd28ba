// `vramwise watch`: a running server's memory, cache and queue, beside the plan.
#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/live_options.h"

namespace vramwise::cli {

class WatchCommand : public Command {
 public:
  explicit WatchCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
  Question question_;  // the plan, by the usual flags
  std::string server_;
  GivenOptions given_;
};

}  // namespace vramwise::cli
