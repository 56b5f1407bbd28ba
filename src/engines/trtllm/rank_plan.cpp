#include "engines/trtllm/rank_plan.h"

#include <algorithm>

#include "engines/rank_draft.h"
#include "engines/spread.h"

namespace vramwise::engines::trtllm {
namespace {

bool fp8_blocks(const weights::Weights& weights, const model::Model& model, model::Role role) {
  if (!weights.recipe) return false;
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.tensors[i].role == role && model.tensors[i].part == model::Part::text) {
      return weights.recipe->scheme(i).kind == weights::SchemeKind::fp8_block;
    }
  }
  return false;
}

// Latent attention keeps the key half of kv_b_proj a second time, turned over (the value half is a
// view). Where that is fp8 in blocks, Blackwell also keeps both halves in 16 bits.
// Source: TensorRT-LLM tensorrt_llm/_torch/modules/attention.py, MLA (k_b_proj_trans,
// k_b_proj_trans_dequant, v_b_proj_dequant).
Bytes absorbed_copies(const Question& q, const Setup& s, const RankLayout& layout,
                      const Device& device, int64_t mtp_layers) {
  const bool blocks = fp8_blocks(*q.weights, *q.model, model::Role::kv_up);
  const int capability = device.gpu.compute_capability;
  const bool dequantised = blocks && capability >= 100 && capability < 120;
  Bytes sum;
  const auto add = [&](const model::Layer& layer) {
    for (const model::Mixer& mixer : layer.mixers) {
      const auto* l = std::get_if<model::LatentBlock>(&mixer);
      if (l == nullptr) continue;
      const int64_t keys = l->query_heads / layout.attention * l->kv_lora_rank * l->nope_dim;
      const int64_t values = l->query_heads / layout.attention * l->kv_lora_rank * l->value_dim;
      const int64_t plain = dtype_bytes(s.plain);
      sum += Bytes(keys) * (blocks ? 1 : plain);
      if (dequantised) sum += Bytes(keys + values) * plain;
    }
  };
  for (int64_t i = layout.first_layer; i < layout.end_layer; ++i) add(q.model->layers[size_t(i)]);
  for (int64_t i = 0; i < mtp_layers && i < int64_t(q.model->mtp_layers.size()); ++i) {
    add(q.model->mtp_layers[size_t(i)]);
  }
  return sum;
}

bool has_latent(const model::Model& model) {
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      if (std::holds_alternative<model::LatentBlock>(mixer)) return true;
    }
  }
  return false;
}

// What every rank holds in full. The embedding of models with latent attention is built without a
// parallel mode; attention that is data-parallel takes embedding, head, dense layers and shared
// experts with it.
// Source: TensorRT-LLM tensorrt_llm/_torch/models/modeling_deepseekv3.py (embed_tokens,
// _compute_mlp_tp_size), modeling_utils.py (lm_head). "Use 93.17 GB for model weights" at TP4 and
// 48.41 at TP8 of DeepSeek-R1-0528-NVFP4-v2: rank_plan_test.cpp.
void keep_whole(const Question& q, const Setup& s, RankWeights& parts) {
  const auto whole = [&](WeightItem item) {
    parts.bytes[size_t(item)] = parts.bytes[size_t(item)] * s.tensor;
  };
  if (s.data_attention || has_latent(*q.model)) whole(WeightItem::embedding);
  if (!s.data_attention) return;
  if (!s.head_parallel) whole(WeightItem::output_head);
  whole(WeightItem::feed_forward);
}

// DeepGEMM's experts work on a grid of every expert of the rank and every token of a chunk: a
// vector in fp8, one twice as wide as an expert in 16 bits, and four scales of 128 values a word.
// With data-parallel attention a chunk may hold the tokens of all ranks.
// Source: TensorRT-LLM tensorrt_llm/_torch/modules/fused_moe/fused_moe_deepgemm.py, get_workspace.
// Measured: 124.76 GiB where TRTLLM kernels take 81.86 (DeepSeek-R1-0528 in fp8 on 8 B200).
ByteRange expert_workspace(const Question& q, const Setup& s) {
  if (!s.deep_gemm || !fp8_blocks(*q.weights, *q.model, model::Role::expert_down)) return {};
  constexpr int64_t kTokens = 128, kGroup = 128, kScalesPerWord = 4, kWord = 4;
  int64_t most = 0;
  for (const model::Layer& layer : q.model->layers) {
    const auto* moe = std::get_if<model::MoeFeedForward>(&layer.feed_forward);
    if (moe == nullptr) continue;
    const int64_t experts = ceil_div(moe->experts, s.expert);
    const int64_t width = moe->width / std::max<int64_t>(1, s.tensor / s.expert);
    const int64_t plain = std::max(q.model->hidden_size, width);
    const int64_t wide = std::max(2 * width, q.model->hidden_size);
    const int64_t scales = ceil_div(ceil_div(plain, kGroup), kScalesPerWord) * kWord;
    most = std::max(most, experts * (plain + 2 * wide + scales));
  }
  const auto at = [&](int64_t tokens) { return Bytes(most) * round_up(tokens, kTokens); };
  const Bytes own = at(s.moe_tokens);
  return {own, own, s.data_attention ? at(s.moe_tokens * s.tensor) : own};
}

// What was measured on this machine in place of the rules.
void apply_measured(const Calibration& measured, bool unified, RankPlan& r) {
  const auto moved = [&](const ByteRange& range, const MeasuredTerm& term) {
    return measured_range(range + ByteRange{term.shift, term.shift, term.shift}, term, unified);
  };
  if (measured.weights) {
    r.weights = moved(r.weights, *measured.weights);
    // The rows add up to it: the largest part takes the difference.
    auto& parts = r.parts.bytes;
    *std::max_element(std::begin(parts), std::end(parts)) += measured.weights->shift;
    r.weights_measured = true;
  }
  if (measured.activations) {
    r.overhead = moved(r.overhead, *measured.activations);
    r.overhead_measured = true;
  }
}

}  // namespace

