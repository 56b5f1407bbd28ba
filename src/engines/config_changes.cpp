#include "engines/config_changes.h"

#include <string>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::engines {
namespace {

constexpr std::string_view kScaling = "rope_scaling", kParameters = "rope_parameters";

// Rope parameters are one choice: what stood there before does not mix with the new kind.
bool replaces_whole(std::string_view key) { return key == kScaling || key == kParameters; }

}  // namespace

Result<json::Value> config_changes(const Options& options, std::span<const std::string_view> whole,
                                   std::span<const std::string_view> keys) {
  const json::Value nested = options.to_json();
  json::Value changes;
  const auto take = [&](const json::Value& object) {
    if (changes.is_null()) changes = json::Value::object();
    apply_config_changes(changes, object);
  };
  for (const std::string_view name : whole) {
    const json::Value* given = nested.find(name);
    if (given == nullptr || given->is_null()) continue;
    if (given->is_object()) {
      take(*given);
      continue;
    }
    const std::string where = "engine.options." + std::string(name);
    if (!given->is_string()) {
      return fail(Error(ErrorCode::invalid_input, "must be a JSON object").at(where));
    }
    if (given->as_string().empty()) continue;
    TRY_ASSIGN(const json::Value object, json::parse(given->as_string(), where));
    if (!object.is_object()) {
      return fail(Error(ErrorCode::invalid_input, "must be a JSON object").at(where));
    }
    take(object);
  }
  for (const std::string_view name : keys) {
    const json::Value* given = nested.find(name);
    if (given == nullptr || given->is_null()) continue;
    json::Value one = json::Value::object();
    one.set(name, *given);
    take(one);
  }
  return changes;
}

void apply_config_changes(json::Value& config, const json::Value& changes) {
  for (const json::Member& member : changes.as_object()) {
    if (replaces_whole(member.key)) {
      config.erase(kScaling);
      config.erase(kParameters);
    }
    json::Value* there = config.find(member.key);
    if (there != nullptr && there->is_object() && member.value.is_object()) {
      apply_config_changes(*there, member.value);
    } else {
      config.set(member.key, member.value);
    }
  }
}

}  // namespace vramwise::engines
