// How --help is drawn: at the terminal's width, with examples of the command that was asked about.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class Formatter;
}

namespace vramwise::cli {

// Wraps what the library prints at the width of the terminal; at 80 columns where it is piped.
std::shared_ptr<CLI::Formatter> help_formatter();

// What stands below the options: examples of a command and the exit codes. An empty or unknown name
// gives those of the program.
std::string help_footer(std::string_view command);

}  // namespace vramwise::cli
