// `vramwise loadtest`: real requests to a running server, up to the planned number of users.
#pragma once

#include <string>

#include "apps/cli/live_options.h"

namespace vramwise::cli {

struct LoadtestCommand {
  Question question;  // the plan, by the usual flags
  std::string server;
  GivenOptions given;
};

CLI::App* add_loadtest(CLI::App& app, LoadtestCommand& command, Output& output);
// `line`: an engine's own line from behind `--`, to plan for.
int run_loadtest(LoadtestCommand& command, const std::string& line, const Output& output);

}  // namespace vramwise::cli
