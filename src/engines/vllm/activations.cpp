#include "engines/vllm/activations.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::engines::vllm {
namespace {

// Widths of one rank, the largest over the layers.
struct Widths {
  int64_t query = 0, key = 0;  // elements of Q, and of K or V
  int64_t feed_forward = 0;    // dense, or shared experts
  int64_t expert = 0;          // one routed expert
  int64_t expert_input = 0;
  int64_t experts = 0, per_token = 0;
  int64_t recurrent_in = 0, recurrent_out = 0;
  int64_t latent_row = 0;  // heads x (nope + value) of MLA
  bool sparse = false;
  int64_t index_stride = 1;  // tokens per indexer entry
};

void widen(int64_t& value, int64_t other) { value = std::max(value, other); }

void add_mixer(const model::Mixer& mixer, int64_t ranks, Widths& w) {
  if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
    widen(w.query, a->query_heads / ranks * a->key_dim);
    widen(w.key, std::max<int64_t>(1, a->kv_heads / ranks) * a->key_dim);
  } else if (const auto* l = std::get_if<model::LatentBlock>(&mixer)) {
    const int64_t heads = l->query_heads / ranks;
    widen(w.query, heads * (l->nope_dim + l->rope_dim));
    widen(w.latent_row, heads * (l->nope_dim + l->value_dim));
    w.sparse = w.sparse || l->indexer_top_k > 0;
  } else if (const auto* r = std::get_if<model::RecurrentBlock>(&mixer)) {
    if (const auto* g = std::get_if<model::GatedDeltaState>(&r->state)) {
      const int64_t keys = g->key_heads * g->key_dim / ranks;
      const int64_t values = g->value_heads * g->value_dim / ranks;
      widen(w.recurrent_in, 2 * keys + 2 * values);
      widen(w.recurrent_out, values);
    } else if (const auto* k = std::get_if<model::KimiDeltaState>(&r->state)) {
      // q, k, v and the output gate, each as wide as the heads.
      const int64_t inner = ceil_div(k->heads, ranks) * k->head_dim;
      widen(w.recurrent_in, 4 * inner);
      widen(w.recurrent_out, inner);
    } else if (const auto* m = std::get_if<model::Mamba2State>(&r->state)) {
      const int64_t inner = m->heads * m->head_dim / ranks;
      widen(w.recurrent_in, 2 * inner + 2 * m->groups * m->state / ranks);
      widen(w.recurrent_out, inner);
    } else if (const auto* s = std::get_if<model::Mamba1State>(&r->state)) {
      widen(w.recurrent_in, 2 * s->inner / ranks);
      widen(w.recurrent_out, s->inner / ranks);
    }
  }
}

Widths widths_of(const model::Model& model, const Given& given) {
  Widths w;
  const int64_t ranks = given.tensor;
  const int64_t expert_ranks = given.expert_parallel ? 1 : ranks * given.data;
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) add_mixer(mixer, ranks, w);
    for (const model::CacheLayout& cache : layer.caches) {
      if (const auto* i = std::get_if<model::IndexerKeys>(&cache)) {
        w.sparse = true;
        widen(w.index_stride, i->tokens_per_entry);
      }
    }
    if (const auto* dense = std::get_if<model::DenseFeedForward>(&layer.feed_forward)) {
      widen(w.feed_forward, dense->width / ranks);
    } else if (const auto* moe = std::get_if<model::MoeFeedForward>(&layer.feed_forward)) {
      widen(w.feed_forward, std::max(moe->shared_width, moe->dense_width) / ranks);
      widen(w.expert, moe->width / expert_ranks);
      widen(w.expert_input, moe->latent_width > 0 ? moe->latent_width : model.hidden_size);
      widen(w.experts, moe->experts);
      widen(w.per_token, moe->active);
    }
  }
  return w;
}

bool has_experts_of(weights::SchemeKind kind, const model::Model& model,
                    const weights::Weights& weights) {
  if (!weights.recipe) return false;
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const model::Role role = model.tensors[i].role;
    if (role == model::Role::expert_down || role == model::Role::expert_fused_gate_up) {
      if (weights.recipe->scheme(i).kind == kind) return true;
    }
  }
  return false;
}

