// SGLang: weights and pools share a fraction of the memory that was free before loading.
#include "engines/engine.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "engines/config_changes.h"
#include "engines/device_support.h"
#include "engines/launch_command.h"
#include "engines/lever_list.h"
#include "engines/limits.h"
#include "engines/parallel.h"
#include "engines/sglang/pools.h"
#include "engines/unknown_options.h"

namespace vramwise::engines {
namespace sglang {
namespace {

constexpr std::string_view kBefore = "CUDA context and communication";
constexpr std::string_view kPools = "sglang model_executor/pool_configurator.py";

void add_rows(const Setup& s, const RankPlan& r, int device, int64_t need_tokens,
              int64_t need_requests, Assessment& a) {
  const auto row_at = [&](int where, Ledger& ledger, Component component, std::string_view item,
                          ByteRange bytes, Basis basis, std::string_view words,
                          std::vector<Operand> operands, std::string_view source) {
    LedgerRow l;
    l.device = where;
    l.component = component;
    l.item = std::string(item);
    l.bytes = bytes;
    l.basis = basis;
    l.formula = {words, std::move(operands)};
    l.source = source;
    ledger.add(std::move(l));
  };
  const auto row = [&](Ledger& ledger, Component component, std::string_view item, ByteRange bytes,
                       Basis basis, std::string_view words, std::vector<Operand> operands,
                       std::string_view source) {
    row_at(device, ledger, component, item, bytes, basis, words, std::move(operands), source);
  };
  // An estimated head has a bar of its own; that of the rest is shared out.
  const bool estimated = !r.drafter.is_exact();
  ByteRange rest = r.weights;
  if (estimated) {
    rest = {rest.low - r.drafter.low, rest.likely - r.drafter.likely, rest.high - r.drafter.high};
  }
  const double whole = std::max(1.0, double(rest.likely.count()));
  for (Ledger* ledger : {&a.reserve, &a.need, &a.peak}) {
    for (size_t i = 0; i < kWeightItems; ++i) {
      if (estimated && WeightItem(i) == WeightItem::drafter) {
        row(*ledger, Component::weights, to_string(WeightItem::drafter), r.drafter, Basis::modelled,
            "estimated from the shape of its target", {}, "sglang srt/models/llama_eagle3.py");
        continue;
      }
      const Bytes part = r.parts.bytes[i];
      const double share = double(part.count()) / whole;
      row(*ledger, Component::weights, to_string(WeightItem(i)),
          {part - Bytes(int64_t(double((rest.likely - rest.low).count()) * share)), part,
           part + Bytes(int64_t(double((rest.high - rest.likely).count()) * share))},
          r.weights_measured ? Basis::measured : Basis::derived,
          "this rank's share of the tensors, as loaded", {{"tp_size", double(s.tensor)}},
          "sglang layers");
    }
    const auto host_row = [&](Component component, std::string_view item, Bytes bytes,
                              std::string_view words, std::string_view source) {
      if (bytes.count() <= 0) return;
      row_at(kHost, *ledger, component, item, ByteRange::exactly(bytes), Basis::derived, words, {},
             source);
    };
    host_row(Component::weights, "offloaded weights", r.offloaded, "cpu_offload_gb",
             "sglang srt/utils/offloader.py");
    host_row(
        Component::kv_cache, "hierarchical cache", r.host_cache,
        s.host_cache.count() > 0 ? "hicache_size of this rank" : "hicache_ratio x the token pool",
        "sglang mem_cache/memory_pool_host.py");
    row(*ledger, Component::weights, "left behind by loading", r.leftovers, Basis::modelled,
        "SGLang prints it as weights: free memory before less free memory after", {},
        "public server logs");
    row(*ledger, Component::runtime, kBefore, r.before,
        r.before_measured ? Basis::measured : Basis::modelled, "gone before the weights are loaded",
        {}, "public server logs");
    if (r.system.high.count() > 0) {
      row(*ledger, Component::runtime, "the host's own programs", r.system, Basis::modelled,
          "unified memory that is not free at the start", {}, "public server logs");
    }
    row(*ledger, Component::runtime, "CUDA graphs", {r.graphs / 4, r.graphs, r.graphs * 2},
        Basis::modelled, "captured batch x bytes", {{"batch", double(s.graph_batch)}},
        "sglang server_args.py");
    row(*ledger, Component::runtime, "request table", ByteRange::exactly(r.request_table),
        Basis::derived, "requests x (context + drafted) x 4",
        {{"requests", double(r.max_running)}, {"context", double(s.context)}},
        "sglang mem_cache/memory_pool.py");
    row(*ledger, Component::activations, "prefill of one chunk",
        {r.activations / 2, r.activations, r.activations * 3 / 2}, Basis::modelled,
        "chunk tokens x bytes", {{"tokens", double(s.chunk)}}, "sglang server_args.py");
    if (ledger == &a.need) continue;
    row(*ledger, Component::kv_cache, "token pool", ByteRange::exactly(r.full_pool), Basis::derived,
        "(tokens + page) x bytes_per_token",
        {{"tokens", double(r.tokens)},
         {"page", double(s.page)},
         {"bytes_per_token", double(r.cells.real_full)}},
        kPools);
    row(*ledger, Component::kv_cache, "window pool", ByteRange::exactly(r.window_pool),
        Basis::derived, "(tokens x ratio + page) x bytes_per_token",
        {{"tokens", double(r.window_tokens)}, {"bytes_per_token", double(r.cells.window)}}, kPools);
    row(*ledger, Component::kv_cache, "state slots", ByteRange::exactly(r.state_pool),
        Basis::derived, "(slots + 1 + requests x drafted) x bytes_per_slot",
        {{"slots", double(r.state_slots)},
         {"requests x drafted", double(r.drafted_states)},
         {"bytes_per_slot", double(r.cells.state)}},
        kPools);
  }
  const int64_t window = std::min(need_tokens, r.cells.longest_window + s.chunk);
  const Bytes cache = (Bytes(r.cells.real_full) * need_tokens + Bytes(r.cells.window) * window +
                       Bytes(r.cells.state) * s.slots_per_request) *
                      need_requests;
  row(a.need, Component::kv_cache, "cache of the sequences", ByteRange::exactly(cache),
      Basis::derived, "requests x (tokens x bytes_per_token + windows + states)",
      {{"requests", double(need_requests)},
       {"tokens", double(need_tokens)},
       {"bytes_per_token", double(r.cells.real_full)}},
      kPools);
}

void refuse(const Question& q, const Setup& s, Assessment& a) {
  const auto have = int64_t(q.hardware->devices.size());
  if (have == 0) {
    a.refusals.push_back({"devices", "", "SGLang's memory budget is modelled for GPUs only"});
    return;
  }
  const int64_t wanted = s.cards();
  if (wanted > have) {
    a.refusals.push_back({"devices", "",
                          "the parallel sizes ask for " + format_integer(wanted) + " devices, " +
                              format_integer(have) + " are given"});
  }
  // sglang srt/configs/model_config.py, _derive_context_length.
  const int64_t derived = q.model->max_positions;
  if (derived > 0 && s.context > derived && !s.allow_long) {
    a.refusals.push_back(
        {"context_length",
         "Warning: User-specified context_length (" + format_integer(s.context) +
             ") is greater than the derived context_length (" + format_integer(derived) +
             "). This may lead to incorrect model outputs or CUDA errors. Note that the derived "
             "context_length may differ from max_position_embeddings in the model's config. To "
             "allow overriding this maximum, set the env var "
             "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
         "the model reads at most " + format_grouped(derived) + " tokens"});
  }
  const int64_t expert_ranks = std::max<int64_t>(1, s.tensor / std::max<int64_t>(1, s.expert));
  if (const BlockSplit split = split_expert_blocks(*q.model, *q.weights, expert_ranks);
      !split.divides) {
    a.refusals.push_back(
        {"tensor_parallel",
         "The output_size of gate's and up's weight = " + format_integer(split.width) +
             " is not divisible by weight quantization block_n = " + format_integer(split.block) +
             ".",
         "split over " + format_integer(expert_ranks) + " ranks, an expert is " +
             format_integer(split.width) + " wide, which are no whole FP8 blocks of " +
             format_integer(split.block) + "; --ep-size " + format_integer(s.tensor) +
             " keeps experts whole"});
  }
  for (const model::Layer& layer : q.model->layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      const auto* block = std::get_if<model::AttentionBlock>(&mixer);
      const auto* latent = std::get_if<model::LatentBlock>(&mixer);
      const int64_t heads = block    ? block->query_heads
                            : latent ? latent->query_heads
                                     : s.attention_ranks;
      if (heads % s.attention_ranks != 0) {
        a.refusals.push_back({"tensor_parallel", "",
                              format_integer(heads) + " attention heads cannot be split over " +
                                  format_integer(s.attention_ranks) + " ranks"});
        return;
      }
    }
  }
}

// Requests at a time of each data rank: every one has a pool and a scheduler of its own, whether it
// is a replica or a part of data-parallel attention.
int64_t requests_of_rank(const Question& q, const Setup& s) {
  return ceil_div(std::max<int64_t>(1, q.workload.concurrency.count()), s.data);
}

void require(const Question& q, const Setup& s, const RankPlan& r, int device, Assessment& a) {
  Requirement load;
  load.kind = Requirement::Kind::out_of_memory;
  load.device = device;
  load.what = "weights";
  load.phase = "load";
  load.needed = r.weights;
  load.available = r.free_before;
  load.engine_error = "torch.OutOfMemoryError: CUDA out of memory.";
  load.explanation = "the weights have to fit into what is free on the card";
  a.requirements.push_back(load);

  Requirement pool;
  pool.device = device;
  pool.what = "kv_cache";
  pool.phase = "sizing";
  const int64_t cell = std::max<int64_t>(1, r.cells.full + r.cells.window);
  pool.needed = ByteRange::exactly(Bytes(cell * s.page));
  pool.available = r.budget;
  const double least = 1 - double(r.free_after.likely.count()) /
                               double(std::max<int64_t>(1, r.free_before.likely.count()));
  pool.engine_error =
      "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=" +
      format_fixed(r.fraction, 3) + ". Raise --mem-fraction-static above " +
      format_fixed(least, 3) + " (minimum viable = 1 - available/pre = " + format_fixed(least, 4) +
      ").";
  pool.explanation = "the fraction must hold the weights and at least one page of cache";
  a.requirements.push_back(pool);

  Requirement outside;
  outside.kind = Requirement::Kind::out_of_memory;
  outside.device = device;
  outside.what = "cuda_graphs";
  outside.phase = "capture";
  outside.needed = {r.graphs / 4, r.graphs / 2, r.graphs};
  outside.available = ByteRange::exactly(r.outside - std::min(r.outside, r.request_table));
  outside.engine_error = "Capture CUDA graph failed: CUDA out of memory.";
  outside.explanation = "graphs and activations live outside of the fraction";
  if (s.graph_batch > 0) a.requirements.push_back(outside);

  // Nothing is checked at the start, the first long prompt finds out. SGLang's own heuristic for
  // what lives outside of the fraction is on the safe side, so beyond it nothing is ruled out.
  Requirement prefill;
  prefill.kind = Requirement::Kind::workload;
  prefill.device = device;
  prefill.what = "activations";
  prefill.phase = "serve";
  const Bytes graphs = s.graph_batch > 0 ? r.graphs : Bytes();
  prefill.needed = {graphs / 4, graphs + r.activations, graphs + r.activations};
  prefill.available = outside.available;
  prefill.explanation =
      "graphs and the first long prompt have to fit into what the fraction leaves free";
  a.requirements.push_back(prefill);

  if (!q.workload.given()) return;
  const int64_t requests = requests_of_rank(q, s);
  const int64_t tokens = std::max<int64_t>(
      1, q.workload.sequence_tokens.count() > 0 ? q.workload.sequence_tokens.count() : s.context);
  Requirement serve;
  serve.kind = Requirement::Kind::workload;
  serve.device = device;
  serve.what = "kv_cache";
  serve.phase = "serve";
  serve.unit = "tokens";
  serve.needed = ByteRange::exactly(Bytes(saturating_multiply(tokens, requests)));
  serve.available = {Bytes(r.tokens_low), Bytes(r.tokens), Bytes(r.tokens_high)};
  serve.explanation = "the sequences have to fit into the token pool together";
  require_limit(a.requirements, device, "context_length", "tokens", tokens, s.context,
                "sequences are longer than context_length allows");
  a.requirements.push_back(serve);
  // The option is shared out over the ranks of data-parallel attention.
  require_limit(a.requirements, device, "max_running_requests", "count",
                requests * s.attention_data(), r.max_running,
                "more sequences at a time than SGLang runs");
}

// Of one request: what the launch line allows; without a say there, what the model reads.
int64_t longest_context(const Question& q, const Setup& s) {
  const int64_t reads = q.model->max_positions;
  const int64_t allowed = s.context_given ? s.context : std::max(s.context, reads);
  return reads > 0 && !s.allow_long ? std::min(allowed, reads) : allowed;
}

Result<Assessment> assess_sglang(const Question& q) {
  Assessment a;
  TRY_ASSIGN(const Setup s, read_setup(q, a.notes));
  TRY_ASSIGN(DeviceSupport support, device_support("sglang", q, s.online ? &*s.online : nullptr));
  a.refusals = std::move(support.refusals);
  refuse(q, s, a);
  if (q.hardware->devices.empty()) return a;
  const auto count = int(std::min<int64_t>(s.cards(), int64_t(q.hardware->devices.size())));
  const int64_t tokens =
      q.workload.sequence_tokens.count() > 0 ? q.workload.sequence_tokens.count() : s.context;
  const int64_t requests = requests_of_rank(q, s);
  RankPlan full;
  for (int i = 0; i < count; ++i) {
    Notes same;  // every rank's drafter is the first one's
    const RankPlan r = plan_rank(q, s, q.hardware->devices[size_t(i)], i == 0 ? a.notes : same);
    add_rows(s, r, i, tokens, requests, a);
    if (i == 0 || r.budget.likely < full.budget.likely) {
      full = r;
      a.fullest_device = i;
    }
  }
  // The smallest pool of all ranks counts for every one.
  require(q, s, full, a.fullest_device, a);
  a.requirements.insert(a.requirements.begin(), support.doubts.begin(), support.doubts.end());
  a.kv.bytes_per_token = Bytes(full.cells.full);
  a.kv.available = full.budget;
  a.kv.pool_tokens = full.tokens;
  a.kv.blocks = full.tokens / s.page;
  a.kv.block_tokens = s.page;
  // Requests beyond the context length are refused, whatever the pool holds.
  a.kv.max_sequence_tokens = s.context > 0 ? std::min(full.tokens, s.context) : full.tokens;
  if (s.context > 0) a.kv.max_concurrency = double(full.tokens) / double(s.context);
  const int64_t running = full.max_running / s.attention_data();
  a.users = std::min(running, full.tokens / std::max<int64_t>(1, tokens)) * s.data;
  a.longest_sequence = std::min(full.tokens / requests, longest_context(q, s));
  a.check = LogCheck{"max_total_num_tokens", full.tokens, saturating_multiply(tokens, requests),
                     "tokens"};
  // The target's line first, then that of what drafts: a model of its own or prediction layers.
  const Bytes drafts = full.parts.of(WeightItem::drafter) + full.parts.of(WeightItem::mtp);
  a.log.push_back(
      {"Load weight end. mem usage", double((full.weights.likely - drafts).count()), "bytes"});
  if (drafts.count() > 0) {
    a.log.push_back({"Load weight end. mem usage (drafter)", double(drafts.count()), "bytes"});
  }
  a.log.push_back({"KV Cache is allocated. #tokens", double(full.tokens), "tokens"});
  if (full.window_tokens > 0)
    a.log.push_back({"swa_layer_tokens", double(full.window_tokens), "tokens"});
  if (full.state_slots > 0)
    a.log.push_back({"max_mamba_cache_size", double(full.state_slots), "count"});
  const Bytes left = full.free_after.likely - full.full_pool - full.window_pool - full.state_pool -
                     full.request_table;
  a.log.push_back({"Memory pool end. avail mem", double(left.count()), "bytes"});
  a.log.push_back({"max_total_num_tokens", double(full.tokens), "tokens"});
  a.log.push_back({"max_running_requests", double(running), "count"});
  a.effective.set("tp_size", json::Value(s.tensor));
  a.effective.set("mem_fraction_static", json::Value(full.fraction));
  a.effective.set("context_length", json::Value(s.context));
  a.effective.set("chunked_prefill_size", json::Value(s.chunk));
  a.effective.set("kv_cache_dtype", json::Value(s.cache_dtype));
  a.effective.set("page_size", json::Value(s.page));
  a.effective.set("cuda_graph_max_bs_decode", json::Value(s.graph_batch));
  a.effective.set("disable_radix_cache", json::Value(!s.radix_cache));
  if (full.window_tokens > 0) {
    a.effective.set("swa_full_tokens_ratio", json::Value(s.window_ratio));
  }
  if (full.state_slots > 0) {
    a.effective.set("mamba_full_memory_ratio", json::Value(s.state_ratio));
  }
  a.effective.set("max_running_requests", json::Value(full.max_running));
  a.deciders["context_length"] = s.context_from_workload ? "workload" : "model";
  if (s.tensor_assumed) a.deciders["tp_size"] = "cards";
  for (const char* name : {"mem_fraction_static", "chunked_prefill_size",
                           "cuda_graph_max_bs_decode", "max_running_requests"}) {
    a.deciders[name] = "cards";
  }
  a.deciders["kv_cache_dtype"] = "model";
  if (s.data > 1) a.effective.set("dp_size", json::Value(s.data));
  Options line = known_options(q.settings.options, "sglang");
  if (s.tensor_assumed) line.set("tp_size", json::Value(s.tensor));
  if (s.context_from_workload) line.set("context_length", json::Value(s.context));
  if (q.draft.given() && !line.has("speculative_draft_model_path")) {
    if (!line.has("speculative_algorithm")) {
      line.set("speculative_algorithm", json::Value("STANDALONE"));
    }
    line.set("speculative_draft_model_path", json::Value(q.draft.model->id));
  }
  Options whole;
  whole.set("model_path", json::Value(q.model->id));
  // SGLang's parser knows no dotted flags.
  const Options folded = with_objects(line);
  for (const json::Member& m : folded.entries()) whole.set(m.key, m.value);
  a.command = launch_command("python -m sglang.launch_server", "", whole, q.settings.env,
                             SwitchStyle::present);
  return a;
}

// The next usual fraction that leaves something for the cache, else the largest; 0: none is larger.
double larger_fraction(const Assessment& a, double now) {
  double free_before = 0, budget = 0;
  for (const Requirement& r : a.requirements) {
    if (r.phase == "load") free_before = double(r.available.likely.count());
    if (r.phase == "sizing") budget = double((r.available.likely - r.needed.likely).count());
  }
  double larger = 0;
  for (const double f : {0.85, 0.9, 0.93, 0.95}) {
    if (f <= now + 0.01) continue;
    larger = f;
    if (budget + (f - now) * free_before > 0) break;
  }
  return larger;
}

std::vector<LeverCandidate> changes(const Question& q, const Assessment& a) {
  std::vector<LeverCandidate> out;
  Notes notes;
  const auto s = read_setup(q, notes);
  if (!s || q.hardware->devices.empty()) return out;
  const auto add = [&](std::string id, int order, std::string change, std::string option,
                       std::string cost, std::string_view name, json::Value value) {
    add_lever(out, std::move(id), order, std::move(change), std::move(option), std::move(cost))
        .options = {{std::string(name), std::move(value)}};
  };
  static constexpr LimitOption kLimits[] = {
      {"context_length", "context_length", "--context-length "},
      {"max_running_requests", "max_running_requests", "--max-running-requests "}};
  if (auto raised = raised_limits(a, kLimits)) out.push_back(std::move(*raised));
  const json::Value* fraction = a.effective.find("mem_fraction_static");
  const double now = fraction == nullptr ? 0 : fraction->as_double();
  if (const double f = larger_fraction(a, now); f > 0) {
    add("mem_fraction_static", 10,
        "give weights and cache " + format_fixed(f * 100, 0) + " % of the free memory",
        "--mem-fraction-static " + format_number(f), "less room for activations and graphs",
        "mem_fraction_static", json::Value(f));
  }
  if (s->window_ratio > 0.2 && a.effective.has("swa_full_tokens_ratio")) {
    add("swa_full_tokens_ratio", 15, "keep a smaller pool for the sliding windows",
        "--swa-full-tokens-ratio 0.1", "fewer concurrent requests", "swa_full_tokens_ratio",
        json::Value(0.1));
  }
  if (s->tensor > 1 && s->expert == 1 && fewest_experts(*q.model) >= s->tensor) {
    add("ep_size", 15, "share whole experts out over the ranks",
        "--ep-size " + format_integer(s->tensor), "ranks with busier experts make the others wait",
        "ep_size", json::Value(s->tensor));
  }
  if (s->element.numerator >= 2 * s->element.denominator) {
    add("kv_cache_dtype", 30, "store the cache in fp8", "--kv-cache-dtype fp8_e4m3",
        "a small risk for accuracy", "kv_cache_dtype", json::Value("fp8_e4m3"));
  }
  if (s->chunk > 2048) {
    add("chunked_prefill_size", 25, "read prompts in chunks of 2,048 tokens",
        "--chunked-prefill-size 2048", "slower prompt processing", "chunked_prefill_size",
        json::Value(2048));
  }
  if (s->graph_batch > 16) {
    add("cuda_graph_max_bs_decode", 20, "capture graphs up to 16 sequences",
        "--cuda-graph-max-bs 16", "slower decoding of larger batches", "cuda_graph_max_bs_decode",
        json::Value(16));
  }
  const double bits = weights::bits_per_weight(*q.model, *q.weights);
  if (bits > 12) add_format_lever(out, 60, "use weights in fp8", "fp8");
  if (bits > 6) add_format_lever(out, 62, "use weights in 4 bits (AWQ)", "awq");
  if (s->tensor <= 8) {
    const bool replicas = s->data > 1 && !s->data_attention;
    LeverCandidate& more =
        add_lever(out, "tp_size", 70,
                  std::string("split ") + (replicas ? "each replica" : "the model") + " over " +
                      std::to_string(s->tensor * 2) + " GPUs",
                  "--tp-size " + std::to_string(s->tensor * 2), "more GPUs");
    more.options = {{"tp_size", json::Value(s->tensor * 2)}};
    more.devices = int(s->cards() * 2);
  }
  return out;
}

class SglangEngine final : public Engine {
 public:
  std::string_view name() const override { return "sglang"; }
  Result<Assessment> assess(const Question& question) const override {
    return assess_sglang(question);
  }
  std::vector<LeverCandidate> levers(const Question& question,
                                     const Assessment& assessment) const override {
    return changes(question, assessment);
  }
  Result<json::Value> config_changes(const Options& options) const override {
    constexpr std::array<std::string_view, 1> kWhole = {"json_model_override_args"};
    return engines::config_changes(options, kWhole);
  }
  std::vector<Layout> layouts(const Question& question, int devices) const override {
    static constexpr std::string_view kOthers[] = {"pp_size", "dp_size", "enable_dp_attention"};
    return tensor_layouts(question, devices, "tp_size", "ep_size", kOthers);
  }
  int64_t devices_asked(const Options& options) const override {
    // Replicas have cards of their own, unless they are attention's alone.
    constexpr std::array<std::string_view, 3> kSizes = {"tp_size", "pp_size", "dp_size"};
    const auto attention = options.boolean("enable_dp_attention");
    const bool shared = attention && attention->value_or(false);
    return cards_asked(options, std::span(kSizes).first(shared ? 2 : 3));
  }
  bool runs_on(const catalog::Gpu& gpu) const override { return supports("sglang", gpu); }
  std::string draft_named(const Settings& settings) const override {
    return sglang::draft_named(settings.options);
  }
  std::vector<std::string_view> weight_formats() const override {
    return {"bf16", "fp8", "int8", "nvfp4", "mxfp4", "awq", "gptq-int4"};
  }
};

}  // namespace
}  // namespace sglang

const Engine& engine_sglang();
const Engine& engine_sglang() {
  static const sglang::SglangEngine engine;
  return engine;
}

}  // namespace vramwise::engines
