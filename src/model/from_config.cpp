#include "model/from_config.h"

#include <algorithm>

#include "base/text.h"
#include "model/dispatch.h"

namespace vramwise::model {
namespace {

// The family whose config has the same kind of keys: what to pass when the name is unknown.
std::string_view resembled(const json::Reader& config) {
  const auto inner = config.find({"text_config", "llm_config", "language_config"});
  const json::Reader& text = inner && inner->is_object() ? *inner : config;
  if (!text.is_object()) return "llama";
  bool linear = false;
  for (const json::Member& member : text.value().as_object()) {
    linear = linear || starts_with(member.key, "linear_");
  }
  if (linear) return "qwen3_next";
  if (text.has("kv_lora_rank")) {
    return text.has("index_head_dim") ? "deepseek_v32" : "deepseek_v3";
  }
  if (text.find({"mamba_num_heads", "hybrid_override_pattern"})) return "nemotron_h";
  if (text.find({"num_experts", "num_local_experts", "n_routed_experts"})) return "qwen3_moe";
  return "llama";
}

Error unknown_family(const json::Reader& config, std::string_view type, std::string_view name) {
  const std::string_view like = resembled(config);
  std::string message = type.empty() ? "the config has no model_type" : "";
  if (!type.empty()) message = "model_type '" + std::string(type) + "' is not known";
  if (!name.empty()) message += ", nor is the class '" + std::string(name) + "'";
  Error error = config.error(ErrorCode::unsupported, message);
  const std::vector<std::string> near = nearest_names(type, known_model_types());
  if (!near.empty()) error.hints.push_back("nearest known model types: " + join(near, ", "));
  error.hints.push_back("its keys resemble '" + std::string(like) + "': pass --assume-family " +
                        std::string(like) + " to plan with that family's rule");
  return error;
}

}  // namespace

std::vector<std::string_view> known_model_types() {
  std::vector<std::string_view> types;
  for (const ArchFactory factory : arch_factories()) {
    const ArchRule& rule = factory();
    types.insert(types.end(), rule.model_types.begin(), rule.model_types.end());
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

Result<Model> from_config(const json::Reader& config, std::string_view id,
                          std::string_view assume_family) {
  if (!config.is_object()) {
    return fail(config.error(ErrorCode::invalid_input, "a config is a JSON object"));
  }
  TRY_ASSIGN(const std::optional<std::string> given, config.optional_string({"model_type"}));
  const std::string type = given.value_or("");
  const std::string name = class_of(config);

  const ArchRule* rule = type.empty() ? nullptr : rule_for_type(type);
  // A rule may tell its members apart by model_type, so it is shown the one that is meant.
  std::string_view meant;
  if (rule == nullptr && !name.empty()) {
    rule = rule_for_class(name);
    if (rule != nullptr) meant = type_of_class(*rule, name);
  }
  const bool assumes = rule == nullptr && !assume_family.empty();
  if (assumes) {
    rule = rule_for_type(assume_family);
    if (rule == nullptr) return fail(unknown_family(config, assume_family, ""));
    meant = assume_family;
  }
  if (rule == nullptr) return fail(unknown_family(config, type, name));

  json::Value shown;
  if (!meant.empty()) {
    shown = config.value();
    shown.set("model_type", json::Value(meant));
  }
  const std::string source = config.where().source;
  TRY_ASSIGN(Model model, rule->build(shown.is_null() ? config : json::Reader(shown, source)));
  model.id = id;
  if (!type.empty()) model.model_type = type;
  if (assumes) {
    model.gguf = {};
    model.notes.assume("assumed_family",
                       "planned with the rule of '" + std::string(assume_family) +
                           "': model_type '" + type + "' is not known",
                       "--assume-family");
  }
  return model;
}

}  // namespace vramwise::model
