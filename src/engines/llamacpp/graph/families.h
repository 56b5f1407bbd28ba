// The families of graphs. llama.cpp has one graph function per architecture; most of them differ
// only in what the layers hold, so that one builder over LayerShape serves them.
#pragma once

#include <string_view>

#include "engines/llamacpp/graph/blocks.h"

namespace vramwise::engines::llamacpp {

struct Family {
  void (*build)(Blocks& blocks) = nullptr;
  // Norms read all rows; the output rows are picked afterwards (see Rules::late_row_selection).
  bool late_rows = false;
  // The graph was checked to the byte against llama.cpp itself. Others follow the nearest family.
  bool checked = false;
};

// Never fails: an architecture without an entry is built as a plain decoder.
const Family& family_of(std::string_view architecture);

void build_decoder(Blocks& b);       // llama and all that differ in their layers only
void build_latent(Blocks& b);        // deepseek2, deepseek32, glm-dsa
void build_gemma3n(Blocks& b);
void build_gemma4(Blocks& b);
void build_state_stack(Blocks& b);   // mamba, mamba2, falcon-h1, granitehybrid, nemotron_h, jamba
void build_delta_net(Blocks& b);     // qwen3next, qwen35
void build_kimi(Blocks& b);
void build_short_conv(Blocks& b);    // lfm2
void build_rwkv7(Blocks& b);
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
