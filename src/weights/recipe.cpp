#include "weights/recipe.h"

#include <algorithm>

#include "base/text.h"
#include "model/served_type.h"
#include "weights/matrix.h"

namespace vramwise::weights {
namespace {

using model::Part;
using model::Role;
using model::Tensor;

// What quantisers call a linear layer. Routers, narrow gates and all that is not a matrix product
// with the tokens stay out: engines build those without a quantisation method. So do vision and
// audio towers, which every producer leaves alone, whether its list says so or its config covers
// the text model only.
bool is_linear(const Tensor& tensor, const Plan& plan) {
  switch (tensor.role) {
    case Role::query:
    case Role::key:
    case Role::value:
    case Role::fused_qkv:
    case Role::attention_output:
    case Role::attention_gate:
    case Role::ffn_gate:
    case Role::ffn_up:
    case Role::ffn_down:
    case Role::ffn_fused_gate_up:
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_down:
    case Role::expert_fused_gate_up:
    case Role::shared_expert_gate:
    case Role::shared_expert_up:
    case Role::shared_expert_down:
    case Role::shared_expert_fused_gate_up:
    case Role::expert_latent_down:
    case Role::expert_latent_up: return true;
    case Role::query_down:
    case Role::query_up:
    case Role::kv_down:
    case Role::kv_up: return plan.covers_latent;
    case Role::recurrent_in:
    case Role::recurrent_out: return plan.covers_recurrent;
    // weights_proj (heads of the indexer) is kept in full precision by every producer met so far.
    case Role::indexer: return plan.covers_latent && !contains(tensor.name, "weights_proj");
    // DeepSeek-V4's pair of square matrices and V4.1's main_proj; the wide eh_proj and fc of others
    // stay.
    case Role::mtp_projection:
      return tensor.shape.rank == 2 &&
             (tensor.shape[0] == tensor.shape[1] || contains(tensor.name, "main_proj"));
    case Role::output_head: return plan.covers_head && tensor.part != Part::mtp;
    case Role::token_embedding: return plan.covers_embeddings && tensor.part != Part::mtp;
    default: return false;
  }
}

// "model.layers.3.mlp.experts.0.gate_proj": the module that configs name; experts are alike, so the
// first stands for all.
std::string module_of(const Tensor& tensor) {
  std::string_view name = tensor.name;
  if (ends_with(name, ".weight")) name.remove_suffix(7);
  return replace_all(std::string(name), "{e}", "0");
}

// A scheme listed for the module itself, or for the expert stack it lies in.
const Scheme* listed(const Plan& plan, std::string_view module) {
  if (plan.modules.empty()) return nullptr;
  for (std::string_view name = module; !name.empty();) {
    const auto found = plan.modules.find(std::string(name));
    if (found != plan.modules.end()) return &found->second;
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) break;
    name = name.substr(0, dot);
  }
  return nullptr;
}

// Empty: unquantised.
const Scheme* scheme_of(const Plan& plan, const Tensor& tensor) {
  const std::string module = module_of(tensor);
  if (const Scheme* scheme = listed(plan, module)) return scheme;
  if (plan.ignored.matches(module)) return nullptr;
  for (const PlanGroup& group : plan.groups) {
    if (!group.targets.empty() && group.targets.matches(module)) return &group.scheme;
  }
  if (tensor.role == Role::ngram_embedding) return plan.ngrams ? &*plan.ngrams : nullptr;
  if (!is_linear(tensor, plan)) return nullptr;
  if (plan.experts_only && !is_routed_expert(tensor.role)) return nullptr;
  if (tensor.part == Part::mtp && !plan.covers_mtp) return nullptr;
  if (plan.experts && is_routed_expert(tensor.role)) return &*plan.experts;
  for (const PlanGroup& group : plan.groups) {
    if (group.all_linears) return &group.scheme;
  }
  return nullptr;
}

// Inputs that share a scale and must divide the row; 1 where the last group may be short.
int64_t group_of(const Scheme& s) {
  switch (s.kind) {
    case SchemeKind::awq:
    case SchemeKind::gptq:
    case SchemeKind::wna16:
    case SchemeKind::w4a8_fp8:
    case SchemeKind::mlx_affine: return s.group > 0 ? s.group : 1;
    case SchemeKind::nvfp4: return 16;
    case SchemeKind::mxfp4:
    case SchemeKind::mxfp8: return 32;
    default: return 1;
  }
}

// Patterns times tensors; the largest published repositories stay below a million.
constexpr size_t kMaxTries = 20'000'000;

uint16_t index_of(std::vector<Scheme>& schemes, const Scheme& scheme) {
  const auto known = std::find(schemes.begin(), schemes.end(), scheme);
  if (known != schemes.end()) return uint16_t(known - schemes.begin());
  schemes.push_back(scheme);
  return uint16_t(schemes.size() - 1);
}

}  // namespace

