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

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// A word like llama.cpp's "-ngl", of which the library makes our -n with the value "gl".
std::string engine_word(std::span<const char* const> words) {
  engines::launch::OptionTables tables;
  for (const std::string_view word : words) {
    const bool several = word.size() > 2 && word[0] == '-' && word[1] != '-';
    if (!several || !std::all_of(word.begin() + 1, word.end(), is_lower)) continue;
    for (const Launcher& launcher : kLaunchers) {
      const engines::launch::OptionTable* table = tables.get(launcher.table);
      if (table != nullptr && table->exact(word)) return std::string(word);
    }
  }
  return {};
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

int usage_error(const CLI::App& app, const CLI::ParseError& error,
                std::span<const char* const> words, const Output& output) {
  const report::Style style = output.style(true);
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::string message = error.what();
  // The library lists leftovers in an order of its own; the first unknown flag is what is wrong,
  // and where no command was known, the first word.
  if (const auto left = app.remaining(true); chosen.empty() && !left.empty()) {
    message = "unknown command '" + left.front() + "'";
  }
  std::string unknown;
  for (const std::string& token : app.remaining(true)) {
    if (unknown.empty() && starts_with(token, "-")) unknown = token;
  }
  if (unknown.empty() && !chosen.empty()) unknown = engine_word(words);
  if (!unknown.empty()) message = "unknown option '" + unknown + "'";
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  std::cerr << report::paint(style, report::Ink::red, "error:") << " " << report::safe(message)
            << "\n";
  if (!unknown.empty()) {
    if (!chosen.empty() && say_engine_option(command, unknown)) return kUsage;
    for (const std::string& near : similar_flags(command, unknown)) {
      std::cerr << "  help: an option with a similar name exists: " << near << "\n";
    }
  }
  if (const auto left = app.remaining(true); chosen.empty() && !left.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
    const std::vector<std::string_view> views(names.begin(), names.end());
    for (const std::string& near : nearest_names(left.front(), views, 1)) {
      std::cerr << "  help: a command with a similar name exists: " << near << "\n";
    }
  }
  std::cerr << "  help: vramwise " << (chosen.empty() ? "" : command.get_name() + " ")
            << "--help\n";
  return kUsage;
}

}  // namespace vramwise::cli
