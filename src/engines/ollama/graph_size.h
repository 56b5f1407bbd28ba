// What Ollama's own estimate (0.1.33 to 0.29) takes caches and graphs for: closed formulas by
// architecture, of the tensors' extents, before any load. They decide how many layers go to the
// GPUs; the program's real buffers differ.
// Source: ollama/ollama llm/ggml.go, fs/ggml/ggml.go (GraphSize, VisionGraphSize).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/ollama/releases.h"
#include "model/model.h"
#include "weights/gguf_model.h"

namespace vramwise::engines::ollama {

// The keys of a GGUF file that the formulas read. Counts of elements; bytes where said.
struct GraphShape {
  int64_t layers = 0, embedding = 0, vocab = 0;
  int64_t heads = 0, kv_heads = 0;                // the largest over the layers
  int64_t fewest_heads = 0, fewest_kv_heads = 0;  // the smallest
  int64_t key_dim = 0, value_dim = 0;             // of an attention head's cache
  int64_t window = 0;                             // of sliding layers; 0: none
  int64_t feed_forward = 0;                       // feed_forward_length
  int64_t expert_gate_bytes = 0;                  // blk.0.ffn_gate_exps.weight; 0: none
  int64_t qkv_bias = 0;                           // blk.0.attn_qkv.bias; 0: none
  std::vector<int64_t> kv_heads_of_layer;         // 0: a layer of states
  std::vector<int64_t> state_of_layer;            // elements of its states

  int64_t head_dim() const { return fewest_heads > 0 ? embedding / fewest_heads : 0; }
};

GraphShape graph_shape(const model::Model& model, const weights::GgufModel& gguf,
                       bool latent_files);

struct GraphQuestion {
  int64_t context = 0;  // tokens of all slots together
  int64_t batch = 0, parallel = 1;
  int64_t cache_bits = 16;  // of one value: 16, 8 (q8_0) or 4 (q4_0)
  bool flash = false;
};

struct GraphSize {
  std::vector<int64_t> cache;     // bytes of every layer
  int64_t partial = 0, full = 0;  // graph with some layers on the host, with none

  int64_t cache_total() const;
};

GraphSize graph_size(const GraphShape& shape, const GraphQuestion& q, const Release& release);

// The graph of one image in Ollama's own engine; 0 where the formulas know none.
int64_t tower_graph_bytes(const model::Model& model, const ArchitectureRule& rule);

}  // namespace vramwise::engines::ollama