void fill_experts(const model::Model& model, const weights::Weights& weights, const Given& given,
                  const Profile& profile, const Widths& w, int64_t d, VllmShape& shape) {
  if (w.per_token <= 0) return;
  const int64_t hidden = w.expert_input;
  shape.experts_per_token = w.per_token;
  shape.expert_token_cap = profile.expert_token_cap;
  // Triton's MXFP4 kernels take what they need from the allocator and give it back.
  shape.expert_workspace_stays = profile.expert_workspace_stays &&
                                 !(profile.mxfp4_without_workspace &&
                                   has_experts_of(weights::SchemeKind::mxfp4, model, weights));
  // Two workspaces when they stay; gate, up and their product when they are freed again.
  shape.expert_row_bytes = shape.expert_workspace_stays
                               ? (std::max(w.expert, hidden) + std::max(2 * w.expert, hidden)) * d
                               : (std::max(2 * w.expert, hidden) + w.expert) * d;
  if (given.deep_gemm_experts) {
    const int64_t local =
        ceil_div(w.experts, given.expert_parallel ? given.tensor * given.data : 1);
    shape.expert_extra_rows = local * 127;
  }
  if (given.marlin && shape.expert_workspace_stays) {
    shape.expert_layer_per_token = w.per_token * model.hidden_size * d;
  }
  if (profile.fp4_without_workspace && has_experts_of(weights::SchemeKind::nvfp4, model, weights)) {
    // What the fused kernel takes for its rows is freed again: products in FP4 with a scale of 16,
    // results in 16 bits. Source: flashinfer csrc/trtllm_fused_moe_kernel_launcher.cu.
    shape.expert_row_bytes = 0;
    shape.expert_layer_per_token = w.per_token * (hidden * d + w.expert / 2 + w.expert / 16);
  }
}

// Several residual streams where no log tells which kernels mix them. In torch the mixed streams,
// the layer's term and their sum stand in fp32 beside the 16-bit result; FP4 experts may be
// emulated, a layer's matrices unpacked to 16 bits. Source: vllm
// model_executor/kernels/mhc/torch.py and fused_moe/experts/ocp_mx_emulation_moe.py.
void fill_doubt(const model::Model& model, const weights::Weights& weights, const Given& given,
                const Profile& profile, const Widths& w, int64_t d, VllmShape& shape) {
  if (profile.streams_logged) return;
  int64_t streams = 0;  // elements of a token in all streams
  bool fp4 = false;
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const model::Tensor& t = model.tensors[i];
    if (t.role == model::Role::hyper_connection && t.shape.rank == 2) {
      widen(streams, t.shape[1]);
    } else if (t.role == model::Role::expert_down && weights.recipe) {
      fp4 = fp4 || weights.recipe->scheme(i).kind == weights::SchemeKind::mxfp4;
    }
  }
  if (streams == 0) return;
  constexpr int64_t kFullCopies = 3;
  shape.doubt_per_token = streams * (kFullCopies * dtype_bytes(DType::float32) + d);
  if (!fp4) return;
  const int64_t local = ceil_div(w.experts, given.expert_parallel ? given.tensor * given.data : 1);
  const int64_t width = round_up(w.expert, std::max<int64_t>(1, profile.mxfp4_padding.width_in));
  shape.doubt_fixed = Bytes(saturating_multiply(local, 3 * width * w.expert_input * d));
}

// Numbers of one patch as the processor hands it over: channels x frames x side x side, which the
// tower's first matrix takes. 0 where its name does not tell it.
int64_t patch_values(const model::Model& model) {
  for (const model::Tensor& t : model.tensors) {
    if (t.role != model::Role::tower || t.shape.rank < 2) continue;
    if (t.shape[0] != model.vision->hidden_size || !ends_with(t.name, ".weight")) continue;
    if (contains(t.name, "patch") && !contains(t.name, "pos"))
      return t.shape.elements() / t.shape[0];
  }
  return 0;
}

// Qwen3-VL's, two frames of which share their tokens; with each go a timestamp and its marks, 11.5
// tokens in the mean. Source: vllm model_executor/models/qwen3_vl.py get_max_video_tokens as of
// 0.11; size.longest_edge of the model's video_preprocessor_config.json.
int64_t largest_video(const model::VisionTower& tower, const Given& given) {
  constexpr int64_t kLongestEdge = 25165824;
  const int64_t pixels =
      given.item_pixels > 0 ? std::min(given.item_pixels, kLongestEdge) : kLongestEdge;
  return std::max<int64_t>(1, pixels / (2 * std::max<int64_t>(1, tower.pixels_per_token)));
}

