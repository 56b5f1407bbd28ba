// Sizes of one context: cells, streams, tokens of the reserved batch.
#pragma once

#include <cstdint>

#include "engines/llamacpp/rules.h"
#include "engines/llamacpp/shape.h"

namespace vramwise::engines::llamacpp {

struct ContextSettings {
  int64_t n_ctx = 0;  // of all sequences together; 0 = the trained context
  int64_t n_batch = 2048;
  int64_t n_ubatch = 512;
  int64_t sequences = 1;  // --parallel
  bool unified = false;   // one stream of cells for all sequences
  bool swa_full = false;
  bool flash = true;
  bool kv_offload = true;
  weights::GgmlType type_k = weights::GgmlType::F16;
  weights::GgmlType type_v = weights::GgmlType::F16;
  int64_t output_rows = 0;  // logit rows reserved; 0 = every token of a batch
  int64_t rollback = 0;     // recurrent snapshots kept for speculative decoding (n_rs_seq)
  bool mtp_caches = true;   // of MTP layers beside the trunk's, where the family has them
  bool draft_head = false;  // the context of the MTP layer instead of the trunk
};

struct ContextSize {
  int64_t n_ctx = 0, n_batch = 0, n_ubatch = 0;
  int64_t cells = 0;          // per stream
  int64_t sliding_cells = 0;  // per stream, of the sliding layers
  int64_t streams = 1;
  int64_t sequences = 1;
  int64_t tokens = 0;  // of the reserved prompt batch, a multiple of the sequences
  int64_t sequence_tokens = 0;
  int64_t rows = 0;  // logit rows
};

// Source: llama.cpp src/llama-context.cpp, src/llama-kv-cache*.cpp, common/common.cpp.
ContextSize context_size(const Shape& shape, const ContextSettings& settings, const Rules& rules);

// Compute buffer of a drafting head of one layer whose graph is not known: scores of that layer
// and the logits of each slot.
int64_t estimated_head_compute(const Shape& target, const ContextSize& size);

}  // namespace vramwise::engines::llamacpp
