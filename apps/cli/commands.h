#pragma once

#include <memory>
#include <vector>

#include "apps/cli/command.h"

namespace vramwise::cli {

// All commands, in the order of the help.
std::vector<std::unique_ptr<Command>> add_commands(const Program& program);

}  // namespace vramwise::cli
