// What Gemma 3, 3n and 4 share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/builder.h"

namespace vramwise::model {

// The layer whose cache each layer uses: its own, except that the last `shared` layers use that of
// the last owning layer of their kind.
std::vector<int64_t> cache_owners(const std::vector<std::string>& types, int64_t shared);

// The tables of Gemma 3 and 3n: local layers turn with a base of their own and without the scaling
// of the global ones.
void add_gemma3_ropes(Builder& b, int64_t head_dim);

// The converter of Gemma 3 and 3n keeps the rows of the embedding that the tokenizer names,
// 262,144: image and audio tokens stand behind them in the checkpoint. Source: ggml-org/llama.cpp
// convert_hf_to_gguf.py (Gemma3Model, "remove OOV rows in token_embd").
void drop_untokenised_rows(Builder& b);

}  // namespace vramwise::model
