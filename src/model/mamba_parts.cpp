// Source: transformers models/bamba/configuration_bamba.py, models/mamba/configuration_mamba.py.
#include "model/mamba_parts.h"

namespace vramwise::model {
namespace {

bool is_auto(const Fields& fields, Keys keys) {
  const auto value = fields.reader().find(keys);
  return !value || value->value().is_string();
}

}  // namespace

Mamba2Spec read_mamba2_prefixed(const Fields& fields) {
  Mamba2Spec spec;
  spec.heads = fields.divisor_or({"mamba_n_heads"}, 128);
  if (is_auto(fields, {"mamba_d_head"})) {
    const int64_t inner = fields.small_or({"mamba_expand"}, 2) * fields.extent({"hidden_size"});
    spec.head_dim = fields.divide(inner, "mamba_expand * hidden_size", spec.heads, "mamba_n_heads");
  } else {
    spec.head_dim = fields.small({"mamba_d_head"});
  }
  spec.groups = fields.divisor_or({"mamba_n_groups"}, 1);
  spec.state = fields.divisor_or({"mamba_d_state"}, 256);
  spec.conv_kernel = fields.divisor_or({"mamba_d_conv"}, 4);
  spec.conv_bias = fields.flag({"mamba_conv_bias"}, true);
  spec.bias = spec.output_bias = fields.flag({"mamba_proj_bias"}, false);
  return spec;
}

int64_t read_rank(const Fields& fields, Keys keys) {
  if (!is_auto(fields, keys)) return fields.small(keys);
  return ceil_div(fields.extent({"hidden_size"}), 16);
}

}  // namespace vramwise::model
