#include "apps/cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <string_view>
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

std::string misplaced_option(std::span<const char* const> launch_words) {
  // No engine has these, nor what they could be short for; LM Studio's `lms` alone has --gpu.
  constexpr auto kOurs = std::to_array<std::string_view>(
      {"--json", "--ctx", "--concurrency", "--exact", "--ascii", "--show-options",
       "--engine-version", "--print-request", "--emit", "--exit-zero", "--gpu"});
  for (size_t i = 0; i < launch_words.size(); ++i) {
    const std::string_view word = launch_words[i];
    const std::string_view name = word.substr(0, word.find('='));
    if (std::find(kOurs.begin(), kOurs.end(), name) == kOurs.end()) continue;
    if (name == "--gpu") {
      // vLLM takes it as short for --gpu-memory-utilization.
      const std::string_view value = name.size() < word.size()     ? word.substr(name.size() + 1)
                                     : i + 1 < launch_words.size() ? launch_words[i + 1]
                                                                   : std::string_view();
      if (parse_number(value) || std::string_view(launch_words.front()) == "lms") continue;
    }
    return std::string(name);
  }
  return {};
}

int misplaced_error(const std::string& option, const Output& output) {
  const report::Style style = output.style(true);
  std::cerr << report::paint(style, report::Ink::red, "error:") << " " << option
            << " stands behind `--`, where the engine's own line is\n"
            << "  help: options of vramwise go before it: vramwise plan " << option
            << " … -- vllm serve …\n";
  return kUsage;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, const Output& output) {
  const report::Style style = output.style(true);
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::string message = error.what();
  // The library lists leftovers in an order of its own; the first unknown flag is what is wrong,
  // and where no command was known, the first word.
  if (const auto left = app.remaining(true); chosen.empty() && !left.empty()) {
    message = "unknown command '" + left.front() + "'";
  }
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
