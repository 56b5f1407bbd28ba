// Builds a Model: every call adds the structure of a layer and its tensors together, so that the
// two cannot drift apart and a family's rule stays short.
//
// Names are those of the published checkpoint, relative to the current scope ("model.layers.3.").
// Shapes are [out, in] as nn.Linear stores them. Callers: the rules in model/archs/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/config_fields.h"
#include "model/model.h"
#include "model/rope.h"

namespace vramwise::model {

// Tensors that a model may have; a longer list is refused before it is made.
inline constexpr size_t kMaxTensors = 300'000;

struct AttentionNames {
  std::string_view scope = "self_attn.";
  std::string_view q = "q_proj", k = "k_proj", v = "v_proj", o = "o_proj";
  std::string_view q_norm = "q_norm", k_norm = "k_norm";
  std::string_view fused = "qkv_proj";  // used when the block is fused_qkv
};

struct MlpNames {
  std::string_view scope = "mlp.";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  std::string_view fused = "gate_up_proj";  // used when fused_gate_up
};

struct MoeNames {
  std::string_view router = "mlp.gate";
  std::string_view correction = "mlp.gate.e_score_correction_bias";
  std::string_view experts = "mlp.experts.{e}.";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  std::string_view shared = "mlp.shared_experts.";
  std::string_view shared_gate = "gate_proj", shared_up = "up_proj", shared_down = "down_proj";
  std::string_view shared_router = "mlp.shared_expert_gate";
  bool expert_bias = false;  // experts and shared expert carry biases (ERNIE, Ling with use_bias)
};

struct Mamba1Spec {
  int64_t inner = 1, state = 1, conv_kernel = 4, rank = 1;
  bool conv_bias = true, bias = false;
  bool inner_norms = false;  // dt, B and C norms with weights (Jamba)
};
struct Mamba2Spec {
  int64_t heads = 1, head_dim = 1, groups = 1, state = 1, conv_kernel = 4;
  bool conv_bias = true, bias = false, gated_norm = true, output_bias = false;
  std::optional<DType> state_dtype;
};
struct GatedDeltaSpec {
  GatedDeltaState state;
  bool fused = true;  // qkvz and ba as two matrices (Qwen3-Next), else four (Qwen3.5)
};
struct KimiDeltaSpec {
  KimiDeltaState state;
  bool full_rank_gate = false;
};

// What a class takes when its config does not say.
struct ClassDefaults {
  bool tied = false;
  int64_t positions = 0;       // max_position_embeddings; 0 = unknown
  std::string_view gguf = {};  // general.architecture of its GGUF files
};

class Builder {
 public:
  // `text` holds the text model's keys; it may be `top` itself. Reads what every decoder has: sizes
  // of the residual stream and the vocabulary, tie, types, positions.
  Builder(const Fields& top, const Fields& text, const ClassDefaults& defaults);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Takes over a language model that its own family's rule has built, its names behind `prefix`;
  // what the outer config says of itself (class, types, quantisation) stays.
  void adopt(Model inner, std::string_view prefix);

  // The model so far, or the first fault that reading or building met.
  Result<Model> finish();

  Model& model() { return model_; }
  const Fields& text() const { return text_; }
  int64_t hidden() const { return model_.hidden_size; }
  bool failed() const { return text_.failed(); }

  // ---- names and parts
  // Prefix of everything that follows ("language_model.model.").
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  void set_part(Part part) { part_ = part; }
  Part part() const { return part_; }
  void set_norm(NormKind kind) { norm_kind_ = kind; }

  // ---- layers: opens layer <list><i>. in the trunk or behind it; everything up to the next call
  // belongs to it.
  Layer& begin_layer(std::string_view list, int64_t index);
  // `scope` is the layer's whole prefix.
  Layer& begin_mtp_layer(std::string scope);
  // Back to tensors that belong to no layer, under `scope`.
  void end_layers(std::string scope);
  Layer& layer() { return *layer_; }
  int64_t layer_index() const { return layer_index_; }

  // ---- single tensors
  void add(Role role, std::string_view name, Shape shape, int64_t copies = 1,
           std::optional<DType> dtype = std::nullopt);
  // Stored but not trained; counts as MTP inside an MTP layer.
  void buffer(Role role, std::string_view name, Shape shape,
              std::optional<DType> dtype = std::nullopt);
  // <name>.weight [out, in], and <name>.bias [out] with the bias role that belongs to `role`.
  void linear(Role role, std::string_view name, int64_t out, int64_t in, bool bias = false,
              int64_t copies = 1);
  // <name>.weight, and <name>.bias when the norm kind has one. Width 0 = hidden size.
  void norm(std::string_view name, int64_t width = 0);
  void weight_norm(std::string_view name, int64_t width, Role role = Role::norm);
  void biased_norm(std::string_view name, int64_t width, Role role = Role::norm);

  // ---- norms of a layer, with what they say about its structure
  void pre_norms(std::string_view attention, std::string_view ffn);
  void sandwich_norms(std::string_view a = "input_layernorm",
                      std::string_view b = "post_attention_layernorm",
                      std::string_view c = "pre_feedforward_layernorm",
                      std::string_view d = "post_feedforward_layernorm");
  void post_norms(std::string_view attention, std::string_view ffn);
  void parallel_norm(std::string_view name);

  // ---- mixers; each adds its cache
  void attention(const AttentionBlock& block, const AttentionNames& names = {});
  // As attention, the cache being the caller's.
  void attention_tensors(const AttentionBlock& block, const AttentionNames& names = {});
  void latent(const LatentBlock& block, bool bias, std::string_view scope = "self_attn.");
  void indexer(const LatentBlock& block, std::string_view scope = "self_attn.indexer.",
               int64_t tokens_per_entry = 1);
  void mamba1(const Mamba1Spec& spec, std::string_view scope);
  void mamba2(const Mamba2Spec& spec, std::string_view scope);
  void gated_delta(const GatedDeltaSpec& spec, std::string_view scope);
  void kimi_delta(const KimiDeltaSpec& spec, std::string_view scope);
  void recurrent(const CacheLayout& state);  // structure and cache only
  void cache(const CacheLayout& layout) { layer_->caches.push_back(layout); }

  // ---- feed-forward
  void gated_mlp(int64_t width, bool bias = false, const MlpNames& names = {});
  void fused_mlp(int64_t width, const MlpNames& names = {});
  void plain_mlp(int64_t width, std::string_view up, std::string_view down, bool bias);
  void moe(const MoeFeedForward& block, const MoeNames& names = {});
  // The tensors of a gated MLP under roles of their own (shared experts).
  void gated_tensors(Role gate, Role up, Role down, std::string_view scope, int64_t width,
                     std::string_view gate_name, std::string_view up_name,
                     std::string_view down_name, bool bias = false, int64_t copies = 1,
                     int64_t input = 0);

  // ---- ends of the model
  void embedding(std::string_view name = "embed_tokens", int64_t rows = 0, int64_t width = 0);
  void head(std::string_view full_name = "lm_head", bool bias = false, int64_t width = 0);
  // DeepSeek's wrapper around an MTP layer.
  void mtp_wrapper(bool own_embedding_and_head);

 private:
  Model model_;
  Fields text_;
  std::string scope_ = "model.";
  Part part_ = Part::text;
  NormKind norm_kind_ = NormKind::rms;
  Layer* layer_ = nullptr;
  Layer no_layer_;  // takes structure that a rule adds outside of any layer
  int64_t layer_index_ = -1;
};

// The cache that an attention block keeps.
CacheLayout cache_of(const AttentionBlock& block);

}  // namespace vramwise::model
