// `vramwise watch`: a running server's memory, cache and queue, beside the plan.
#pragma once

#include <string>

#include "apps/cli/live_options.h"

namespace vramwise::cli {

struct WatchCommand {
  Question question;  // the plan, by the usual flags
  std::string server;
  GivenOptions given;
};

// Registers the command; the object outlives the parse.
CLI::App* add_watch(CLI::App& app, WatchCommand& command, Output& output);
// `line`: an engine's own line from behind `--`, to plan for.
int run_watch(WatchCommand& command, const std::string& line, const Output& output);

}  // namespace vramwise::cli
