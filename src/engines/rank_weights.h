// The weights that one rank of a tensor-, pipeline- or expert-parallel server holds once they are
// loaded. Which part of a matrix a rank gets follows from its role, how large that part is from its
// scheme. Shared by the engines that run on PyTorch (vLLM, SGLang, TensorRT-LLM).
//
// Source: vllm model_executor/layers/linear.py (column and row parallel),
// vocab_parallel_embedding.py, fused_moe/layer.py; sglang and tensorrt_llm split the same way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "model/model.h"
#include "weights/weights.h"

namespace vramwise::engines {

// How the ranks divide the model. A stage is one slice of the layers (pipeline parallelism).
struct RankLayout {
  int64_t tensor = 1;  // ranks that split each matrix
  int64_t attention =
      1;  // ranks that split attention: `tensor`, or fewer with data-parallel attention
  int64_t expert_tensor = 1;  // ranks that split each expert
  int64_t expert_ranks = 1;   // ranks that share the experts out whole (expert parallelism)
  int64_t spare_experts = 0;  // redundant experts of a load balancer
  int64_t first_layer = 0, end_layer = 0;  // layers of this stage
  bool first_stage = true, last_stage = true;
  friend bool operator==(const RankLayout&, const RankLayout&) = default;
};

// Multiples to which a kernel pads the expert matrices of one rank; 1 = none.
struct ExpertPadding {
  int64_t hidden_in = 1, hidden_out = 1;
  int64_t width_in = 1, width_out = 1;
  friend bool operator==(const ExpertPadding&, const ExpertPadding&) = default;
};

struct LoadRules {
  DType plain = DType::bfloat16;  // type of weights that are not quantised
  weights::Kernel kernel = weights::Kernel::native;
  weights::Kernel expert_kernel = weights::Kernel::native;
  std::optional<weights::Scheme> online;  // quantise plain linear matrices while loading
  ExpertPadding mxfp4_experts;
  ExpertPadding nvfp4_experts;  // of experts without a gate; gated ones need no padding
  int64_t vocabulary_multiple = 64;
  bool towers = true;             // load vision and audio towers
  bool ngram_tables = true;       // false: they stay in host memory
  int64_t mtp_layers = 0;         // multi-token-prediction layers in use
  bool mtp_vocabulary = true;     // with an embedding and a head of their own
  bool absorbed_latent = true;    // keep 16-bit copies of kv_up for the absorbed form of MLA
  bool value_copies = true;       // a V matrix where a layer's values are its keys
  bool spare_projections = true;  // K and V of layers that read another layer's cache
  bool second_scales = false;     // NVFP4 block scales stay beside their swizzled copy
  int64_t lora_slots = 0, lora_rank = 0;
  bool whole_blocks = false;  // count what the allocator's blocks hold beyond the tensors
  friend bool operator==(const LoadRules&, const LoadRules&) = default;
};

enum class WeightItem {
  embedding,
  ngram_table,
  output_head,
  attention,
  recurrent,
  feed_forward,
  experts,
  router,
  small,
  tower,
  mtp,
  absorbed,
  rotary,
  lora,
  blocks,   // what blocks of the allocator hold beyond their tensors (torch_blocks.h)
  drafter,  // a separate draft model or head; put there by the engine
};
inline constexpr size_t kWeightItems = size_t(WeightItem::drafter) + 1;
std::string_view to_string(WeightItem item);

struct RankWeights {
  std::array<Bytes, kWeightItems> bytes;
  Bytes of(WeightItem item) const { return bytes[size_t(item)]; }
  Bytes total() const;
};

// Hashed n-gram tables of the whole model, as stored.
Bytes ngram_table_bytes(const model::Model& model, const weights::Weights& weights);

RankWeights rank_weights(const model::Model& model, const weights::Weights& weights,
                         const RankLayout& layout, const LoadRules& rules);

// What stays on the card of a rank that moves so many bytes of its weights to host memory, the
// largest items first.
RankWeights without_offloaded(const RankWeights& weights, Bytes offloaded);

// Layers of each pipeline stage: even, the remainder to the stages before the last.
// Source: vllm distributed/utils.py get_pp_indices.
struct StageRange {
  int64_t first = 0, end = 0;
};
StageRange stage_layers(int64_t layers, int64_t stages, int64_t stage);

}  // namespace vramwise::engines
