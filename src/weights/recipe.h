// From a quantisation config, or a format's habit, to a scheme for every tensor.
//
// A config is first read into a Plan: what it says about modules, in one form for all producers.
// plan_recipe() then meets the model's tensors. One reader per producer: recipe_<producer>.cpp.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "json/reader.h"
#include "model/model.h"
#include "weights/module_list.h"
#include "weights/weights.h"

namespace vramwise::weights {

struct PlanGroup {
  Scheme scheme;
  bool all_linears = false;  // every linear layer that no other rule names
  ModuleList targets;        // named ones
};

struct Plan {
  std::string format;             // canonical id
  Scheme plain;                   // of everything else
  std::vector<PlanGroup> groups;  // the first that names a module wins; all_linears come last
  std::unordered_map<std::string, Scheme> modules;  // exact names, before everything
  ModuleList ignored;
  bool experts_only = false;  // only routed experts are quantised
  bool covers_head = false;   // the output head counts as a linear layer
  bool covers_embeddings = false;
  bool covers_mtp = true;     // multi-token-prediction layers too
  bool covers_latent = true;  // the low-rank projections of latent attention
  bool covers_recurrent = true;
  // Checkpoints that keep a module at another precision inside of a scheme (per-expert).
  std::optional<Scheme> experts;  // routed experts, when they differ from the other linears
  std::optional<Scheme> ngrams;   // hashed n-gram tables, which are no linear layers

  // The producer's habit, not this repository's own config: groups that do not divide a matrix are
  // then smaller ones.
  bool habit = false;

  std::string kv_cache_dtype;
  bool kv_from_hf_quant_config = false;
  Notes notes;
};

// Makes the groups of a habitual plan 64 or 32 where 128 do not divide every matrix, and says so.
void fit_groups(const model::Model& model, Plan& plan);

// Errors: inconsistent when a scheme's groups do not divide a matrix.
Result<Recipe> plan_recipe(const model::Model& model, const Plan& plan);

// The unquantised leftovers of a quantised checkpoint.
Scheme leftover_scheme(const model::Model& model);

// What the model's own quantization_config says. Errors: unsupported for an unknown producer or
// algorithm, invalid_input and kin with the place.
Result<Plan> plan_of_config(const model::Model& model);

// What a format name means where the model's files do not settle it; empty for unknown names.
std::optional<Plan> plan_of_format(const model::Model& model, std::string_view format);

// One reader per producer; `config` is the quantization_config.
Result<Plan> plan_fp8(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_fbgemm(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_awq(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_gptq(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_mxfp4(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_bitsandbytes(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_auto_round(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_mlx(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_compressed_tensors(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_modelopt(const json::Reader& config, const Scheme& plain);
Result<Plan> plan_quark(const json::Reader& config, const Scheme& plain);

}  // namespace vramwise::weights
