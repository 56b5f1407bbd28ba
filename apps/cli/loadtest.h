// `vramwise loadtest`: real requests to a running server, up to the planned number of users.
#pragma once

#include <string>

#include "apps/cli/live_options.h"

namespace vramwise::cli {

class LoadtestCommand : public LiveCommand {
 public:
  explicit LoadtestCommand(const Program& program);
  int run(const std::string& launch_line) override;
};

}  // namespace vramwise::cli
