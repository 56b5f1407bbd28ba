// Hugging Face transformers without a server: `model.generate` in one process.
//
// Nothing is reserved: memory is what the tensors take, and peaks are the operations' own. Weights
// are as stored; DynamicCache grows by concatenation, so that one layer's cache exists twice while
// a token is added; logits of a prompt are made for its last token only. Measured runs scatter, so
// the activations carry a bar. Source: transformers cache_utils.py (DynamicCache),
// modeling_utils.py, generation/utils.py.
#include "engines/engine.h"

#include <algorithm>

#include "base/text.h"
#include "engines/facts.h"
#include "engines/lever_list.h"
#include "engines/rank_cache.h"
#include "engines/rank_weights.h"
#include "engines/spread.h"

namespace vramwise::engines {
namespace transformers {
namespace {

constexpr std::string_view kModeling = "transformers modeling_utils.py";
constexpr std::string_view kCache = "transformers cache_utils.py";

struct Setup {
  int64_t batch = 1, tokens = 0;
  DType plain = DType::bfloat16;
  bool eager_attention = false;
  bool static_cache = false;
  std::optional<weights::Scheme> online;
  ByteRange context;
  int64_t activation_percent = 0;
};

Result<Setup> read_setup(const Question& q, Notes& notes) {
  Setup s;
  const Options& o = q.settings.options;
  TRY_ASSIGN(Facts facts, Facts::load("transformers", q.settings.version));
  const Circumstances now = circumstances(*q.hardware);
  s.context = facts.mib(facts.row("context", now));
  s.activation_percent = facts.integer("activation_percent");
  const std::vector<std::string> known = facts.list("options");
  TRY(facts.check());
  TRY_ASSIGN(const auto batch, o.integer("batch_size", 1, 1 << 20));
  TRY_ASSIGN(const auto tokens, o.integer("max_length", 1, int64_t{1} << 40));
  TRY_ASSIGN(const auto dtype, o.string("dtype"));
  TRY_ASSIGN(const auto older, o.string("torch_dtype"));
  TRY_ASSIGN(const auto attention, o.string("attn_implementation"));
  TRY_ASSIGN(const auto cache, o.string("cache_implementation"));
  TRY_ASSIGN(const auto four, o.boolean("load_in_4bit"));
  TRY_ASSIGN(const auto eight, o.boolean("load_in_8bit"));
  s.batch = batch.value_or(std::max<int64_t>(1, q.workload.concurrency.count()));
  s.tokens = tokens.value_or(q.workload.sequence_tokens.count());
  if (s.tokens <= 0) {
    s.tokens = std::max<int64_t>(
        1, std::min<int64_t>(q.model->max_positions > 0 ? q.model->max_positions : 2048, 4096));
    notes.assume("length_default",
                 "no length is given: one sequence of " + format_grouped(s.tokens) + " tokens");
  }
  const std::string type = dtype ? *dtype : older ? *older : "auto";
  if (const auto asked = dtype_from_name(type)) {
    s.plain = *asked;
  } else {
    s.plain = q.model->dtype;
    if (type != "auto")
      notes.warn("unknown_dtype", "dtype '" + type + "' is not known; the checkpoint's is taken");
  }
  s.eager_attention = attention && *attention == "eager";
  s.static_cache = cache && *cache == "static";
  if (four.value_or(false) || eight.value_or(false)) {
    weights::Scheme online;
    online.kind =
        four.value_or(false) ? weights::SchemeKind::bnb_nf4 : weights::SchemeKind::bnb_int8;
    s.online = online;
  }
  std::vector<std::string_view> names(known.begin(), known.end());
  for (const json::Member& member : o.entries()) {
    if (std::find(names.begin(), names.end(), member.key) != names.end()) continue;
    const auto near = nearest_names(member.key, names, 1);
    notes.warn("unknown_option",
               "transformers has no memory option '" + member.key + "'; it is ignored" +
                   (near.empty() ? "" : "; a similar option exists: " + near.front()));
  }
  return s;
}

// Bytes that `tokens` tokens of one sequence keep in one layer. Sliding windows keep their window.
int64_t cache_bytes(const LayerCache& c, int64_t tokens) {
  switch (c.kind) {
    case LayerCache::Kind::window:
    case LayerCache::Kind::chunk: return c.token_bytes * std::min(tokens, c.window);
    case LayerCache::Kind::row_window: return c.token_bytes * std::min(tokens, c.window);
    case LayerCache::Kind::state: return c.state_bytes;
    case LayerCache::Kind::cross: return c.token_bytes * c.window;
    case LayerCache::Kind::indexer:
    case LayerCache::Kind::compressed:
      return saturating_multiply(c.token_bytes, ceil_div(tokens, c.tokens_per_entry)) +
             c.state_bytes;
    default: return saturating_multiply(c.token_bytes, tokens);
  }
}

struct Cost {
  Bytes cache, largest_layer, forward, logits;
};

Cost cost_of(const model::Model& model, const std::vector<LayerCache>& caches, const Setup& s,
             int64_t tokens) {
  Cost cost;
  const int64_t d = dtype_bytes(s.plain);
  for (const LayerCache& c : caches) {
    const Bytes bytes = Bytes(cache_bytes(c, tokens)) * s.batch;
    cost.cache += bytes;
    cost.largest_layer = std::max(cost.largest_layer, bytes);
  }
  int64_t width = 0, heads = 0;
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        heads = std::max(heads, a->query_heads);
        width = std::max(width, 3 * a->query_heads * a->key_dim + 4 * a->kv_heads * a->key_dim);
      }
    }
    if (const auto* dense = std::get_if<model::DenseFeedForward>(&layer.feed_forward)) {
      width = std::max(width, 3 * dense->width);
    } else if (const auto* moe = std::get_if<model::MoeFeedForward>(&layer.feed_forward)) {
      width = std::max(width, 3 * (moe->width * moe->active + moe->shared_width));
    }
  }
  // Prefill of the whole prompt at once: residual, normed and output beside the widest operation.
  cost.forward = Bytes(saturating_multiply(tokens, (3 * model.hidden_size + width) * d)) * s.batch;
  if (s.eager_attention) {
    // Scores of all heads in 32 bits and their 16-bit copy.
    cost.forward +=
        Bytes(saturating_multiply(saturating_multiply(tokens, tokens), heads * (4 + d))) * s.batch;
  }
  // Last token's logits, 16-bit and as float32.
  cost.logits = Bytes(model.vocab_size * (d + 4)) * s.batch;
  return cost;
}

