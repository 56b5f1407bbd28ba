#include "engines/sglang/pools.h"

#include <algorithm>

#include "engines/rank_draft.h"
#include "engines/spread.h"

namespace vramwise::engines::sglang {
namespace {

LoadRules load_rules(const Question& q, const Setup& s) {
  LoadRules rules;
  rules.plain = s.plain;
  rules.mtp_layers = s.mtp ? std::min<int64_t>(1, int64_t(q.model->mtp_layers.size())) : 0;
  rules.second_scales = s.second_scales;
  rules.online = s.online;
  rules.lora_slots = s.lora_slots;
  rules.lora_rank = s.lora_rank;
  rules.towers = q.model->vision ? s.multimodal : true;
  return rules;
}

RankWeights weights_of(const Question& q, const Setup& s) {
  RankLayout layout;
  layout.tensor = s.tensor;
  layout.attention = s.attention_ranks;
  layout.expert_ranks = s.expert > 1 ? s.expert : 1;
  layout.expert_tensor = s.expert > 1 ? std::max<int64_t>(1, s.tensor / s.expert) : s.tensor;
  const StageRange range = stage_layers(int64_t(q.model->layers.size()), s.pipeline, 0);
  layout.first_layer = range.first;
  layout.end_layer = range.end;
  layout.last_stage = s.pipeline == 1;
  return rank_weights(*q.model, *q.weights, layout, load_rules(q, s));
}

CacheRules cache_rules(const Setup& s) {
  CacheRules rules;
  rules.ranks = s.attention_ranks;
  rules.element = s.element;
  rules.conv = s.plain;
  rules.recurrent = s.state;
  rules.copies_shared = true;
  return rules;
}

// Layers that the pool is sized for behind the trunk: the model's own prediction layer.
int64_t predicting(const Question& q, const Setup& s) {
  return s.mtp ? std::min<int64_t>(1, int64_t(q.model->mtp_layers.size())) : 0;
}

// What a compressing layer (DeepSeek-V4) adds: a row for every few tokens, and the states of the
// block that is not yet full, one for each window of tokens. Those of long blocks belong to a
// request from some release on. With drafting the states are twice as deep.
// Source: sglang model_executor/pool_configurator.py, DSV4PoolConfigurator.
void add_compressed(const LayerCache& c, int64_t window, const Setup& s, Cells& cells) {
  constexpr int64_t kUnit = 128;
  const int64_t rows = c.token_bytes * kUnit / c.tokens_per_entry;
  const int64_t whole = cells.full_rest_128 + rows;
  cells.full += whole / kUnit;
  cells.full_rest_128 = whole % kUnit;
  if (c.kind != LayerCache::Kind::compressed) return;
  const int64_t states = c.state_bytes * (s.draft_tokens > 0 ? 2 : 1);
  const bool paged = s.block_states_paged || c.tokens_per_entry < window;
  if (paged) {
    cells.window += states / std::max<int64_t>(1, window);
  } else {
    cells.block_states += states;
  }
}

Cells cells_of(const Question& q, const Setup& s, const RankDraft& draft) {
  const CacheRules rules = cache_rules(s);
  CacheRules stored = rules;
  stored.sparse_latent_row = s.sparse_row_bytes;
  // One formula counts a prediction layer of a compressing model as a share of all the others.
  const int64_t mtp = s.compressed ? 0 : predicting(q, s);
  const auto trunk = int64_t(q.model->layers.size());
  const StageRange range = stage_layers(trunk, s.pipeline, 0);
  Cells cells;
  int64_t layers = 0;
  const std::vector<LayerCache> counted = rank_caches(*q.model, rules, mtp);
  for (const LayerCache& c : counted) {
    if (c.kind == LayerCache::Kind::row_window) {
      cells.longest_window = std::max(cells.longest_window, c.window);
    }
  }
  for (const LayerCache& c : counted) {
    if (c.layer >= range.end && s.pipeline > 1) continue;
    switch (c.kind) {
      case LayerCache::Kind::window:
        if (s.window_pools) {
          cells.window += c.token_bytes;
          cells.longest_window = std::max(cells.longest_window, c.window);
        } else {
          cells.full += c.token_bytes;
        }
        break;
      case LayerCache::Kind::row_window:
        cells.window += c.token_bytes;
        // Early releases size the row of the prediction layer too, whether it is used or not.
        if (s.block_states_paged && c.layer + 1 == trunk && !q.model->mtp_layers.empty()) {
          cells.window += c.token_bytes;
        }
        break;
      case LayerCache::Kind::state: cells.state += c.state_bytes; break;
      case LayerCache::Kind::indexer:
        if (!s.index_keys_counted) break;
        [[fallthrough]];
      case LayerCache::Kind::compressed: add_compressed(c, cells.longest_window, s, cells); break;
      case LayerCache::Kind::cross: break;
      default:
        cells.full += c.token_bytes;
        ++layers;
        break;
    }
  }
  if (s.compressed && s.draft_tokens > 0 && predicting(q, s) > 0) {
    const int64_t all = (cells.full * 128 + cells.full_rest_128) * (trunk + 1) / trunk;
    cells.full = all / 128;
    cells.full_rest_128 = all % 128;
    cells.window = cells.window * (trunk + 1) / trunk;
  }
  for (const LayerCache& c : rank_caches(*q.model, stored, mtp)) {
    if (c.is_growing() || c.kind == LayerCache::Kind::compressed) {
      cells.real_full += c.token_bytes / c.tokens_per_entry;
    } else if (c.kind == LayerCache::Kind::window && !s.window_pools) {
      cells.real_full += c.token_bytes;
    }
  }
  // The pool is sized as if the drafter's layers were as large as the target's; they are stored as
  // large as they are. DFlash heads are not counted where windows have a pool of their own: theirs
  // comes on top. (The development branch counts them; no release of it was read.)
  // Source: sglang model_executor/pool_configurator.py, HybridSWAPoolConfigurator; start logs of
  // sostrowsk/dgx-spark-local-llm.
  const auto drafted = int64_t(draft.caches.size());
  const bool on_top = s.drafter_head == HeadKind::dflash && cells.window > 0;
  if (layers > 0 && !on_top) cells.full += cells.full / layers * drafted;
  for (const LayerCache& c : draft.caches) {
    cells.real_full += c.kind == LayerCache::Kind::state ? 0 : c.token_bytes / c.tokens_per_entry;
  }
  return cells;
}

bool is_latent(const model::Model& model) {
  for (const model::Layer& layer : model.layers) {
    for (const model::CacheLayout& c : layer.caches) {
      if (std::holds_alternative<model::LatentAttention>(c)) return true;
    }
  }
  return false;
}

// Captured prefill sizes (tokens): 4..32/4, 48..256/16, 288..512/32, 576..1024/64, 1280..4096/256,
// then /512. Source: sglang server_args.py.
int64_t prefill_sizes(int64_t largest) {
  struct Part {
    int64_t first, last, step;
  };
  constexpr Part kParts[] = {{4, 32, 4},      {48, 256, 16},     {288, 512, 32},
                             {576, 1024, 64}, {1280, 4096, 256}, {4608, kInt64Max, 512}};
  int64_t count = 0;
  for (const Part& p : kParts) {
    const int64_t last = std::min(p.last, largest);
    if (last >= p.first) count += (last - p.first) / p.step + 1;
  }
  return count;
}

// A model with a vision_config leaves more free, by a reference tower and by how much larger its
// own is: by the two keys that name its size, which a config may lack, and by 24 layers of 1024
// for want of them. Source: sglang server_args.py, adjust_mem_fraction_for_vlm.
double modal_factor(const Question& q, const Setup& s) {
  if (!s.multimodal) return 1;
  if (s.vision_sensitivity <= 0) return s.multimodal_factor;
  if (!q.model->vision->named) return 1;
  constexpr double kLayers = 24, kHidden = 1024;
  const model::VisionTower::Named& named = *q.model->vision->named;
  const double layers = named.layers > 0 ? double(named.layers) : kLayers;
  const double hidden = named.hidden_size > 0 ? double(named.hidden_size) : kHidden;
  const double size = layers * hidden * hidden / (kLayers * kHidden * kHidden);
  return s.multimodal_factor * std::clamp(1 - s.vision_sensitivity * (size - 1), 0.8, 1.05);
}

// Default of mem_fraction_static, rounded to three digits as SGLang does.
double default_fraction(const Question& q, const Setup& s, Bytes smi_total) {
  const double modal = modal_factor(q, s);
  if (s.fixed_fraction > 0) return s.fixed_fraction * modal;
  int64_t chunk = s.chunk > 0 ? s.chunk : 16384;
  if (s.decodes_only)
    chunk = saturating_multiply(s.max_running, std::max<int64_t>(1, s.draft_tokens));
  Bytes reserved = s.reserved_floor +
                   KiB(s.reserved_per_token_kib) * std::max<int64_t>(chunk, 2048) +
                   MiB(s.reserved_per_rank_mib) * (s.tensor * s.pipeline);
  reserved += MiB(s.graph_per_batch_mib) * s.graph_batch;
  if (s.data_attention) {
    // Extra graph memory of data-parallel attention, more for large batches.
    reserved += MiB(3) * (s.graph_batch * s.data);
    if (s.graph_batch > 300) reserved += MiB(3) * (s.graph_batch * s.data) / 2;
  }
  reserved += KiB(s.piece_kib) * s.pieces;
  const bool latent = is_latent(*q.model);
  if (s.graph_batch > 0 && s.prefill_graphs && !s.multimodal) {
    const int64_t longest = s.prefill_limit > 0 ? std::min(s.prefill_limit, chunk) : chunk;
    reserved +=
        latent ? MiB(s.latent_graph_mib) : MiB(s.prefill_graph_mib) * prefill_sizes(longest);
  }
  reserved =
      s.set_aside.count() > 0 ? s.set_aside : std::max(reserved, s.large_floor) + s.draft_reserved;
  const double share =
      double((smi_total - reserved).count()) / double(std::max<int64_t>(1, smi_total.count()));
  return double(int64_t(share * 1000 + 0.5)) / 1000 * modal;
}

// Slots for states: as many as asked for; without a prefix cache those of the requests; else a
// share of the budget. Drafting keeps the states between the drafted tokens of each running
// request beside them. Answers what all that takes of the budget.
// Source: sglang mem_cache/kv_cache_configurator.py, _handle_max_mamba_cache.
int64_t state_memory(const Setup& s, int64_t state, int64_t budget, int64_t& slots) {
  const auto between = [&](int64_t requests) {
    return saturating_multiply(saturating_multiply(state, requests), s.draft_tokens);
  };
  const int64_t most = s.most_requests();
  if (s.state_slots > 0 || (!s.radix_cache && most > 0)) {
    slots = s.state_slots > 0 ? s.state_slots / s.attention_data() : most;
    const int64_t held = slots / std::max<int64_t>(1, s.slots_per_request);
    const int64_t running = most > 0 ? std::min(most, held) : held;
    return saturating_multiply(state, slots) + between(running);
  }
  const auto part = int64_t(double(budget) * s.state_ratio / (1 + s.state_ratio));
  const int64_t one = state + state * s.draft_tokens / std::max<int64_t>(1, s.slots_per_request);
  slots = part / std::max<int64_t>(1, one);
  return part;
}

void cut_pools(const Setup& s, RankPlan& r, int64_t budget, int64_t& tokens, int64_t& window_tokens,
               int64_t& slots) {
  tokens = window_tokens = slots = 0;
  if (budget <= 0) return;
  int64_t rest = budget;
  rest -= r.cells.block_states * (s.most_requests() + 1);
  if (r.cells.state > 0) rest -= state_memory(s, r.cells.state, budget, slots);
  if (rest <= 0) return;
  const double cell = double(r.cells.full) + double(r.cells.full_rest_128) / 128 +
                      (r.cells.full > 0 ? s.window_ratio : 1.0) * double(r.cells.window);
  if (cell <= 0) return;
  tokens = int64_t(double(rest) / cell) / s.page * s.page;
  if (s.max_tokens) tokens = std::min(tokens, *s.max_tokens / s.page * s.page);
  if (r.cells.window > 0) {
    window_tokens =
        r.cells.full > 0 ? int64_t(double(tokens) * s.window_ratio) / s.page * s.page : tokens;
  }
}

// Where the cache of each position of each running request lies, in 4 bytes: with a row for
// padding, four more positions and those drafted. A server that only decodes takes rows for
// requests on their way, twice as many again up to 32. Source: sglang mem_cache/memory_pool.py
// ReqToTokenPool; kv_cache_configurator.py _init_pools (extra_max_context_len);
// disaggregation/decode.py.
Bytes request_table(const Setup& s, int64_t max_running) {
  int64_t rows = s.data_attention ? max_running / s.data : max_running;
  if (s.decodes_only && rows <= 32) rows *= 3;
  const int64_t positions = s.context + 4 + s.draft_tokens;
  return Bytes(saturating_multiply(saturating_multiply(rows + 1, positions), 4));
}

Bytes stored_matrices(const RankWeights& parts) {
  Bytes sum;
  for (const WeightItem item : {WeightItem::attention, WeightItem::recurrent,
                                WeightItem::feed_forward, WeightItem::experts}) {
    sum += parts.bytes[size_t(item)];
  }
  return sum;
}

// What was measured on this machine in place of the rules. What loading takes off the free memory
// is one figure in the log: the tensors and what is left behind by loading them.
void apply_measured(const Calibration& measured, bool unified, RankPlan& r) {
  if (measured.weights) {
    const ByteRange whole = r.weights + r.leftovers;
    const Bytes shift = measured.weights->shift - r.leftovers.likely;
    const Bytes likely = whole.likely + shift;
    r.weights = measured_range(
        {likely - (whole.likely - whole.low), likely, likely + (whole.high - whole.likely)},
        *measured.weights, unified);
    // The rows add up to it: the largest part takes the difference.
    auto& parts = r.parts.bytes;
    *std::max_element(std::begin(parts), std::end(parts)) += likely - r.parts.total();
    r.leftovers = {};
    r.weights_measured = true;
  }
  if (measured.non_torch) {
    const Bytes shift = measured.non_torch->shift;
    r.before =
        measured_range(r.before + ByteRange{shift, shift, shift}, *measured.non_torch, unified);
    r.before_measured = true;
  }
}

}  // namespace

RankPlan plan_rank(const Question& q, const Setup& s, const Device& device, Notes& notes) {
  RankPlan r;
  const RankWeights whole = weights_of(q, s);
  r.parts = without_offloaded(whole, s.offload);
  r.offloaded = whole.total() - r.parts.total();
  RankDraft draft;
  if (s.drafter) {
    const CacheRules rules = cache_rules(s);
    draft = rank_draft(q, s.drafter_head, s.tensor, load_rules(q, s), rules,
                       rank_caches(*q.model, rules, 0), notes);
  }
  r.drafter = draft.weights;
  r.parts.bytes[size_t(WeightItem::drafter)] = draft.weights.likely;
  const Bytes counted = r.parts.total();
  r.weights = {counted - std::max(counted * s.weights_low_per_mille / 1000, MiB(1)), counted,
               counted + std::max(counted * s.weights_high_per_mille / 1000, s.weights_floor)};
  r.weights.low -= r.drafter.likely - r.drafter.low;
  r.weights.high += r.drafter.high - r.drafter.likely;
  r.before = s.before;
  r.leftovers = s.leftovers;
  // The stored matrices are freed when Python collects them; until then both layouts may stand.
  if (s.repacked) r.leftovers.high = std::max(r.leftovers.high, stored_matrices(r.parts));
  if (q.settings.calibration) {
    apply_measured(*q.settings.calibration, device.gpu.unified_memory, r);
  }
  r.cells = cells_of(q, s, draft);
  r.fraction_derived = !s.fraction;
  r.fraction =
      s.fraction ? *s.fraction : default_fraction(q, s, device.total * s.smi_per_mille / 1000);

  const Bytes weights = r.weights.likely;
  // What is in use is known where it is told, or was part of a measured start.
  if (device.used.count() == 0 && !r.before_measured) r.system = s.system;
  const ByteRange gone = r.before + r.system;
  const Bytes idle = device.free();
  r.free_before = {idle - gone.high - device.total_uncertainty, idle - gone.likely,
                   idle - gone.low + device.total_uncertainty};
  r.outside = Bytes(int64_t(double(r.free_before.likely.count()) * (1 - r.fraction)));
  r.free_after = {r.free_before.low - r.weights.high - r.leftovers.high,
                  r.free_before.likely - weights - r.leftovers.likely,
                  r.free_before.high - r.weights.low - r.leftovers.low};
  Spread spread;
  spread.add(r.free_before);
  spread.add({-r.leftovers.high, -r.leftovers.likely, -r.leftovers.low});
  spread.add({-(r.weights.high - weights), Bytes(), weights - r.weights.low});
  const Bytes likely = r.free_after.likely - r.outside;
  r.budget = {likely - spread.down(), likely, likely + spread.up()};

  int64_t window = 0, slots = 0;
  cut_pools(s, r, r.budget.low.count(), r.tokens_low, window, slots);
  cut_pools(s, r, r.budget.high.count(), r.tokens_high, window, slots);
  cut_pools(s, r, r.budget.likely.count(), r.tokens, r.window_tokens, r.state_slots);
  // Tensors hold one page (or slot) more, as padding.
  if (r.tokens > 0) r.full_pool = Bytes(r.cells.real_full) * (r.tokens + s.page);
  if (r.window_tokens > 0) r.window_pool = Bytes(r.cells.window) * (r.window_tokens + s.page);
  if (r.state_slots > 0) {
    const int64_t held = r.state_slots / std::max<int64_t>(1, s.slots_per_request);
    const int64_t most = s.most_requests();
    r.drafted_states = (most > 0 ? std::min(most, held) : held) * s.draft_tokens;
    r.state_pool = Bytes(r.cells.state) * (r.state_slots + 1 + r.drafted_states);
  }
  if (r.tokens > 0) r.window_pool += Bytes(r.cells.block_states) * (s.most_requests() + 1);
  if (s.host_cache_ratio > 0) {
    r.host_cache = s.host_cache;
    if (r.host_cache.count() == 0) {
      r.host_cache = Bytes(int64_t(double(r.full_pool.count()) * s.host_cache_ratio));
    }
  }
  r.graphs = MiB(s.graph_per_batch_mib) * s.graph_batch;
  r.activations = KiB(s.activation_kib) * (s.chunk > 0 ? s.chunk : 16384);
  // min(clamp(tokens / context x 512, 2048, 4096), tokens / 2) requests a worker.
  const int64_t derived = std::min(
      std::clamp<int64_t>(saturating_multiply(r.tokens, 512) / std::max<int64_t>(1, s.context),
                          2048, 4096),
      std::max<int64_t>(1, r.tokens / 2));
  r.max_running = s.max_running > 0 ? s.max_running : derived;
  if (r.cells.state > 0)
    r.max_running =
        std::min(r.max_running,
                 std::max<int64_t>(0, r.state_slots / s.slots_per_request) * s.attention_data());
  r.request_table = request_table(s, r.max_running);
  return r;
}

}  // namespace vramwise::engines::sglang
