// Integer groups: AWQ, GPTQ, auto-round, and MLX's affine groups.
// Source: vllm/model_executor/layers/quantization/awq.py, gptq_marlin.py, inc.py;
// ml-explore/mlx python/mlx/nn/layers/quantized.py.
#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

constexpr int64_t kMaxBits = 16;

// group_size -1: one group for the whole row.
Result<int64_t> read_group(const json::Reader& config, int64_t fallback) {
  TRY_ASSIGN(const int64_t group,
             config.integer_or({"group_size", "q_group_size"}, fallback, -1, 1 << 24));
  return group < 0 ? 0 : group;
}

Result<void> read_list(const json::Reader& config, std::string_view key, ModuleList& list) {
  if (const auto found = config.find(key)) TRY(list.add_all(*found));
  return {};
}

Result<Scheme> read_gptq_scheme(const json::Reader& config) {
  Scheme scheme;
  scheme.kind = SchemeKind::gptq;
  TRY_ASSIGN(const int64_t bits, config.integer_or({"bits", "w_bit"}, 4, 1, kMaxBits));
  scheme.bits = int(bits);
  TRY_ASSIGN(scheme.group, read_group(config, 128));
  TRY_ASSIGN(scheme.act_order, config.boolean_or({"desc_act"}, false));
  TRY_ASSIGN(const bool symmetric, config.boolean_or({"sym"}, true));
  scheme.zeros = !symmetric;
  return scheme;
}

std::string gptq_format(const Scheme& scheme) {
  return scheme.bits == 8 ? "gptq-int8" : "gptq-int4";
}

// GPTQModel's `dynamic`: "-:expression" leaves modules alone, "+:expression" or a bare one gives
// them other settings.
Result<void> read_dynamic(const json::Reader& dynamic, const Scheme& base, Plan& plan) {
  TRY_ASSIGN(const auto members, dynamic.members());
  for (const auto& [key, value] : members) {
    const std::string_view rule = key;
    if (starts_with(rule, "-:")) {
      TRY(plan.ignored.add_expression(rule.substr(2)));
      continue;
    }
    PlanGroup group;
    group.scheme = base;
    TRY_ASSIGN(const int64_t bits, value.integer_or({"bits"}, base.bits, 1, kMaxBits));
    TRY_ASSIGN(group.scheme.group, read_group(value, base.group == 0 ? -1 : base.group));
    TRY_ASSIGN(group.scheme.act_order, value.boolean_or({"desc_act"}, base.act_order));
    group.scheme.bits = int(bits);
    if (bits == 16) group.scheme = plan.plain;
    TRY(group.targets.add_expression(starts_with(rule, "+:") ? rule.substr(2) : rule));
    plan.groups.push_back(std::move(group));
  }
  return {};
}

// modules_in_block_to_quantize: lists of module names; everything else stays.
Result<void> read_chosen(const json::Reader& lists, PlanGroup& group) {
  TRY_ASSIGN(const auto items, lists.items());
  for (const json::Reader& item : items) {
    if (item.value().is_array()) {
      TRY(group.targets.add_all(item));
    } else {
      TRY_ASSIGN(const std::string name, item.string());
      TRY(group.targets.add(name));
    }
  }
  group.all_linears = group.targets.empty();
  return {};
}

}  // namespace

Result<Plan> plan_awq(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.format = "awq";
  plan.covers_mtp = false;  // calibration loads the model without them
  PlanGroup all;
  all.all_linears = true;
  all.scheme.kind = SchemeKind::awq;
  all.scheme.zeros = true;
  TRY_ASSIGN(const int64_t bits, config.integer_or({"bits", "w_bit"}, 4, 1, kMaxBits));
  all.scheme.bits = int(bits);
  TRY_ASSIGN(all.scheme.group, read_group(config, 128));
  plan.groups.push_back(std::move(all));
  TRY(read_list(config, "modules_to_not_convert", plan.ignored));
  return plan;
}