RankWeights share_of(const Question& q, const Setup& s, int64_t devices, int64_t index) {
  RankLayout layout;
  const StageRange range = stage_layers(int64_t(q.model->layers.size()), devices, index);
  layout.first_layer = range.first;
  layout.end_layer = range.end;
  layout.first_stage = index == 0;
  layout.last_stage = index + 1 == devices;
  LoadRules rules;
  rules.plain = s.plain;
  rules.online = s.online;
  rules.vocabulary_multiple = 1;
  rules.absorbed_latent = false;
  rules.value_copies = false;
  rules.spare_projections = false;
  RankWeights weights = rank_weights(*q.model, *q.weights, layout, rules);
  weights.bytes[size_t(WeightItem::rotary)] = Bytes();  // cos and sin are made per step, not kept
  return weights;
}

void add_rows(const Question& q, const Setup& s, const std::vector<LayerCache>& caches,
              int64_t devices, int64_t index, Assessment& a) {
  const int device = q.hardware->is_cpu_only() ? kHost : int(index);
  const RankWeights weights = share_of(q, s, devices, index);
  const StageRange range = stage_layers(int64_t(q.model->layers.size()), devices, index);
  std::vector<LayerCache> here;
  for (const LayerCache& c : caches) {
    if (c.layer >= range.first && c.layer < range.end) here.push_back(c);
  }
  const Cost cost = cost_of(*q.model, here, s, s.tokens);
  const auto row = [&](Ledger& ledger, Component component, std::string_view item, ByteRange bytes,
                       Basis basis, std::string_view words, std::string_view source) {
    LedgerRow r;
    r.device = device;
    r.component = component;
    r.item = std::string(item);
    r.bytes = bytes;
    r.basis = basis;
    r.formula = {words, {}};
    r.source = source;
    ledger.add(std::move(r));
  };
  for (Ledger* ledger : {&a.need, &a.reserve, &a.peak}) {
    for (size_t i = 0; i < kWeightItems; ++i) {
      row(*ledger, Component::weights, to_string(WeightItem(i)),
          ByteRange::exactly(weights.bytes[i]), Basis::derived, "tensors as stored", kModeling);
    }
    row(*ledger, Component::kv_cache, "cache", ByteRange::exactly(cost.cache), Basis::derived,
        "batch x sum over layers of the kept tokens", kCache);
    row(*ledger, Component::runtime, "CUDA context", s.context, Basis::modelled,
        "context and library workspaces", "public reports");
    if (ledger == &a.reserve) continue;
    if (!s.static_cache) {
      row(*ledger, Component::kv_cache, "one layer's cache while it grows",
          ByteRange::exactly(cost.largest_layer), Basis::derived,
          "concatenation holds the old and the new tensor", kCache);
    }
    row(*ledger, Component::activations, "forward pass of the prompt",
        within_percent(cost.forward, s.activation_percent), Basis::modelled,
        "batch x tokens x (3 hidden_size + widest operation) x element", kModeling);
    row(*ledger, Component::activations, "logits of the last token",
        ByteRange::exactly(cost.logits), Basis::derived, "batch x vocab_size x (element + 4)",
        "transformers generation/utils.py");
  }
}