Scheme leftover_scheme(const model::Model& model) {
  Scheme plain;
  // Quantised checkpoints of fp32 models keep the rest in 2 bytes.
  plain.plain_type = model::served_type(model);
  return plain;
}

void fit_groups(const model::Model& model, Plan& plan) {
  const bool grouped = std::any_of(plan.groups.begin(), plan.groups.end(),
                                   [](const PlanGroup& g) { return g.scheme.group > 32; });
  if (!plan.habit || !grouped) return;
  for (const int64_t smaller : {64, 32}) {
    bool divides = true;
    for (const Tensor& tensor : model.tensors) {
      const std::optional<Matrix> matrix = matrix_of(model, tensor);
      const Scheme* scheme = matrix ? scheme_of(plan, tensor) : nullptr;
      if (scheme != nullptr && matrix->in % group_of(*scheme) != 0) {
        divides = false;
        break;
      }
    }
    if (divides) return;
    for (PlanGroup& group : plan.groups) {
      if (group.scheme.group <= smaller) continue;
      group.scheme.group = smaller;
      plan.notes.assume("weight_groups",
                        "groups of " + format_integer(smaller) +
                            " weights share a scale: larger ones do not divide every matrix");
    }
  }
}

Result<Recipe> plan_recipe(const model::Model& model, const Plan& plan) {
  size_t patterns = plan.ignored.patterns();
  for (const PlanGroup& group : plan.groups) patterns += group.targets.patterns();
  if (patterns * model.tensors.size() > kMaxTries) {
    return fail(Error(ErrorCode::too_large,
                      "the quantisation config has more patterns than so many tensors allow")
                    .at("quantization_config"));
  }
  Recipe recipe;
  recipe.kv_cache_dtype = plan.kv_cache_dtype;
  recipe.kv_dtype_from_hf_quant_config =
      plan.kv_from_hf_quant_config && !plan.kv_cache_dtype.empty();
  recipe.schemes.push_back(plan.plain);
  recipe.of_tensor.reserve(model.tensors.size());
  for (const Tensor& tensor : model.tensors) {
    const std::optional<Matrix> matrix = matrix_of(model, tensor);
    const Scheme* scheme = matrix ? scheme_of(plan, tensor) : nullptr;
    if (!scheme || scheme->kind == SchemeKind::plain) {
      Scheme stored = scheme ? *scheme : plan.plain;
      if (tensor.dtype) stored.plain_type = *tensor.dtype;
      recipe.of_tensor.push_back(index_of(recipe.schemes, stored));
      continue;
    }
    const int64_t group = group_of(*scheme);
    if (matrix->in % group != 0) {
      return fail(
          Error(ErrorCode::inconsistent, "groups of " + format_integer(group) +
                                             " do not divide the " + format_integer(matrix->in) +
                                             " inputs of " + tensor.name)
              .at("weights")
              .hint("choose another format: this model cannot be stored in " + describe(*scheme)));
    }
    recipe.of_tensor.push_back(index_of(recipe.schemes, *scheme));
  }
  return recipe;
}

}  // namespace vramwise::weights
