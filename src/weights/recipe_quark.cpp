// AMD Quark: a global setting, settings for patterns of layers, and a list to exclude.
// Source: vllm/model_executor/layers/quantization/quark/quark.py.
#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

// Settings of weights: an object, or a list of one (or of two steps, the last being stored).
std::optional<json::Reader> weight_settings(const json::Reader& config) {
  auto weight = config.find("weight");
  if (weight && weight->value().is_array()) {
    const auto items = weight->items();
    if (!items || items->empty()) return std::nullopt;
    weight = items->back();
  }
  return weight && weight->is_object() ? weight : std::nullopt;
}

Result<std::optional<Scheme>> read_scheme(const json::Reader& config) {
  const auto weight = weight_settings(config);
  if (!weight) return std::optional<Scheme>();
  TRY_ASSIGN(const std::string type, weight->require_string({"dtype"}));
  TRY_ASSIGN(const auto scope, weight->optional_string({"qscheme"}));
  TRY_ASSIGN(const auto group, weight->optional_integer({"group_size"}, -1, 1 << 24));
  const auto inputs = config.find("input_tensors");
  bool static_inputs = false;
  if (inputs && inputs->is_object()) {
    TRY_ASSIGN(const bool dynamic, inputs->boolean_or({"is_dynamic"}, false));
    static_inputs = !dynamic;
  }
  Scheme s;
  s.group = group.value_or(0) < 0 ? 0 : group.value_or(0);
  if (type == "fp8_e4m3" || type == "fp8_e5m2") {
    s.kind = scope == "per_channel" ? SchemeKind::fp8_channel : SchemeKind::fp8_tensor;
    s.static_input_scale = static_inputs;
  } else if (type == "fp4" || type == "mxfp4" || (type == "mx" && s.group == 32)) {
    s.kind = SchemeKind::mxfp4;
  } else if (type == "int8") {
    s.kind = SchemeKind::int8_channel;
    s.static_input_scale = static_inputs;
  } else if (type == "int4" || type == "uint4") {
    s.kind = type == "uint4" ? SchemeKind::awq : SchemeKind::wna16;
    s.bits = 4;
    s.zeros = type == "uint4";
    if (s.group == 0) s.group = 128;
  } else {
    return fail(weight->error(ErrorCode::unsupported, "Quark type \"" + type + "\" is not known"));
  }
  return std::optional<Scheme>(s);
}

std::string format_of(const Scheme& s) {
  switch (s.kind) {
    case SchemeKind::fp8_tensor: return "fp8-tensor";
    case SchemeKind::fp8_channel: return "fp8-channel";
    case SchemeKind::int8_channel: return "w8a8";
    case SchemeKind::awq: return "awq";
    case SchemeKind::wna16: return "w4a16";
    default: return "mxfp4";
  }
}

}  // namespace

Result<Plan> plan_quark(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.format = "bf16";
  if (const auto layers = config.find("layer_quant_config"); layers && layers->is_object()) {
    TRY_ASSIGN(const auto members, layers->members());
    for (const auto& [pattern, settings] : members) {
      TRY_ASSIGN(const auto scheme, read_scheme(settings));
      if (!scheme) continue;
      PlanGroup group;
      group.scheme = *scheme;
      TRY(group.targets.add(pattern));
      plan.groups.push_back(std::move(group));
    }
  }
  if (const auto global = config.find("global_quant_config"); global && global->is_object()) {
    TRY_ASSIGN(const auto scheme, read_scheme(*global));
    if (scheme) {
      PlanGroup all;
      all.scheme = *scheme;
      all.all_linears = true;
      plan.format = format_of(*scheme);
      plan.groups.push_back(std::move(all));
    }
  }
  if (const auto list = config.find("exclude")) TRY(plan.ignored.add_all(*list));
  if (const auto exported = config.find("export"); exported && exported->is_object()) {
    if (const auto group = exported->find("kv_cache_group");
        group && group->value().is_array() && !group->value().as_array().empty()) {
      plan.kv_cache_dtype = "fp8";
    }
  }
  return plan;
}

}  // namespace vramwise::weights