Result<Assessment> assess_model(const Question& q) {
  Assessment a;
  TRY_ASSIGN(const Setup s, read_setup(q, a.notes));
  a.primary = Reading::need;
  const int64_t devices = std::max<int64_t>(1, int64_t(q.hardware->devices.size()));
  if (devices > 1) {
    a.notes.assume(
        "layers_in_order",
        "device_map=\"auto\" puts the layers on the cards in order, about the same number on each",
        "accelerate big_modeling.py");
  }
  CacheRules rules;
  rules.element = {dtype_bytes(s.plain), 1};
  rules.conv = s.plain;
  rules.recurrent = DType::float32;
  const std::vector<LayerCache> caches = rank_caches(*q.model, rules, 0);
  for (int64_t i = 0; i < devices; ++i) add_rows(q, s, caches, devices, i, a);

  Bytes fullest(kInt64Min);
  for (int64_t i = 0; i < devices; ++i) {
    const int device = q.hardware->is_cpu_only() ? kHost : int(i);
    const Bytes limit =
        q.hardware->is_cpu_only() ? q.hardware->ram : q.hardware->devices[size_t(i)].free();
    const Bytes bar =
        q.hardware->is_cpu_only() ? Bytes() : q.hardware->devices[size_t(i)].total_uncertainty;
    const ByteRange peak = a.peak.total(device);
    if (peak.likely - limit > fullest) {
      fullest = peak.likely - limit;
      a.fullest_device = device;
    }
    if (limit.count() <= 0) continue;
    Requirement load;
    load.kind = Requirement::Kind::out_of_memory;
    load.device = device;
    load.what = "weights";
    load.phase = "load";
    load.needed = a.peak.total(device, Component::weights) + s.context;
    load.available = {limit - bar, limit, limit + bar};
    load.engine_error = "torch.OutOfMemoryError: CUDA out of memory.";
    load.explanation = "the weights have to fit into what is free";
    a.requirements.push_back(load);
    Requirement run = load;
    run.kind = q.workload.given() ? Requirement::Kind::workload : Requirement::Kind::out_of_memory;
    run.what = "peak";
    run.phase = "serve";
    run.needed = peak;
    run.explanation = format_grouped(s.batch) +
                      (s.batch == 1 ? " sequence of " : " sequences of ") +
                      format_grouped(s.tokens) + " tokens have to fit beside the weights";
    a.requirements.push_back(std::move(run));
  }

  // Capacity: how many sequences, how long, until the fullest device is full.
  const auto fits = [&](int64_t batch, int64_t tokens) {
    Setup other = s;
    other.batch = batch;
    other.tokens = tokens;
    for (int64_t i = 0; i < devices; ++i) {
      const Bytes limit =
          q.hardware->is_cpu_only() ? q.hardware->ram : q.hardware->devices[size_t(i)].free();
      const StageRange range = stage_layers(int64_t(q.model->layers.size()), devices, i);
      std::vector<LayerCache> here;
      for (const LayerCache& c : caches) {
        if (c.layer >= range.first && c.layer < range.end) here.push_back(c);
      }
      const Cost cost = cost_of(*q.model, here, other, tokens);
      const Bytes fixed = share_of(q, s, devices, i).total() + s.context.likely;
      if (fixed + cost.cache + (s.static_cache ? Bytes() : cost.largest_layer) + cost.forward +
              cost.logits >
          limit)
        return false;
    }
    return true;
  };
  const auto largest = [](int64_t limit, const auto& holds) {
    int64_t low = 0, high = limit;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (holds(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  };
  const int64_t positions = std::max(s.tokens, q.model->max_positions);
  a.users = largest(4096, [&](int64_t n) { return fits(n, s.tokens); });
  a.longest_sequence = largest(positions, [&](int64_t n) { return fits(s.batch, n); });

  for (const LayerCache& c : caches) {
    if (c.is_growing()) a.kv.bytes_per_token += Bytes(c.token_bytes / c.tokens_per_entry);
  }
  const ByteRange rest = a.need.total(a.fullest_device);
  const Bytes limit = q.hardware->is_cpu_only()
                          ? q.hardware->ram
                          : q.hardware->devices[size_t(std::max(0, a.fullest_device))].free();
  const Bytes cache = a.need.total(a.fullest_device, Component::kv_cache).likely;
  a.kv.available = {limit - rest.high + cache, limit - rest.likely + cache,
                    limit - rest.low + cache};
  a.kv.max_sequence_tokens = a.longest_sequence;
  a.effective.set("batch_size", json::Value(s.batch));
  a.effective.set("max_length", json::Value(s.tokens));
  a.effective.set("dtype", json::Value(to_string(s.plain)));
  a.command = "AutoModelForCausalLM.from_pretrained(\"" + q.model->id + "\", dtype=\"" +
              std::string(to_string(s.plain)) + "\", device_map=\"auto\")";
  return a;
}

std::vector<LeverCandidate> changes(const Question& q) {
  std::vector<LeverCandidate> out;
  const auto add = [&](std::string id, int order, std::string change, std::string option,
                       std::string cost) -> LeverCandidate& {
    return add_lever(out, std::move(id), order, std::move(change), std::move(option),
                     std::move(cost));
  };
  const int64_t tokens = q.workload.sequence_tokens.count();
  if (tokens > 1024) {
    LeverCandidate& c =
        add("sequence_tokens", 30, "halve the length to " + format_grouped(tokens / 2) + " tokens",
            "max_length", "shorter prompts and answers");
    c.changes_workload = true;
    c.workload = q.workload;
    c.workload.sequence_tokens = Tokens(tokens / 2);
  }
  if (q.workload.concurrency.count() > 1) {
    LeverCandidate& c =
        add("concurrency", 20, "run one sequence at a time", "batch_size=1", "lower throughput");
    c.changes_workload = true;
    c.workload = q.workload;
    c.workload.concurrency = Sequences(1);
  }
  const double bits = weights::bits_per_weight(*q.model, *q.weights);
  if (bits > 12) {
    LeverCandidate& c = add("weights", 60, "load the weights in 8 bits", "load_in_8bit=True",
                            "slower, a small loss of quality");
    c.weights_format = "bnb-int8";
  }
  if (bits > 6) {
    LeverCandidate& c = add("weights", 61, "load the weights in 4 bits", "load_in_4bit=True",
                            "some loss of quality");
    c.weights_format = "bnb-nf4";
  }
  const auto devices = int(q.hardware->devices.size());
  if (devices > 0) {
    LeverCandidate& c =
        add("devices", 70, "spread the layers over " + std::to_string(devices * 2) + " GPUs",
            "device_map=\"auto\"", "more GPUs");
    c.devices = devices * 2;
  }
  return out;
}

class TransformersEngine final : public Engine {
 public:
  std::string_view name() const override { return "transformers"; }
  Result<Assessment> assess(const Question& question) const override {
    return assess_model(question);
  }
  std::vector<LeverCandidate> levers(const Question& question, const Assessment&) const override {
    return changes(question);
  }
  std::vector<std::string_view> weight_formats() const override {
    return {"bf16", "fp8", "bnb-int8", "awq", "gptq-int4", "bnb-nf4"};
  }
};

}  // namespace
}  // namespace transformers

const Engine& engine_transformers();
const Engine& engine_transformers() {
  static const transformers::TransformersEngine engine;
  return engine;
}

}  // namespace vramwise::engines