Result<Plan> plan_gptq(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.covers_mtp = false;
  TRY_ASSIGN(const Scheme scheme, read_gptq_scheme(config));
  plan.format = gptq_format(scheme);
  TRY_ASSIGN(plan.covers_head, config.boolean_or({"lm_head"}, false));
  TRY(read_list(config, "modules_to_not_convert", plan.ignored));
  if (const auto dynamic = config.find("dynamic"); dynamic && dynamic->is_object()) {
    TRY(read_dynamic(*dynamic, scheme, plan));
  }
  PlanGroup all;
  all.scheme = scheme;
  all.all_linears = true;
  if (const auto chosen = config.find("modules_in_block_to_quantize")) {
    TRY(read_chosen(*chosen, all));
  }
  plan.groups.push_back(std::move(all));
  return plan;
}

Result<Plan> plan_auto_round(const json::Reader& config, const Scheme& plain) {
  TRY_ASSIGN(const auto packing, config.optional_string({"packing_format", "backend"}));
  Plan plan;
  plan.plain = plain;
  plan.covers_mtp = false;
  TRY_ASSIGN(Scheme scheme, read_gptq_scheme(config));
  plan.format = gptq_format(scheme);
  if (packing && contains(*packing, "awq")) {
    scheme.kind = SchemeKind::awq;
    scheme.zeros = true;
    plan.format = "awq";
  }
  // Modules with settings of their own; 16 bits means left alone.
  if (const auto extra = config.find("extra_config"); extra && extra->is_object()) {
    TRY_ASSIGN(const auto members, extra->members());
    for (const auto& [name, value] : members) {
      if (!value.is_object()) continue;
      Scheme own = scheme;
      TRY_ASSIGN(const int64_t bits, value.integer_or({"bits"}, scheme.bits, 1, 32));
      TRY_ASSIGN(own.group, read_group(value, scheme.group == 0 ? -1 : scheme.group));
      own.bits = int(bits);
      if (bits >= 16) own = plain;
      if (name.find_first_of("*^$\\[(|") == std::string::npos) {
        plan.modules.emplace(name, own);
      } else {
        PlanGroup group;
        group.scheme = own;
        TRY(group.targets.add_expression(name));
        plan.groups.push_back(std::move(group));
      }
    }
  }
  PlanGroup all;
  all.scheme = scheme;
  all.all_linears = true;
  plan.groups.push_back(std::move(all));
  TRY(read_list(config, "modules_to_not_convert", plan.ignored));
  return plan;
}

// MLX writes {"group_size", "bits", "mode": "affine"} and a member per module that differs: other
// settings, or false. Embeddings and the head are quantised too.
Result<Plan> plan_mlx(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.format = "mlx";
  plan.covers_head = plan.covers_embeddings = true;
  PlanGroup all;
  all.all_linears = true;
  all.scheme.kind = SchemeKind::mlx_affine;
  TRY_ASSIGN(const int64_t bits, config.integer_or({"bits"}, 4, 1, kMaxBits));
  all.scheme.bits = int(bits);
  TRY_ASSIGN(all.scheme.group, read_group(config, 64));
  TRY_ASSIGN(const auto members, config.members());
  for (const auto& [name, value] : members) {
    if (value.value().is_boolean() && !value.value().as_boolean()) {
      plan.modules.emplace(name, plain);
    } else if (value.is_object()) {
      Scheme own = all.scheme;
      TRY_ASSIGN(const int64_t own_bits, value.integer_or({"bits"}, own.bits, 1, kMaxBits));
      own.bits = int(own_bits);
      TRY_ASSIGN(own.group, read_group(value, own.group));
      plan.modules.emplace(name, own);
    }
  }
  plan.groups.push_back(std::move(all));
  plan.notes.warn(
      "mlx_checkpoint",
      "The checkpoint is quantised for MLX, which runs on Apple's GPUs only (vLLM by its "
      "plugin vllm-metal). Give a weight format to plan another checkpoint.");
  return plan;
}

}  // namespace vramwise::weights
