// A tensor seen as the matrices of linear layers: how many, and which side reads.
//
// Checkpoints store most matrices [out, in], but Conv1D (GPT-2) and fused experts (gpt-oss,
// Llama 4) are [in, out], experts may be stacked in front, and DBRX folds the stack into the rows.
// The role and the model's width tell which is which.
#pragma once

#include <cstdint>
#include <optional>

#include "model/model.h"

namespace vramwise::weights {

struct Matrix {
  int64_t count = 1;  // matrices of this shape
  int64_t in = 1, out = 1;

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

// Empty for tensors that are no matrices (rank below 2).
std::optional<Matrix> matrix_of(const model::Model& model, const model::Tensor& tensor);

bool is_routed_expert(model::Role role);
bool is_routed_expert_bias(model::Role role);

// The layer of a tensor, trunk or MTP; nullptr when it belongs to none.
const model::Layer* layer_of(const model::Model& model, const model::Tensor& tensor);
// The layer's experts; nullptr when it has none.
const model::MoeFeedForward* experts_of(const model::Layer* layer);

}  // namespace vramwise::weights
