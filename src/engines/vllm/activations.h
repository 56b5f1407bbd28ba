// Coefficients of the profile run's peak: what one token of the batch, one sequence and one token
// of the longest sequence cost in each alternative of the peak.
#pragma once

#include "engines/vllm/kernel.h"
#include "engines/vllm/profile.h"
#include "engines/vllm/settings.h"
#include "model/model.h"

namespace vramwise::engines::vllm {

// Pooling models run their pooler in the profile, nothing is sampled: by the options, by a class of
// that kind, or by a repository of sentence transformers, which vLLM knows by its modules.json.
// Source: vllm v1/worker/gpu_model_runner.py, profile_run.
bool pools(const model::Model& model, const Given& given);

// Whether the profile run makes items for an encoder.
bool profiles_items(const model::Model& model, const Given& given);

// Fills the activation part of `shape` for one rank of a stage.
//   peak = what stays + items and their outputs + max(sampler, layer, encoder)
// Source: vllm v1/worker/gpu_model_runner.py profile_run. Valid for: V0 from 0.6 and V1; the
// sampler branch meets logged peaks within 1 %, the layer branch within 10 %.
void fill_activations(const model::Model& model, const weights::Weights& weights,
                      const Given& given, const Decided& decided, const Profile& profile,
                      int multiprocessors, VllmShape& shape);

}  // namespace vramwise::engines::vllm
