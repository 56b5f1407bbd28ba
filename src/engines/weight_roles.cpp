#include "engines/weight_roles.h"

namespace vramwise::engines {

using model::Part;
using model::Role;
using model::Tensor;

Split split_of(Role role) {
  switch (role) {
    case Role::token_embedding:
    case Role::ngram_embedding:
    case Role::output_head:
    case Role::output_head_bias: return Split::vocabulary;
    case Role::query:
    case Role::query_bias:
    case Role::query_up:
    case Role::kv_up:
    case Role::ffn_gate:
    case Role::ffn_up:
    case Role::ffn_fused_gate_up:
    case Role::ffn_gate_bias:
    case Role::ffn_up_bias:
    case Role::ffn_fused_gate_up_bias:
    case Role::attention_gate:
    case Role::attention_sinks:
    case Role::shared_expert_gate:
    case Role::shared_expert_up:
    case Role::shared_expert_fused_gate_up:
    case Role::recurrent_in:
    case Role::recurrent_in_small:
    case Role::per_layer_embedding: return Split::column;
    case Role::key:
    case Role::value:
    case Role::key_bias:
    case Role::value_bias: return Split::key_value;
    case Role::fused_qkv:
    case Role::fused_qkv_bias: return Split::fused_qkv;
    case Role::attention_output:
    case Role::ffn_down:
    case Role::shared_expert_down:
    case Role::recurrent_out: return Split::row;
    case Role::recurrent_projection:
      return Split::row;  // x_proj; dt_proj is told apart by its shape
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_fused_gate_up:
    case Role::expert_gate_bias:
    case Role::expert_up_bias:
    case Role::expert_fused_gate_up_bias: return Split::expert_column;
    case Role::expert_down:
    case Role::expert_down_bias: return Split::expert_row;
    case Role::recurrent_conv:
    case Role::recurrent_conv_bias:
    case Role::recurrent_parameter:
    case Role::recurrent_norm: return Split::flat;
    case Role::tower:
    case Role::projector: return Split::flat;
    default: return Split::none;
  }
}

bool is_expert_bias(Role role) {
  return role == Role::expert_gate_bias || role == Role::expert_up_bias ||
         role == Role::expert_down_bias || role == Role::expert_fused_gate_up_bias;
}

WeightItem item_of(const Tensor& t) {
  if (t.part == Part::mtp) return WeightItem::mtp;
  switch (t.role) {
    case Role::token_embedding:
    case Role::position_embedding:
    case Role::type_embedding:
    case Role::per_layer_embedding: return WeightItem::embedding;
    case Role::ngram_embedding: return WeightItem::ngram_table;
    case Role::output_head:
    case Role::output_head_bias: return WeightItem::output_head;
    case Role::query:
    case Role::key:
    case Role::value:
    case Role::fused_qkv:
    case Role::attention_output:
    case Role::attention_gate:
    case Role::query_down:
    case Role::query_up:
    case Role::kv_down:
    case Role::kv_up:
    case Role::indexer:
    case Role::compressor: return WeightItem::attention;
    case Role::ffn_gate:
    case Role::ffn_up:
    case Role::ffn_down:
    case Role::ffn_fused_gate_up:
    case Role::shared_expert_gate:
    case Role::shared_expert_up:
    case Role::shared_expert_down:
    case Role::shared_expert_fused_gate_up: return WeightItem::feed_forward;
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_down:
    case Role::expert_fused_gate_up:
    case Role::expert_gate_bias:
    case Role::expert_up_bias:
    case Role::expert_down_bias:
    case Role::expert_fused_gate_up_bias: return WeightItem::experts;
    case Role::router:
    case Role::router_bias:
    case Role::router_correction_bias:
    case Role::shared_expert_router:
    case Role::expert_latent_down:
    case Role::expert_latent_up: return WeightItem::router;
    case Role::recurrent_in:
    case Role::recurrent_in_small:
    case Role::recurrent_projection:
    case Role::recurrent_out: return WeightItem::recurrent;
    case Role::tower:
    case Role::projector: return WeightItem::tower;
    default: return WeightItem::small;
  }
}

bool is_linear(Role role) {
  switch (role) {
    case Role::query:
    case Role::key:
    case Role::value:
    case Role::fused_qkv:
    case Role::attention_output:
    case Role::query_down:
    case Role::query_up:
    case Role::kv_down:
    case Role::kv_up:
    case Role::ffn_gate:
    case Role::ffn_up:
    case Role::ffn_down:
    case Role::ffn_fused_gate_up:
    case Role::shared_expert_gate:
    case Role::shared_expert_up:
    case Role::shared_expert_down:
    case Role::shared_expert_fused_gate_up:
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_down:
    case Role::expert_fused_gate_up:
    case Role::recurrent_in:
    case Role::recurrent_out: return true;
    default: return false;
  }
}

Merge merge_of(Role role) {
  switch (role) {
    case Role::query:
    case Role::key:
    case Role::value: return Merge::qkv;
    case Role::ffn_gate:
    case Role::ffn_up: return Merge::gate_up;
    case Role::query_down:
    case Role::kv_down: return Merge::latent_down;
    case Role::shared_expert_gate:
    case Role::shared_expert_up: return Merge::shared_gate_up;
    default: return Merge::none;
  }
}

}  // namespace vramwise::engines