RankPlan plan_rank(const Question& q, const Setup& s, const Device& device, Notes& notes) {
  RankPlan r;
  RankLayout layout;
  layout.tensor = s.tensor;
  layout.attention = s.attention_ranks;
  layout.expert_ranks = s.expert;
  layout.expert_tensor = std::max<int64_t>(1, s.tensor / s.expert);
  const StageRange range = stage_layers(int64_t(q.model->layers.size()), s.pipeline, 0);
  layout.first_layer = range.first;
  layout.end_layer = range.end;
  layout.last_stage = s.pipeline == 1;
  LoadRules rules;
  rules.plain = s.plain;
  rules.absorbed_latent = false;
  rules.mxfp4_experts = s.mxfp4_padding;
  rules.nvfp4_experts = s.nvfp4_padding;
  rules.mtp_layers = s.mtp ? 1 : 0;
  rules.mtp_vocabulary = false;  // the module is handed the model's own: DeepseekV3MTP.forward
  r.parts = rank_weights(*q.model, *q.weights, layout, rules);
  keep_whole(q, s, r.parts);
  // TensorRT-LLM modeling_deepseekv3.py: use_mtp_vanilla repeats the checkpoint's layer.
  r.parts.bytes[size_t(WeightItem::mtp)] = r.parts.of(WeightItem::mtp) * s.mtp_copies;
  r.parts.bytes[size_t(WeightItem::absorbed)] +=
      absorbed_copies(q, s, layout, device, rules.mtp_layers);
  CacheRules caches;
  caches.ranks = s.attention_ranks;
  caches.element = s.element;
  caches.conv = s.plain;
  caches.recurrent = s.plain;
  std::vector<LayerCache> layers = rank_caches(*q.model, caches, s.mtp ? 1 : 0);
  RankDraft draft;
  // Drafters run behind the last stage.
  if (s.drafter && s.pipeline == 1) {
    draft = rank_draft(q, s.drafter_head, s.tensor, rules, caches, layers, notes);
    layers.insert(layers.end(), draft.caches.begin(), draft.caches.end());
  }
  r.drafter = draft.weights;
  r.parts.bytes[size_t(WeightItem::drafter)] = draft.weights.likely;
  const Bytes counted = r.parts.total();
  r.weights = {counted - counted * s.weights_low_per_mille / 1000, counted,
               counted + counted * s.weights_high_per_mille / 1000};
  r.weights.low -= r.drafter.likely - r.drafter.low;
  r.weights.high += r.drafter.high - r.drafter.likely;
  r.overhead = s.overhead;
  r.workspace = expert_workspace(q, s);
  if (q.settings.calibration) {
    apply_measured(*q.settings.calibration, device.gpu.unified_memory, r);
  }

  for (const LayerCache& c : layers) {
    if (s.pipeline > 1 && c.layer >= range.end) continue;
    // The estimate makes no difference between windows and full layers.
    if (c.kind == LayerCache::Kind::state) {
      r.states += Bytes(c.state_bytes) * s.max_batch;
    } else if (c.kind != LayerCache::Kind::cross) {
      const bool drafts = c.layer >= int64_t(q.model->layers.size());
      const Bytes bytes(c.token_bytes / c.tokens_per_entry);
      r.per_token += bytes * (drafts ? s.mtp_copies : 1);
      if (!drafts) r.estimated_per_token += bytes;
    }
  }
  if (s.drafts_counted || r.estimated_per_token.count() == 0) r.estimated_per_token = r.per_token;
  // The trial run reads the tokens of one iteration; from 1.3 on the longest sequence has to fit as
  // well, and a block for each sequence of the batch.
  int64_t blocks = ceil_div(std::min(s.max_seq, s.max_tokens_in_flight) + 1, s.block_tokens);
  if (s.batch_sizes_trial) {
    blocks = std::max({blocks, ceil_div(s.max_seq + 1, s.block_tokens), s.max_batch});
  }
  r.trial = r.per_token * (blocks * s.block_tokens);

  Spread spread;
  spread.add(r.weights);
  spread.add(r.overhead);
  spread.add(r.workspace);
  spread.add({-device.total_uncertainty, Bytes(), device.total_uncertainty});
  // The trial cache is part of the printed peak and given back before the sizing.
  const Bytes held = r.weights.likely + r.overhead.likely + r.workspace.likely + device.used;
  const ByteRange without_trial = {held - spread.down(), held, held + spread.up()};
  const auto share = [&](Bytes used) {
    return Bytes(int64_t(s.fraction * double((device.total - used).count())));
  };
  // The trial run may not take more than the fraction of what is free either.
  r.trial = std::max(Bytes(), std::min(r.trial, share(held)));
  r.peak = {without_trial.low + r.trial, held + r.trial, without_trial.high + r.trial};
  r.cache = {share(without_trial.high) - r.states, share(held) - r.states,
             share(without_trial.low) - r.states};
  const auto tokens = [&](Bytes cache) -> int64_t {
    if (cache.count() <= 0 || r.per_token.count() == 0) return 0;
    if (s.max_bytes) cache = std::min(cache, *s.max_bytes);
    int64_t n = cache / r.estimated_per_token;
    if (s.max_tokens) n = std::min(n, *s.max_tokens);
    return n / s.block_tokens * s.block_tokens;
  };
  r.tokens_low = tokens(r.cache.low);
  r.tokens = tokens(r.cache.likely);
  r.tokens_high = tokens(r.cache.high);
  return r;
}

}  // namespace vramwise::engines::trtllm
