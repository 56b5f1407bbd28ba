#include "apps/cli/usage.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/text.h"

namespace vramwise::cli {
namespace {

// Flags close to an unknown one, for the error message.
std::vector<std::string> similar_flags(const CLI::App& command, const std::string& token) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return nearest_names(token.substr(0, token.find('=')), views, 2);
}

}  // namespace

int usage_error(const CLI::App& app, const CLI::ParseError& error, const Output& output) {
  const report::Style style = output.style(true);
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::string message = error.what();
  // The library lists leftovers in an order of its own; the first unknown flag is what is wrong.
  for (const std::string& token : app.remaining(true)) {
    if (!starts_with(token, "-")) continue;
    message = "unknown option '" + token + "'";
    break;
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  std::cerr << report::paint(style, report::Ink::red, "error:") << " " << report::safe(message)
            << "\n";
  for (const std::string& token : app.remaining(true)) {
    if (!chosen.empty() && !starts_with(token, "-")) continue;
    for (const std::string& near : similar_flags(command, token)) {
      std::cerr << "  help: an option with a similar name exists: " << near << "\n";
    }
    if (chosen.empty()) {
      std::vector<std::string> names;
      for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
      const std::vector<std::string_view> views(names.begin(), names.end());
      for (const std::string& near : nearest_names(token, views, 1)) {
        std::cerr << "  help: a command with a similar name exists: " << near << "\n";
      }
    }
    break;
  }
  std::cerr << "  help: vramwise " << (chosen.empty() ? "" : command.get_name() + " ")
            << "--help\n";
  return kUsage;
}

}  // namespace vramwise::cli
