// What follows from a tensor's role alone: how ranks divide it, under which item it is counted,
// whether an online quantisation touches it and into which module it is merged.
#pragma once

#include "engines/rank_weights.h"

namespace vramwise::engines {

enum class Split {
  none,
  column,
  key_value,
  fused_qkv,
  row,
  vocabulary,
  expert_column,
  expert_row,
  flat,
};
Split split_of(model::Role role);

WeightItem item_of(const model::Tensor& tensor);

bool is_expert_bias(model::Role role);
// Linear layers that an online quantisation touches.
bool is_linear(model::Role role);

// Modules that engines merge into one matrix: their output rows are rounded once, on the sum.
enum class Merge { none, qkv, gate_up, latent_down, shared_gate_up };
Merge merge_of(model::Role role);

}  // namespace vramwise::engines
