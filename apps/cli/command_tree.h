// Every command with its options, as the parser knows them: what completions and manual pages are
// made of, so that neither can fall behind the parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace vramwise::cli {

struct OptionInfo {
  std::vector<std::string> longs;   // "--gpu"
  std::vector<std::string> shorts;  // "-g"
  std::string value;                // placeholder; empty: a flag without value
  std::string group;
  std::string help;
  // What completes the value: a kind of `__complete`, "file", or empty where nothing is known.
  std::string_view completes;
};

struct CommandInfo {
  std::string name;  // empty: the program itself
  std::string help;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;  // `value` is the placeholder
};

// The program first, then its commands in their order; hidden ones are left out.
std::vector<CommandInfo> command_tree(const CLI::App& app);

// Candidates of a kind ("gpu", "model", "weights", "engine", "family", "backend", "emit", "max",
// "catalog", "shell", "command") that begin with `prefix`, one a line. Empty for an unknown kind.
std::vector<std::string> complete(const CLI::App& app, std::string_view kind,
                                  std::string_view prefix);

// A script for bash, zsh or fish; empty for another shell.
std::string completion_script(const std::vector<CommandInfo>& tree, std::string_view shell);

// A manual page in roff: vramwise(1) for an empty name, vramwise-NAME(1) for a command; empty for
// an unknown one.
std::string manual_page(const std::vector<CommandInfo>& tree, std::string_view name);

}  // namespace vramwise::cli
