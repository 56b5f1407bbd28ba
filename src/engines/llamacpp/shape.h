// A model as llama.cpp sees it: the hyper-parameters that decide about caches and graphs, flat and
// per layer. Made from model::Model and the GGUF tensor table (shape.cpp); everything else in this
// folder reads this and no model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "engines/llamacpp/graph/weight_table.h"
#include "model/model.h"
#include "weights/gguf_model.h"

namespace vramwise::engines::llamacpp {

struct MoeShape {
  int64_t experts = 0, active = 0, width = 0;
  int64_t shared_width = 0;
  bool shared_gate = false;
  bool gated = true;
  bool merged = false;  // gate and up in one stack
  bool biased = false;
  bool correction_bias = false;
  bool normalise = true;
  bool scale = false;
  bool weights_before = false;
  model::RouterGating gating = model::RouterGating::softmax;
  int64_t latent_width = 0;  // experts work on this width; 0 = hidden

  bool operator==(const MoeShape&) const = default;
};

// What a tensor of the file is to placement; one for each, in the file's order.
struct FileTensor {
  enum class Home { input, layer, first_layer, output, rope };
  Home home = Home::output;
  Slot slot = Slot::count;    // count: no graph uses it
  bool expert_stack = false;  // moved by --cpu-moe
  bool token_embedding = false;
  bool repackable = false;  // the CPU keeps it in another order
};

enum class MixerKind {
  none,
  attention,
  latent,
  mamba1,
  mamba2,
  delta,
  kimi_delta,
  short_conv,
  rwkv,
  lightning,  // with a constant-size state
};

struct LayerShape {
  MixerKind mixer = MixerKind::attention;
  MixerKind second = MixerKind::none;  // a state beside the attention (Falcon-H1)

  int64_t heads = 0, kv_heads = 0, key_dim = 0, value_dim = 0;
  bool sliding = false;   // its cache is the sliding one
  int32_t cache_of = -1;  // layer whose attention cache it uses; itself as a rule, -1 = none
  bool fused_qkv = false, qkv_bias = false, output_bias = false, sinks = false;
  bool rope = true;
  bool temperature = false;      // q times a per-token scale instead of rope (Llama 4)
  bool position_scaled = false;  // … or on top of it (Ministral 3)
  bool value_is_key = false;
  bool query_scaled = false, score_softcap = false;
  model::QkNorm qk_norm = model::QkNorm::none;
  bool rope_factors = false;  // rope reads rope_freqs

  bool indexer = false;       // has a sparse-attention indexer and its cache
  bool keys_only = false;     // one vector a token serves as K and V (DeepSeek-V4)
  int64_t compressed_by = 0;  // tokens for one cell of the full cache; 0 = not compressed
  int64_t state_rows = 0;     // of the compressor's unfinished block, each of state_width
  int64_t state_width = 0;

  bool pre_norm = true, post_attention_norm = false, post_ffn_norm = false, parallel = false;
  model::NormKind norm = model::NormKind::rms;

  int64_t ffn_width = 0;  // dense feed-forward, or the dense part beside experts; 0 = none
  bool ffn_gated = true, ffn_fused = false, ffn_bias = false;
  bool ffn_relu_squared = false;
  MoeShape moe;               // experts = 0: none
  bool output_scale = false;  // the layer's result times a scalar (Gemma 4)

  bool keeps_attention() const { return cache_of >= 0; }
  MixerKind state() const { return second != MixerKind::none ? second : mixer; }
  bool operator==(const LayerShape&) const = default;
};

struct Shape {
  std::string architecture;  // general.architecture
  int64_t hidden = 0, vocab = 0, train_ctx = 0;
  std::vector<LayerShape> layers;  // with MTP layers, as block_count counts them
  int64_t trunk_layers = 0;        // without them
  bool encoder = false;            // embeddings or ranks instead of logits; keeps nothing
  bool mtp_caches = true;          // MTP layers of the file have attention caches too

  int64_t window = 0;  // of the sliding layers
  bool embedding_scaled = false, logit_softcap = false, residual_scaled = false;
  bool suppresses_tokens = false;   // tokens that must not be sampled are named in the file
  int64_t position_sections = 1;    // positions per token (4: multimodal rope)
  bool never_shares_cells = false;  // one stream a slot whatever is asked for
  bool keeps_rollback = false;      // states keep snapshots for speculative decoding
  bool tied_head = false;           // the file has no output.weight
  WeightTable weights;              // which tensors the file has, and their types
  std::vector<FileTensor> file;     // parallel to GgufModel::tensors

  struct Latent {
    int64_t q_rank = 0, kv_rank = 0, nope = 0, rope = 0, value = 0;
    bool absorbed = true;  // the file splits kv_b: only the compressed vector is cached
  } latent;
  struct Indexer {
    int64_t heads = 0, dim = 0, top_k = 0;
  } indexer;
  // State-space mixers; the delta rule reuses the fields as the GGUF keys do: state = key dim,
  // groups = key heads, heads = value heads, inner = value heads x value dim.
  struct Ssm {
    int64_t conv = 0, inner = 0, state = 0, heads = 0, groups = 0;
  } ssm;
  struct Kimi {
    int64_t heads = 0, dim = 0, conv = 4;
  } kimi;
  struct Rwkv {
    int64_t head_size = 64, shifts = 2;
    int64_t decay_rank = 0, rate_rank = 0, value_rank = 0, gate_rank = 0;
  } rwkv;
  struct Lightning {
    int64_t heads = 0, dim = 0;
  } lightning;
  int64_t short_conv = 0;  // kernel width
  struct PerLayer {
    int64_t width = 0;              // per-layer embeddings (Gemma 3n and 4)
    int64_t streams = 0, rank = 0;  // AltUp streams, Laurel rank (Gemma 3n)
    int64_t sparse_layers = 0;      // leading layers with activation sparsity (Gemma 3n)
  } per_layer;

  bool has_sliding() const;
  bool has_state() const;
  bool has_attention() const;
  // Widest V row of any layer: without flash attention all layers store that width.
  int64_t widest_value_row() const;
  bool is_latent() const { return latent.kv_rank > 0; }
};

// Fills `file`, and `weights` with types; both follow from names alone.
void index_file(const weights::GgufModel& gguf, size_t layers, Shape& shape);

// Errors: unsupported for encoder-decoders and for architectures without a GGUF mapping.
Result<Shape> shape_of(const model::Model& model, const weights::GgufModel& gguf, Notes& notes);

}  // namespace vramwise::engines::llamacpp
