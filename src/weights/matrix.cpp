#include "weights/matrix.h"

#include <utility>

namespace vramwise::weights {
namespace {

using model::Role;

enum class Side { as_stored, reads, writes };

// Whether the matrix reads the residual stream (or the experts' width) or writes to it.
Side side_of(Role role) {
  switch (role) {
    case Role::query:
    case Role::key:
    case Role::value:
    case Role::fused_qkv:
    case Role::ffn_gate:
    case Role::ffn_up:
    case Role::ffn_fused_gate_up:
    case Role::router:
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_fused_gate_up:
    case Role::shared_expert_gate:
    case Role::shared_expert_up:
    case Role::shared_expert_fused_gate_up: return Side::reads;
    case Role::attention_output:
    case Role::ffn_down:
    case Role::expert_down:
    case Role::shared_expert_down: return Side::writes;
    default: return Side::as_stored;
  }
}

}  // namespace

bool is_routed_expert(Role role) {
  return role == Role::expert_gate || role == Role::expert_up || role == Role::expert_down ||
         role == Role::expert_fused_gate_up;
}

bool is_routed_expert_bias(Role role) {
  return role == Role::expert_gate_bias || role == Role::expert_up_bias ||
         role == Role::expert_down_bias || role == Role::expert_fused_gate_up_bias;
}

const model::Layer* layer_of(const model::Model& model, const model::Tensor& tensor) {
  if (tensor.layer < 0) return nullptr;
  const auto i = size_t(tensor.layer);
  if (i < model.layers.size()) return &model.layers[i];
  const size_t behind = i - model.layers.size();
  return behind < model.mtp_layers.size() ? &model.mtp_layers[behind] : nullptr;
}

const model::MoeFeedForward* experts_of(const model::Layer* layer) {
  return layer ? std::get_if<model::MoeFeedForward>(&layer->feed_forward) : nullptr;
}

std::optional<Matrix> matrix_of(const model::Model& model, const model::Tensor& tensor) {
  const model::Shape& shape = tensor.shape;
  if (shape.rank < 2) return std::nullopt;
  const model::MoeFeedForward* moe = experts_of(layer_of(model, tensor));
  Matrix m;
  m.count = tensor.copies;
  for (int i = 0; i < shape.rank - 2; ++i) m.count = saturating_multiply(m.count, shape[i]);
  m.out = shape[shape.rank - 2];
  m.in = shape[shape.rank - 1];
  if (is_routed_expert(tensor.role) && tensor.copies == 1 && shape.rank == 2 && moe &&
      moe->experts > 1 && m.out % moe->experts == 0) {
    m.count = moe->experts;
    m.out /= moe->experts;
  }
  int64_t width = model.hidden_size;
  if (is_routed_expert(tensor.role) && moe && moe->latent_width > 0) width = moe->latent_width;
  const Side side = side_of(tensor.role);
  if ((side == Side::reads && m.in != width && m.out == width) ||
      (side == Side::writes && m.out != width && m.in == width)) {
    std::swap(m.in, m.out);
  }
  return m;
}

}  // namespace vramwise::weights
