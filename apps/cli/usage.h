// What a line that cannot be read is told.
#pragma once

#include "apps/cli/output.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace vramwise::cli {

// Prints the fault and what is near; exit status kUsage.
int usage_error(const CLI::App& app, const CLI::ParseError& error, const Output& output);

}  // namespace vramwise::cli
