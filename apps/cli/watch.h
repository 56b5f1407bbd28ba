// `vramwise watch`: a running server's memory, cache and queue, beside the plan.
#pragma once

#include <string>

#include "apps/cli/live_options.h"

namespace vramwise::cli {

class WatchCommand : public LiveCommand {
 public:
  explicit WatchCommand(const Program& program);
  int run(const std::string& launch_line) override;
};

}  // namespace vramwise::cli
