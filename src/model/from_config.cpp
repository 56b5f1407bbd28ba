#include "model/from_config.h"

#include <algorithm>
#include <optional>

#include "base/sort.h"
#include "base/text.h"
#include "model/dispatch.h"

namespace vramwise::model {
namespace {

// A key that only configs of one kind have, and a family of that kind. The first that is there
// counts.
struct Sign {
  std::string_view key, family;
};
constexpr Sign kSigns[] = {
    {"kv_source_layer_ids", "deepseek_v41"},
    {"compress_ratios", "deepseek_v4"},
    {"linear_attn_config", "kimi_linear"},
    {"linear_num_key_heads", "qwen3_next"},
    {"linear_num_value_heads", "qwen3_next"},
    {"index_head_dim", "deepseek_v32"},
    {"kv_lora_rank", "deepseek_v3"},
    {"hybrid_override_pattern", "nemotron_h"},
    {"mamba_num_heads", "nemotron_h"},
    {"mamba_d_ssm", "falcon_h1"},
    {"attn_layer_period", "jamba"},
    {"mamba_d_state", "bamba"},
    {"conv_L_cache", "lfm2"},
    {"state_size", "mamba"},
    {"hidden_size_per_layer_input", "gemma4"},
    {"query_pre_attn_scalar", "gemma3"},
    {"attention_chunk_size", "llama4"},
    {"shared_expert_intermediate_size", "qwen2_moe"},
    {"n_routed_experts", "glm4_moe"},
    {"num_experts", "qwen3_moe"},
    {"num_local_experts", "mixtral"},
    {"type_vocab_size", "bert"},
};

// The family whose config has the same kind of keys: what to pass when the name is unknown. Empty:
// no key of it is a language model's.
std::string_view resembled(const json::Reader& config) {
  const auto inner = config.find({"text_config", "llm_config", "language_config"});
  const json::Reader& text = inner && inner->is_object() ? *inner : config;
  if (!text.is_object()) return {};
  for (const Sign& sign : kSigns) {
    if (text.has(sign.key)) return sign.family;
  }
  for (const std::string_view key : {"hidden_size", "num_hidden_layers", "num_attention_heads"}) {
    if (text.has(key)) return "llama";
  }
  return {};
}

// Files that lie beside a model and look like its config, each with what to give instead.
std::optional<Error> other_file(const json::Reader& config) {
  if (config.has("peft_type")) {
    const auto base = config.find({"base_model_name_or_path"});
    const std::string of = base && base->value().is_string() ? base->value().as_string() : "";
    return config
        .error(ErrorCode::unsupported, "this is the config of an adapter" +
                                           (of.empty() ? "" : " for '" + of + "'") +
                                           ", not of a model")
        .hint(
            "plan the model that it adapts, with the engine's options for adapters "
            "(--enable-lora, --lora-paths, --lora)");
  }
  if (config.has("_diffusers_version")) {
    return config.error(ErrorCode::unsupported, "this is a part of a diffusion pipeline")
        .hint("models that make images are not planned");
  }
  if (config.has("dim") && config.has("n_layers") && config.has("n_heads")) {
    return config
        .error(ErrorCode::unsupported,
               "this is a params.json, which names a model's sizes in Meta's or Mistral's own way")
        .hint("give the config.json of the same model");
  }
  return std::nullopt;
}

// Sizes of the vision tower by the keys of the config, whatever the tower is built from.
Result<bool> name_vision(const json::Reader& config, Model& model) {
  const auto vision = config.find({"vision_config"});
  if (!model.vision || !vision || !vision->is_object()) return true;
  VisionTower::Named named;
  constexpr int64_t kMost = int64_t{1} << 32;
  TRY_ASSIGN(const auto hidden,
             vision->optional_integer({"hidden_size", "vt_hidden_size"}, 0, kMost));
  TRY_ASSIGN(const auto layers,
             vision->optional_integer({"num_hidden_layers", "vt_num_hidden_layers"}, 0, kMost));
  named.hidden_size = hidden.value_or(0);
  named.layers = layers.value_or(0);
  model.vision->named = named;
  return true;
}

Error unknown_family(const json::Reader& config, std::string_view type, std::string_view name) {
  if (type.empty() && name.empty()) {
    if (auto other = other_file(config)) return std::move(*other);
  }
  const std::string_view like = resembled(config);
  std::string message = type.empty() ? "the config has no model_type" : "";
  if (!type.empty()) message = "model_type '" + std::string(type) + "' is not known";
  if (!name.empty()) message += ", nor is the class '" + std::string(name) + "'";
  Error error = config.error(ErrorCode::unsupported, message);
  const std::string asked = type.empty() ? to_lower(stem_of_class(name)) : std::string(type);
  const std::vector<std::string> near = nearest_names(asked, known_model_types());
  if (!near.empty()) error.hints.push_back("nearest known model types: " + join(near, ", "));
  if (like.empty()) {
    error.hints.push_back("no key of it is a language model's: give the model's own config.json");
    return error;
  }
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
  sort_stable(types);
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
    if (rule != nullptr) {
      meant = type_of_class(*rule, name);
    } else {
      meant = spelled_type(name);
      if (!meant.empty()) rule = rule_for_type(meant);
    }
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
  TRY(name_vision(config, model));
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
