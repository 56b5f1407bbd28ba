#include "apps/cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/engine.h"
#include "engines/hardware.h"
#include "model/from_config.h"
#include "weights/weights.h"

namespace vramwise::cli {
namespace {

// What the value of an option or argument can be.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kCompletes = {{
    {"--gpu", "gpu"},
    {"--weights", "weights"},
    {"--engine", "engine"},
    {"--backend", "backend"},
    {"--assume-family", "family"},
    {"--emit", "emit"},
    {"--of", "max"},
    {"--line", "file"},
    {"--request", "file"},
    {"--save", "file"},
    {"--node", "file"},
    {"--prices", "file"},
    {"--catalog", "file"},
    {"MODEL", "model"},
    {"OTHER", "model"},
    {"FILE", "file"},
    {"REQUEST", "file"},
    {"KIND", "catalog"},
    {"SHELL", "shell"},
    {"COMMAND", "command"},
}};

std::string_view completes(std::string_view name) {
  for (const auto& [key, kind] : kCompletes) {
    if (key == name) return kind;
  }
  return {};
}

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_lnames()) info.longs.push_back("--" + name);
  for (const std::string& name : option.get_snames()) info.shorts.push_back("-" + name);
  // A flag takes no items.
  if (option.get_items_expected_max() > 0) {
    info.value =
        info.longs.empty() && info.shorts.empty() ? option.get_name(true) : option.get_type_name();
    // Checks put what they allow behind the name: "KIND:{compose,k8s}".
    info.value = info.value.substr(0, info.value.find_first_of(":{"));
    if (info.value.empty()) info.value = "VALUE";
  }
  info.group = option.get_group();
  info.help = replace_all(option.get_description(), "\n", " ");
  info.completes = completes(info.longs.empty() ? info.value : info.longs.front());
  return info;
}

CommandInfo info_of(const CLI::App& app, bool root) {
  CommandInfo info;
  if (!root) info.name = app.get_name();
  info.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    OptionInfo one = info_of(*option);
    if (one.group.empty()) continue;  // hidden
    const bool positional = one.longs.empty() && one.shorts.empty();
    (positional ? info.positionals : info.options).push_back(std::move(one));
  }
  return info;
}

}  // namespace

std::vector<CommandInfo> command_tree(const CLI::App& app) {
  std::vector<CommandInfo> tree = {info_of(app, true)};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) tree.push_back(info_of(*command, false));
  }
  return tree;
}

std::vector<std::string> complete(const CLI::App& app, std::string_view kind,
                                  std::string_view prefix) {
  std::vector<std::string> all;
  const auto add = [&](std::string_view name) { all.emplace_back(name); };
  const auto add_list = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) add(name);
  };
  if (kind == "gpu") {
    for (const std::string_view id : catalog::ids(catalog::Kind::gpu)) add(id);
    add_list({"local", "none"});
  } else if (kind == "model") {
    for (const std::string_view id : catalog::ids(catalog::Kind::model)) add(id);
  } else if (kind == "weights") {
    for (const weights::FormatInfo& format : weights::formats()) add(format.id);
  } else if (kind == "engine") {
    for (const engines::EngineFactory factory : engines::engine_factories()) add(factory().name());
  } else if (kind == "family") {
    for (const std::string_view type : model::known_model_types()) add(type);
  } else if (kind == "backend") {
    add_list({"cpu", "cuda", "metal", "rocm", "rpc", "sycl", "vulkan"});
  } else if (kind == "emit") {
    add_list({"compose", "k8s", "llm-d"});
  } else if (kind == "max") {
    add_list({"batch", "concurrency", "context", "lora", "weights"});
  } else if (kind == "catalog") {
    add_list({"engines", "families", "gpus", "instances", "models", "weights"});
  } else if (kind == "shell") {
    add_list({"bash", "fish", "zsh"});
  } else if (kind == "command") {
    for (const CommandInfo& command : command_tree(app)) {
      if (!command.name.empty()) add(command.name);
    }
  }
  // People type names in lower case; ids keep their own.
  const std::string wanted = to_lower(prefix);
  all.erase(
      std::remove_if(all.begin(), all.end(),
                     [&](const std::string& name) { return !starts_with(to_lower(name), wanted); }),
      all.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace vramwise::cli
