#include "apps/cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "engines/launch/option_table.h"
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

struct Launcher {
  std::string_view engine, table, line;
};
constexpr auto kLaunchers = std::to_array<Launcher>(
    {{"vllm", "vllm", "vllm serve MODEL"},
     {"sglang", "sglang", "python -m sglang.launch_server --model-path MODEL"},
     {"trtllm", "trtllm", "trtllm-serve MODEL"},
     {"llama.cpp", "llamacpp", "llama-server -m MODEL"}});

// An engine's own flag, given as if it were ours: how it is said here. False: no engine has it, or
// the command takes no such options.
bool say_engine_option(const CLI::App& command, const std::string& token) {
  if (command.get_option_no_throw("--option") == nullptr) return false;
  const CLI::Option* engine = command.get_option_no_throw("--engine");
  std::string asked = "vllm";
  if (engine != nullptr && !engine->results().empty()) asked = to_lower(engine->results().front());
  const std::string flag = token.substr(0, token.find('='));
  // Engines take a flag's beginning; one of ours without its last letter is meant rather.
  const auto ours = command.get_options();
  const bool abbreviates = std::none_of(ours.begin(), ours.end(), [&](const CLI::Option* option) {
    const auto& names = option->get_lnames();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.size() == flag.size() - 1 && starts_with("--" + name, flag);
    });
  });
  engines::launch::OptionTables tables;
  const Launcher* found = nullptr;
  engines::launch::Match match;
  for (const Launcher& launcher : kLaunchers) {
    const engines::launch::OptionTable* table = tables.get(launcher.table);
    if (table == nullptr || (found != nullptr && launcher.engine != asked)) continue;
    std::optional<engines::launch::Match> here = table->exact(flag);
    if (const auto longer = table->beginning_with(flag); !here && abbreviates) {
      if (longer.size() == 1 && !longer.front().option->memory.empty()) here = longer.front();
    }
    if (!here) continue;
    found = &launcher;
    match = *here;
  }
  if (found == nullptr) return false;
  std::string value = match.option->is_bare() ? match.negative ? "false" : "true" : "VALUE";
  if (flag.size() < token.size()) value = token.substr(flag.size() + 1);
  std::cerr << "  help: it is an option of " << found->engine << ": "
            << (found->engine == asked ? "" : "-e " + std::string(found->engine) + " ") << "-o "
            << match.option->name << "=" << report::safe(value) << "\n"
            << "  help: or give the engine's whole line behind --: vramwise " << command.get_name()
            << " … -- " << found->line << " …\n";
  return true;
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
    if (say_engine_option(command, token)) return kUsage;
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
