// Encoders for embeddings and ranking: BERT, RoBERTa, XLM-RoBERTa, Nomic BERT, ModernBERT. They
// read the whole input at once and keep nothing. Source: transformers models/bert,
// models/xlm_roberta, models/modernbert; nomic-ai/nomic-bert-2048 modeling_hf_nomic_bert.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

void add_block(Builder& b, int64_t heads, int64_t window = 0, bool rope = false, bool bias = true) {
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads;
  block.key_dim = block.value_dim =
      b.text().divide(b.hidden(), "hidden_size", heads, "num_attention_heads");
  block.window = window;
  block.rope = rope;
  block.qkv_bias = block.output_bias = bias;
  b.layer().mixers.push_back(block);
}

Result<Model> build_bert(const Fields& fields, bool roberta) {
  Builder b(fields, fields, {.positions = 512, .gguf = "bert"});
  b.model().is_encoder_only = true;
  b.set_norm(NormKind::layer_norm_bias);
  const int64_t h = b.hidden(), layers = fields.layers();
  const int64_t heads = fields.small({"num_attention_heads"});
  const int64_t width = fields.extent({"intermediate_size"});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("encoder.layer.", i);
    b.linear(Role::query, "attention.self.query", h, h, true);
    b.linear(Role::key, "attention.self.key", h, h, true);
    b.linear(Role::value, "attention.self.value", h, h, true);
    b.linear(Role::attention_output, "attention.output.dense", h, h, true);
    add_block(b, heads);
    b.plain_mlp(width, "intermediate.dense", "output.dense", true);
    b.post_norms("attention.output.LayerNorm", "output.LayerNorm");
  }
  b.end_layers("embeddings.");
  b.embedding("word_embeddings");
  const int64_t positions = fields.extent_or({"max_position_embeddings"}, 512);
  b.add(Role::position_embedding, "position_embeddings.weight", {positions, h});
  b.add(Role::type_embedding, "token_type_embeddings.weight",
        {fields.small_or({"type_vocab_size"}, 2), h});
  b.norm("LayerNorm");
  b.end_layers("");
  b.linear(Role::other, "pooler.dense", h, h, true);
  // RoBERTa counts its positions from 2.
  b.model().max_positions = roberta && positions > 2 ? positions - 2 : positions;
  return b.finish();
}

Result<Model> build_nomic(const Fields& fields) {
  Builder b(fields, fields, {.positions = 2048, .gguf = "nomic-bert"});
  b.model().is_encoder_only = true;
  b.set_norm(NormKind::layer_norm_bias);
  const int64_t h = b.hidden(), layers = fields.layers();
  const int64_t heads = fields.small({"n_head", "num_attention_heads"});
  const int64_t width = fields.extent({"n_inner", "intermediate_size"});
  const bool bias = fields.flag({"qkv_proj_bias"}, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("encoder.layers.", i);
    b.linear(Role::fused_qkv, "attn.Wqkv", 3 * h, h, bias);
    b.linear(Role::attention_output, "attn.out_proj", h, h, bias);
    add_block(b, heads, 0, true, bias);
    b.gated_mlp(width, false, {.gate = "fc12", .up = "fc11", .down = "fc2"});
    b.post_norms("norm1", "norm2");
  }
  b.end_layers("");
  b.embedding("embeddings.word_embeddings");
  b.add(Role::type_embedding, "embeddings.token_type_embeddings.weight",
        {fields.small_or({"type_vocab_size"}, 2), h});
  b.norm("emb_ln");
  add_rope_table(fields, b.model(), b.text().divide(h, "hidden_size", heads, "n_head"));
  return b.finish();
}

Result<Model> build_modern(const Fields& fields) {
  Builder b(fields, fields, {.positions = 8192, .gguf = "modern-bert"});
  b.model().is_encoder_only = true;
  b.set_norm(NormKind::layer_norm);
  const int64_t h = b.hidden(), layers = fields.layers();
  const int64_t heads = fields.small({"num_attention_heads"});
  const int64_t width = fields.extent({"intermediate_size"});
  const int64_t window = fields.extent_or({"local_attention"}, 128);
  const int64_t every = fields.divisor_or({"global_attn_every_n_layers"}, 3);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("layers.", i);
    if (i > 0) b.norm("attn_norm");  // the embedding's norm serves the first layer
    b.linear(Role::fused_qkv, "attn.Wqkv", 3 * h, h);
    b.linear(Role::attention_output, "attn.Wo", h, h);
    add_block(b, heads, i % every == 0 ? 0 : window, true, false);
    b.norm("mlp_norm");
    b.fused_mlp(width, {.down = "Wo", .fused = "Wi"});
  }
  b.end_layers("");
  b.embedding("embeddings.tok_embeddings");
  b.norm("embeddings.norm");
  b.norm("final_norm");
  add_rope_table(fields, b.model(), b.text().divide(h, "hidden_size", heads, "heads"));
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "bert");
  if (type == "nomic_bert") return build_nomic(fields);
  if (type == "modernbert") return build_modern(fields);
  return build_bert(fields, type != "bert");
}

constexpr std::string_view kTypes[] = {"bert",      "roberta",    "xlm-roberta",
                                       "camembert", "nomic_bert", "modernbert"};
constexpr std::string_view kClasses[] = {"BertModel",       "XLMRobertaModel",
                                         "RobertaModel",    "NomicBertModel",
                                         "ModernBertModel", "XLMRobertaForSequenceClassification"};

}  // namespace

const ArchRule& arch_bert() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
