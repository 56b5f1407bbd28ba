// Nemotron-H, Nano 2 and Nemotron 3: one mixer a layer, as a pattern of letters says: M Mamba-2,
// * attention without rotary, - an MLP, E experts (on a narrower stream in Super and Ultra).
// Source: nvidia/Nemotron-H-8B-Base-8K modeling_nemotron_h.py; transformers models/nemotron_h.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

struct Parts {
  AttentionBlock attention;
  Mamba2Spec mamba;
  MoeFeedForward moe;
  int64_t width = 0;
  bool mlp_bias = false;
};

// The pattern's letters, from the string or from layers_block_type.
std::string read_pattern(const Fields& fields, Keys letters, Keys names) {
  std::string pattern;
  for (const char letter : fields.text_or(letters, "")) {
    if (letter != '|') pattern += letter;
  }
  const auto list = fields.reader().find(names);
  if (!pattern.empty() || !list || !list->value().is_array()) return pattern;
  for (const json::Value& entry : list->value().as_array()) {
    const std::string& name = entry.as_string();
    pattern += name == "mamba" ? 'M' : name == "attention" ? '*' : name == "moe" ? 'E' : '-';
  }
  return pattern;
}

Parts read_parts(const Fields& fields, std::string_view pattern) {
  Parts parts;
  const auto has = [&](char letter) { return pattern.find(letter) != std::string_view::npos; };
  parts.mlp_bias = fields.flag({"mlp_bias"}, false);
  if (has('*')) {
    const Heads heads = read_heads(fields, {.kv_heads = 8});
    parts.attention.query_heads = heads.query;
    parts.attention.kv_heads = heads.kv;
    parts.attention.key_dim = parts.attention.value_dim = heads.dim;
    parts.attention.qkv_bias = parts.attention.output_bias = fields.flag({"attention_bias"}, false);
    parts.attention.rope = false;
  }
  if (has('M')) {
    parts.mamba.heads = fields.small({"mamba_num_heads"});
    parts.mamba.head_dim = fields.small({"mamba_head_dim"});
    parts.mamba.groups = fields.divisor_or({"n_groups", "mamba_n_groups"}, 8);
    parts.mamba.state = fields.divisor_or({"ssm_state_size"}, 128);
    parts.mamba.conv_kernel = fields.divisor_or({"conv_kernel"}, 4);
    parts.mamba.conv_bias = fields.flag({"use_conv_bias"}, true);
    parts.mamba.bias = parts.mamba.output_bias = fields.flag({"mamba_proj_bias"}, false);
    parts.mamba.state_dtype =
        demanded_dtype(fields, {"mamba_ssm_cache_dtype"}).value_or(DType::float32);
  }
  if (has('-')) parts.width = fields.extent({"intermediate_size"});
  if (has('E')) {
    MoeFeedForward& moe = parts.moe;
    moe.experts = fields.required({"n_routed_experts"}, 1, kMaxExperts);
    moe.active = fields.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = fields.extent({"moe_intermediate_size"});
    moe.latent_width = fields.extent_or({"moe_latent_size"}, 0);
    moe.shared_width = fields.extent_or({"moe_shared_expert_intermediate_size"}, 0) *
                       fields.experts_or({"n_shared_experts"}, 0);
    moe.gated = false;
    moe.correction_bias = true;
    moe.gating = RouterGating::sigmoid;
    moe.normalise_weights = fields.flag({"norm_topk_prob"}, true);
    moe.scale_weights = fields.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
    moe.expert_groups = fields.small_or({"n_group"}, 0);
  }
  return parts;
}

void add_experts(Builder& b, const Parts& parts) {
  const MoeFeedForward& moe = parts.moe;
  // The bias of an MTP layer counts as a buffer in the trunk only.
  b.moe(moe, {.router = "mixer.gate",
              .correction = "mixer.gate.e_score_correction_bias",
              .experts = "mixer.experts.{e}.",
              .shared = "mixer.shared_experts.",
              .expert_bias = parts.mlp_bias});
  if (moe.latent_width > 0) {
    b.linear(Role::expert_latent_down, "mixer.fc1_latent_proj", moe.latent_width, b.hidden(),
             parts.mlp_bias);
    b.linear(Role::expert_latent_up, "mixer.fc2_latent_proj", b.hidden(), moe.latent_width,
             parts.mlp_bias);
  }
}

void add_mixer(Builder& b, const Parts& parts, char kind) {
  b.norm("norm");
  switch (kind) {
    case 'M': b.mamba2(parts.mamba, "mixer."); break;
    case '*': b.attention(parts.attention, {.scope = "mixer."}); break;
    case '-': b.plain_mlp(parts.width, "mixer.up_proj", "mixer.down_proj", parts.mlp_bias); break;
    case 'E': add_experts(b, parts); break;
    default:
      b.text().fail(b.text().reader().error(
          ErrorCode::unsupported,
          std::string("layer kind '") + kind + "' in hybrid_override_pattern is not M, *, - or E"));
  }
}

void add_mtp(Builder& b, const Parts& parts, const std::string& pattern, int64_t count) {
  const int64_t length = int64_t(pattern.size());
  for (int64_t i = 0; i < count * length && !b.failed(); ++i) {
    b.begin_mtp_layer("mtp.layers." + format_integer(i) + ".");
    add_mixer(b, parts, pattern[size_t(i % length)]);
    if (i % length == 0) {
      b.norm("enorm");
      b.norm("hnorm");
      b.linear(Role::mtp_projection, "eh_proj", b.hidden(), 2 * b.hidden());
    }
    if (i % length == length - 1) b.norm("final_layernorm");
  }
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string pattern =
      read_pattern(fields, {"hybrid_override_pattern"}, {"layers_block_type", "layer_types"});
  const std::string mtp_pattern =
      read_pattern(fields, {"mtp_hybrid_override_pattern"}, {"mtp_layers_block_type"});
  const bool experts = pattern.find('E') != std::string::npos;
  Builder b(fields, fields, {.positions = 8192, .gguf = experts ? "nemotron_h_moe" : "nemotron_h"});
  // Some configs leave the count to the pattern.
  const int64_t layers =
      fields.number({"num_hidden_layers"}, int64_t(pattern.size()), 1, kMaxLayers);
  if (int64_t(pattern.size()) > kMaxLayers) {
    return fail(
        config.error(ErrorCode::too_large, "the layer pattern has more than 10,000 letters"));
  }
  if (pattern.empty()) fields.extent({"hybrid_override_pattern"});  // says that it is missing
  if (!pattern.empty() && int64_t(pattern.size()) != layers) {
    fields.fail(config.error(ErrorCode::inconsistent,
                             "the layer pattern has " + format_integer(int64_t(pattern.size())) +
                                 " letters for " + format_integer(layers) + " layers"));
  }
  const Parts parts = read_parts(fields, pattern + mtp_pattern);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("backbone.layers.", i);
    add_mixer(b, parts, pattern[size_t(i)]);
  }
  const int64_t mtp = fields.number({"num_nextn_predict_layers"}, 0, 0, 100);
  if (mtp_pattern.size() <= 100) add_mtp(b, parts, mtp_pattern, mtp);
  b.end_layers("backbone.");
  b.embedding("embeddings");
  b.norm("norm_f");
  b.head();
  return b.finish();
}

constexpr std::string_view kTypes[] = {"nemotron_h"};
constexpr std::string_view kClasses[] = {"NemotronHForCausalLM"};

}  // namespace

const ArchRule& arch_nemotron_h() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
