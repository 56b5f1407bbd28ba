// What a line that cannot be read is told.
#pragma once

#include <span>
#include <string>

#include "apps/cli/output.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace vramwise::cli {

// Prints the fault and what is near; exit status kUsage. `words`: what was parsed.
int usage_error(const CLI::App& app, const CLI::ParseError& error,
                std::span<const char* const> words, const Output& output);

// An option of ours among the words of an engine's line, behind `--`; empty: none. Such a word
// would be read as the engine's own and left out.
std::string misplaced_option(std::span<const char* const> launch_words);
// Says where it belongs; exit status kUsage.
int misplaced_error(const std::string& option, const Output& output);

}  // namespace vramwise::cli
