// Mamba, Falcon-Mamba and Mamba-2. Falcon-Mamba's expand key is wrong in its config; its
// intermediate_size is right. Source: transformers models/mamba, models/falcon_mamba,
// models/mamba2.
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/mamba_parts.h"

namespace vramwise::model {
namespace {

Mamba1Spec read_mamba1(const Fields& fields) {
  const int64_t h = fields.extent({"hidden_size"});
  Mamba1Spec spec;
  spec.inner = fields.extent_or({"intermediate_size"}, 0);
  if (spec.inner == 0) {
    spec.inner = int64_t(fields.real({"expand"}, 2, 0.01, 1024) * double(h));
  }
  spec.state = fields.divisor_or({"state_size"}, 16);
  spec.conv_kernel = fields.divisor_or({"conv_kernel"}, 4);
  spec.rank = read_rank(fields, {"time_step_rank"});
  spec.conv_bias = fields.flag({"use_conv_bias"}, true);
  spec.bias = fields.flag({"use_bias"}, false);
  return spec;
}

Mamba2Spec read_mamba2(const Fields& fields) {
  Mamba2Spec spec;
  spec.head_dim = fields.divisor_or({"head_dim"}, 64);
  spec.heads = fields.divisor_or({"num_heads"}, 128);
  spec.groups = fields.divisor_or({"n_groups"}, 8);
  spec.state = fields.divisor_or({"state_size"}, 128);
  spec.conv_kernel = fields.divisor_or({"conv_kernel"}, 4);
  spec.conv_bias = fields.flag({"use_conv_bias"}, true);
  spec.bias = spec.output_bias = fields.flag({"use_bias"}, false);
  return spec;
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const bool second = fields.text_or({"model_type"}, "mamba") == "mamba2";
  Builder b(fields, fields, {.tied = !second, .gguf = second ? "mamba2" : "mamba"});
  const int64_t layers = fields.layers();
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("backbone.layers.", i);
    b.norm("norm");
    if (second) {
      b.mamba2(read_mamba2(fields), "mixer.");
    } else {
      b.mamba1(read_mamba1(fields), "mixer.");
    }
  }
  b.end_layers("backbone.");
  b.embedding("embeddings");
  b.norm("norm_f");
  b.head();
  return b.finish();
}

constexpr std::string_view kTypes[] = {"mamba", "falcon_mamba", "mamba2"};
constexpr std::string_view kClasses[] = {"MambaForCausalLM", "FalconMambaForCausalLM",
                                         "Mamba2ForCausalLM"};

}  // namespace

const ArchRule& arch_mamba() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