// Items of the largest size fill the encoder; they and its outputs stay until the profile run ends.
void fill_tower(const model::Model& model, const Given& given, const Profile& profile, int64_t d,
                VllmShape& shape) {
  if (!profiles_items(model, given) || !profile.encoder_profiled) return;
  const model::VisionTower& tower = *model.vision;
  if (tower.max_item_tokens <= 0) return;
  // The profile run takes the modality with the largest items that is not switched off.
  bool video = tower.image_tokens > 0 && given.videos_per_prompt.value_or(1) != 0;
  int64_t tokens = tower.image_tokens > 0 && !video ? tower.image_tokens : tower.max_item_tokens;
  if (given.item_pixels > 0 && tower.pixels_per_token > 0) {
    tokens = std::clamp<int64_t>(given.item_pixels / tower.pixels_per_token, 1, tokens);
  }
  int64_t marks = tower.framing_tokens;
  if (profile.rows_padded && tower.deepstack_layers > 0 &&
      given.videos_per_prompt.value_or(1) != 0) {
    video = true;
    tokens = largest_video(tower, given);
    marks = tokens * 23 / 2;
  }
  shape.item_tokens = tokens + marks;
  const bool no_images = given.images_per_prompt.value_or(1) == 0;
  const auto& limit = video || no_images ? given.videos_per_prompt : given.images_per_prompt;
  shape.items_per_prompt = limit.value_or(profile.items_per_prompt);
  const int64_t patches = tokens * tower.patches_per_token;
  shape.item_transient_bytes =
      saturating_multiply(patches, (2 * tower.ffn_size / given.tensor + 4 * tower.hidden_size) * d);
  shape.item_input_bytes =
      saturating_multiply(saturating_multiply(patches, patch_values(model)), d);
  shape.item_rows = profile.rows_padded ? 0 : tokens;
  shape.item_row_bytes = model.hidden_size * (1 + tower.deepstack_layers) * d;
}

}  // namespace

bool profiles_items(const model::Model& model, const Given& given) {
  return model.vision && !given.language_only && !given.skip_tower_profiling;
}

bool pools(const model::Model& model, const Given& given) {
  const std::string id = to_lower(model.id);
  return given.pooling || ends_with(model.architecture, "ForSequenceClassification") ||
         ends_with(model.architecture, "ForRewardModel") || contains(id, "-embedding") ||
         contains(id, "embed-");
}

void fill_activations(const model::Model& model, const weights::Weights& weights,
                      const Given& given, const Decided& decided, const Profile& profile,
                      int multiprocessors, VllmShape& shape) {
  const Widths w = widths_of(model, given);
  const int64_t d = dtype_bytes(decided.plain);
  const int64_t hidden = model.hidden_size;

  shape.stays_fixed = profile.cublas_workspace;
  shape.samples = !pools(model, given) && (profile.sampler_when_chunked || !decided.chunked);
  // Logits come in the model's own type: 2 of the bytes, 4 in float32.
  const int64_t logits = std::max<int64_t>(profile.sampler_bytes, 4) + d - 2;
  shape.sampler_per_sequence =
      (profile.sampler_bytes > 4 ? logits : profile.sampler_bytes) * model.vocab_size +
      2 * hidden * d;
  shape.sampler_per_token = hidden * d;
  shape.sampler_buffer_row = profile.sampler_buffer_bytes * model.vocab_size;
  shape.sampler_buffer_rows = profile.sampler_buffer_bytes > 0 ? multiprocessors : 0;

  // Residual, hidden states and the output live together (late V0 keeps one more); the widest of
  // MLP (gate, up, product) and attention (q, k, v, rotated copies, output) beside them.
  const int64_t attention = 2 * (w.query + 2 * w.key) + w.query;
  int64_t layer = std::max(3 * w.feed_forward, w.latent_row > 0 ? 3 * w.query : attention);
  layer = std::max(layer, 2 * w.recurrent_in + w.recurrent_out);
  shape.layer_per_token = d * (profile.layer_hidden * hidden + layer);
  if (given.pipeline > 1) {
    // Hidden states and residual travel between stages in buffers of a whole batch.
    // Source: vllm v1/worker/gpu_model_runner.py, IntermediateTensors.
    shape.sampler_per_token += 2 * hidden * d;
    shape.layer_per_token += 2 * hidden * d;
  }
  fill_experts(model, weights, given, profile, w, d, shape);

  if (w.latent_row > 0) {
    if (w.sparse && profile.indexer_buffers) {
      // Gather buffers of the indexer: rows of fp8 keys and their scales. 40 rows a token.
      constexpr int64_t kIndexRowBytes = 132;
      shape.stays_per_length = profile.indexer_rows * kIndexRowBytes / w.index_stride;
    } else {
      shape.latent_row_bytes = w.latent_row * d;
    }
  } else if (w.sparse && profile.indexer_buffers && w.index_stride > 1) {
    constexpr int64_t kIndexRowBytes = 132;
    shape.stays_per_length = profile.indexer_rows * kIndexRowBytes / w.index_stride;
  }
  fill_tower(model, given, profile, d, shape);
  fill_doubt(model, weights, given, profile, w, d, shape);
}

}  // namespace vramwise::engines::vllm
