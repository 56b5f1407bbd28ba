// The families of graphs. llama.cpp has one graph function per architecture; most of them differ
// only in what the layers hold, so that one builder over LayerShape serves them.
#pragma once

#include <string_view>

#include "engines/llamacpp/graph/blocks.h"

namespace vramwise::engines::llamacpp {

// What llama.cpp does for an architecture beyond what its layers show.
struct Family {
  void (*build)(Blocks& blocks) = nullptr;
  // The graph was checked to the byte against llama.cpp itself. Others follow the nearest family.
  bool checked = false;
  // Norms read all rows; the output rows are picked afterwards (see Rules::late_row_selection).
  bool late_rows = false;
  bool mtp_caches = true;       // MTP layers have attention caches like the others
  bool keeps_rollback = false;  // recurrent snapshots for speculative decoding
  bool temperature = false;     // layers without rope scale q by position
  bool residual_scaled = false;
  bool relu_squared = false;    // ungated feed-forwards
  bool residual_first = false;  // residual + result: which memory the sum takes
  bool output_first = false;    // creates the output before the embedding: a tied table is
                                // there twice even on the CPU alone
  bool head_norm_is_embedding_norm = false;  // output norm stored as token_embd_norm
  int64_t position_sections = 1;
  int64_t sparse_layers = 0;                 // leading layers with sparse activations
  bool refuses_unequal_cache_types = false;  // latent caches: K and V share the memory
};

// Never fails: an architecture without an entry is built as a plain decoder.
const Family& family_of(std::string_view architecture);

// Whether the context of a model's own draft head is built op by op (Qwen3-Next, Qwen3.5).
bool draft_graph_known(const Shape& shape);

void build_decoder(Blocks& b);  // llama and all that differ in their layers only
void build_latent(Blocks& b);   // deepseek2, deepseek32, glm-dsa
void build_gemma3n(Blocks& b);
void build_gemma4(Blocks& b);
void build_state_stack(Blocks& b);  // mamba, mamba2, falcon-h1, granitehybrid, nemotron_h, jamba
void build_delta_net(Blocks& b);    // qwen3next, qwen35
void build_kimi(Blocks& b);
void build_short_conv(Blocks& b);  // lfm2
void build_rwkv7(Blocks& b);
void build_encoder(Blocks& b);          // bert, nomic-bert, modern-bert
void build_delta_net_draft(Blocks& b);  // the MTP head of qwen35

// Shared by the recurrent families.
struct DeltaRule {
  TensorId out = kNoTensor;     // [value dim, heads, tokens, sequences]
  TensorId result = kNoTensor;  // the fused op's tensor, kNoTensor when not fused
  TensorId state = kNoTensor;   // the new state, when not fused
};
DeltaRule delta_rule(Blocks& b, TensorId q, TensorId k, TensorId v, TensorId gate, TensorId beta,
                     TensorId state, bool fused);

}  // namespace vramwise::engines::llamacpp
