// How far a model reads, and the tables of cos and sin that engines precompute for it.
//
// Source: vllm/config/model.py (the derived maximum length) and
// vllm/model_executor/layers/rotary_embedding (rows of each table).
#pragma once

#include <string>
#include <string_view>

#include "model/config_fields.h"
#include "model/model.h"

namespace vramwise::model {

// One entry of rope_scaling (v4) or rope_parameters (v5).
struct RopeScaling {
  std::string type;  // "", "default", "linear", "dynamic", "yarn", "llama3", "longrope", "su", …
  double factor = 1;
  int64_t original = 0;  // original_max_position_embeddings; 0 = not given
  double partial = 1;    // share of the head that is rotated
  bool multimodal = false;
};
// `kind` picks the entry of a layer type where rope_parameters holds several.
// `partial` is the class default of partial_rotary_factor.
RopeScaling read_rope_scaling(const Fields& text, std::string_view kind = "full_attention",
                              double partial = 1);

struct PositionRules {
  int64_t class_default = 0;     // max_position_embeddings of the class when the key is absent
  bool ignores_scaling = false;  // Gemma 3: the factor is already in max_position_embeddings
};
// Fills max_positions, original_positions, long_rope and gguf.rope_freqs.
void read_positions(const Fields& text, Model& model, PositionRules rules = {});

// The table of layers whose rotary width is `width` before a partial factor. Equal tables are kept
// once, as engines do. Width 0 adds none; a rotary_dim in the config is the width itself.
void add_rope_table(const Fields& text, Model& model, int64_t width, const RopeScaling& rope,
                    bool float32 = false);
inline void add_rope_table(const Fields& text, Model& model, int64_t width, bool float32 = false) {
  add_rope_table(text, model, width, read_rope_scaling(text), float32);
}

}  // namespace vramwise::model
