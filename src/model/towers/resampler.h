// Learned queries that gather an image's patches into a fixed number of tokens.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// MiniCPM-V's: one cross-attention between two projections, behind the scope that is open.
// `queries` tokens of the language model's width out of patches `from` wide.
void add_minicpm_resampler(Builder& b, int64_t queries, int64_t from);

// Idefics 2's perceiver: blocks of grouped attention and a gated MLP. `perceiver` is
// perceiver_config.
void add_idefics2_perceiver(Builder& b, const Fields& perceiver);

}  // namespace vramwise::model
