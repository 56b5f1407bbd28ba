// Baichuan 1 and 2: one matrix W_pack for q, k and v, as many key heads as query heads. Baichuan-M1
// alternates layers of two shapes and keeps one column of a short convolution on keys and values.
// Source: baichuan-inc/Baichuan2-13B-Chat modeling_baichuan.py;
// baichuan-inc/Baichuan-M1-14B-Instruct modeling_baichuan.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build_m1(const Fields& fields) {
  Builder b(fields, fields, {.positions = 32768});
  const Heads full = read_heads(fields);
  const int64_t layers = fields.layers();
  const int64_t window = fields.extent_or({"sliding_window"}, 8192);
  const int64_t swa_query = fields.divisor_or({"num_swa_attention_heads"}, full.query);
  const int64_t swa_kv = fields.divisor_or({"num_swa_key_value_heads"}, full.kv);
  const int64_t kernel = fields.divisor_or({"conv_window"}, 2);
  std::vector<bool> slides(size_t(layers), false);
  for (const int64_t i : fields.any_integers({"sliding_window_layers"})) {
    if (i < layers) slides[size_t(i)] = true;
  }
  LlamaLike options;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    block.fused_qkv = true;
    if (slides[size_t(i)]) {
      block.query_heads = swa_query;
      block.kv_heads = swa_kv;
      block.key_dim = block.value_dim =
          fields.divide(full.hidden, "hidden_size", swa_query, "num_swa_attention_heads");
      block.window = window;
    }
    b.cache(ShortConvState{2 * block.kv_heads * block.key_dim, kernel});
    b.add(Role::recurrent_conv, "self_attn.conv_k", {1, 1, block.kv_heads, kernel});
    b.add(Role::recurrent_conv, "self_attn.conv_v", {1, 1, block.kv_heads, kernel});
  };
  options.attention_names.fused = "W_pack";
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  if (fields.text_or({"model_type"}, "") == "baichuan_m1") return build_m1(fields);
  Builder b(fields, fields, {.positions = 4096, .gguf = "baichuan"});
  LlamaLike options;
  options.attention = [](int64_t, AttentionBlock& block) {
    block.kv_heads = block.query_heads;
    block.fused_qkv = true;
  };
  options.attention_names.fused = "W_pack";
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"baichuan", "baichuan_m1"};
constexpr std::string_view kClasses[] = {"BaichuanForCausalLM", "BaiChuanForCausalLM"};

}  // namespace

const ArchRule& arch_baichuan() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
