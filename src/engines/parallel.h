// How a server spreads a model over cards, for those who search layouts: what divides, what is
// copied, and how people write it. Shared by the engines that run on PyTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "model/model.h"
#include "weights/weights.h"

namespace vramwise::engines {

// Sizes multiply to the number of cards.
struct Parallel {
  int64_t tensor = 1;    // ranks that split each matrix
  int64_t pipeline = 1;  // stages of layers
  int64_t data = 1;      // replicas: of the model, or of attention where experts are shared out
  bool experts = false;  // whole experts are shared out over the ranks
};

// "TP8", "TP2 x PP4", "DP2 x TP4 + EP", "TP8, KV x2": the last where ranks keep copies of a cache.
std::string label_of(const model::Model& model, const Parallel& parallel);

// Ranks of a tensor-parallel group that keep the same cache: key-value heads beyond one a rank are
// copied, and a latent cache is the same on every rank. 1: none is copied.
int64_t cache_copies(const model::Model& model, int64_t tensor);

// Routed experts of the model's layers, the fewest of any layer that has some; 0: a dense model.
int64_t fewest_experts(const model::Model& model);

// Whether attention can be split over so many ranks: query heads divide, key-value heads divide or
// are copied evenly.
struct HeadSplit {
  bool divides = true;
  int64_t heads = 0;       // that do not
  bool key_value = false;  // they are key-value heads
};
HeadSplit split_heads(const model::Model& model, int64_t ranks);

// Cards that a line asks for by its parallel sizes: the product of those of `names` that it gives;
// 0: it gives none.
int64_t cards_asked(const Options& options, std::span<const std::string_view> names);

// For an engine whose pipelines and replicas are not searched: every matrix over all cards, and for
// a mixture of experts also whole experts shared out. `tensor` and `experts` are the engine's
// options; `others` those that ask for another layout, with which there is one, as asked.
std::vector<Layout> tensor_layouts(const Question& question, int devices, std::string_view tensor,
                                   std::string_view experts,
                                   std::span<const std::string_view> others);

// Whether an expert's part of a rank is whole blocks of block-quantised weights, as vLLM and SGLang
// demand when they make the tensors.
// Source: vllm model_executor/layers/quantization/fp8.py Fp8MoEMethod.create_weights, met in
// vllm-project/vllm issues 17569 (0.8) and 54178 (2026-08).
struct BlockSplit {
  bool divides = true;
  int64_t width = 0;  // of one expert on one rank
  int64_t block = 0;  // rows of a block
};
BlockSplit split_expert_blocks(const model::Model& model, const weights::Weights& weights,
                               int64_t ranks);

}  // namespace vramwise::engines
