// NVIDIA ModelOpt: one algorithm with shell patterns of what to leave alone, or an algorithm per
// module. Two spellings: flat in config.json, or under "quantization" in hf_quant_config.json.
// Source: vllm/model_executor/layers/quantization/modelopt.py.
#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

std::optional<Scheme> scheme_of_algorithm(std::string_view name) {
  const std::string algorithm = to_lower(name);
  Scheme s;
  if (algorithm == "fp8") {
    s.kind = SchemeKind::fp8_tensor;
    s.static_input_scale = true;
  } else if (algorithm == "fp8_pb_wo" || algorithm == "fp8_block" ||
             algorithm == "fp8_block_scales" || algorithm == "fp8_pb_real") {
    s.kind = SchemeKind::fp8_block;
  } else if (algorithm == "fp8_per_channel_per_token") {
    s.kind = SchemeKind::fp8_channel;
  } else if (algorithm == "nvfp4" || algorithm == "nvfp4_awq" || algorithm == "nvfp4_svdquant") {
    s.kind = SchemeKind::nvfp4;
    s.static_input_scale = true;
  } else if (algorithm == "w4a16_nvfp4" || algorithm == "nvfp4_w4a16") {
    s.kind = SchemeKind::nvfp4;
  } else if (algorithm == "mxfp4" || algorithm == "w4a8_mxfp4_fp8") {
    s.kind = SchemeKind::mxfp4;
  } else if (algorithm == "mxfp8") {
    s.kind = SchemeKind::mxfp8;
  } else if (algorithm == "w4a16_awq" || algorithm == "w4a8_awq" || algorithm == "int4_awq") {
    s.kind = SchemeKind::wna16;
    s.bits = 4;
  } else if (algorithm == "w8a8_sq_per_channel" ||
             algorithm == "w8a8_sq_per_channel_per_token_plugin") {
    s.kind = SchemeKind::int8_channel;
  } else {
    return std::nullopt;
  }
  return s;
}

Error unknown_algorithm(const json::Reader& place, std::string_view name) {
  return place.error(ErrorCode::unsupported,
                     "ModelOpt algorithm \"" + std::string(name) + "\" is not known");
}

std::string format_of(const Scheme& s) {
  switch (s.kind) {
    case SchemeKind::fp8_tensor: return "fp8-tensor";
    case SchemeKind::fp8_block: return "fp8-block";
    case SchemeKind::fp8_channel: return "fp8-channel";
    case SchemeKind::mxfp4: return "mxfp4";
    case SchemeKind::mxfp8: return "mxfp8";
    case SchemeKind::int8_channel: return "w8a8";
    case SchemeKind::wna16: return "w4a16";
    default: return "nvfp4";
  }
}

// kv_cache_quant_algo "FP8", kv_cache_scheme "FP8" or {"num_bits": 8, "type": "float"}.
Result<std::string> cache_type(const json::Reader& config) {
  const auto found = config.find({"kv_cache_quant_algo", "kv_cache_scheme"});
  if (!found) return std::string();
  if (found->is_object()) {
    TRY_ASSIGN(const int64_t bits, found->integer_or({"num_bits"}, 8, 1, 32));
    return std::string(bits == 8 ? "fp8" : bits == 4 ? "nvfp4" : "");
  }
  TRY_ASSIGN(const std::string name, found->string());
  const std::string lower = to_lower(name);
  if (lower == "fp8" || lower == "nvfp4" || lower == "int8") return lower;
  return std::string();
}

Result<void> read_modules(const json::Reader& layers, Plan& plan) {
  TRY_ASSIGN(const auto members, layers.members());
  plan.modules.reserve(members.size());
  for (const auto& [name, settings] : members) {
    TRY_ASSIGN(const std::string algorithm, settings.require_string({"quant_algo"}));
    std::optional<Scheme> scheme = scheme_of_algorithm(algorithm);
    if (!scheme) return fail(unknown_algorithm(settings, algorithm));
    TRY_ASSIGN(scheme->group, settings.integer_or({"group_size"}, scheme->group, 1, 1 << 24));
    if (plan.format.empty() || scheme->kind == SchemeKind::nvfp4) plan.format = format_of(*scheme);
    if (name.find_first_of("*?") == std::string::npos && !starts_with(name, "re:")) {
      plan.modules.emplace(name, *scheme);
      continue;
    }
    // Patterns are not in published files; they keep long ones short in catalogs.
    PlanGroup group;
    group.scheme = *scheme;
    TRY(group.targets.add(name));
    plan.groups.push_back(std::move(group));
  }
  return {};
}

}  // namespace

Result<Plan> plan_modelopt(const json::Reader& outer, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  const auto nested = outer.find("quantization");
  const json::Reader config = nested && nested->is_object() ? *nested : outer;
  TRY_ASSIGN(plan.kv_cache_dtype, cache_type(config));
  plan.kv_from_hf_quant_config = nested.has_value();
  for (const std::string_view key : {"exclude_modules", "ignore"}) {
    if (const auto list = config.find(key)) TRY(plan.ignored.add_all(*list));
  }
  if (const auto layers = config.find("quantized_layers")) TRY(read_modules(*layers, plan));
  TRY_ASSIGN(const auto algorithm, config.optional_string({"quant_algo"}));
  if (!algorithm || *algorithm == "MIXED_PRECISION") {
    if (plan.modules.empty() && plan.groups.empty() && algorithm) {
      return fail(config.error(ErrorCode::missing_field,
                               "MIXED_PRECISION without quantized_layers says nothing"));
    }
    if (plan.format.empty()) plan.format = "bf16";
    return plan;
  }
  std::optional<Scheme> scheme = scheme_of_algorithm(*algorithm);
  if (!scheme) return fail(unknown_algorithm(config, *algorithm));
  TRY_ASSIGN(scheme->group, config.integer_or({"group_size"}, scheme->group, 1, 1 << 24));
  plan.format = format_of(*scheme);
  if (plan.modules.empty() && plan.groups.empty()) {
    PlanGroup all;
    all.scheme = *scheme;
    all.all_linears = true;
    plan.groups.push_back(std::move(all));
    if (scheme->kind == SchemeKind::nvfp4) plan.ngrams = scheme;
  }
  return plan;
}

}  // namespace vramwise::weights
