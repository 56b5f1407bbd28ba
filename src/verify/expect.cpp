#include "verify/expect.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engines/rank_weights.h"

namespace vramwise::verify {
namespace {

using engines::Assessment;

// A predicted line (its name, or how it begins or ends) and the field it is read back as.
struct LineRule {
  std::string_view engine;
  enum class At { whole, begin, end } at;
  std::string_view words;
  std::string_view field;
  Component component;
  Ranks ranks;
};
using A = LineRule::At;
using C = Component;

constexpr std::array kLines = {
    LineRule{"vllm", A::whole, "Model loading took", "weights", C::weights, Ranks::largest},
    LineRule{"vllm", A::whole, "Available KV cache memory", "available", C::kv_cache,
             Ranks::smallest},
    LineRule{"vllm", A::whole, "the rest of the memory reserved for KV Cache is", "available",
             C::kv_cache, Ranks::smallest},
    LineRule{"vllm", A::whole, "PyTorch activation peak memory takes", "activation", C::activations,
             Ranks::largest},
    LineRule{"vllm", A::whole, "non_torch_memory takes", "non_torch", C::non_torch, Ranks::largest},
    LineRule{"vllm", A::whole, "Estimated CUDA graph memory", "graphs_estimated", C::graphs,
             Ranks::largest},
    LineRule{"vllm", A::whole, "GPU KV cache size", "pool_tokens", C::groups, Ranks::smallest},
    LineRule{"vllm", A::whole, "# GPU blocks", "blocks", C::groups, Ranks::smallest},
    LineRule{"vllm", A::begin, "Maximum concurrency for", "concurrency", C::groups,
             Ranks::smallest},
    LineRule{"vllm", A::whole, "Setting attention block size to", "block_tokens", C::groups,
             Ranks::smallest},
    LineRule{"vllm", A::whole, "Padding mamba page size by", "state_padding_percent", C::groups,
             Ranks::smallest},
    LineRule{"vllm", A::whole, "padding layers, may waste at most", "padding_percent", C::groups,
             Ranks::smallest},
    LineRule{"vllm", A::whole, "Graph capturing finished, took", "graphs", C::graphs,
             Ranks::largest},
    LineRule{"sglang", A::whole, "Load weight end. mem usage", "weights", C::weights,
             Ranks::largest},
    LineRule{"sglang", A::whole, "Load weight end. mem usage (drafter)", "drafter_weights",
             C::weights, Ranks::largest},
    LineRule{"sglang", A::whole, "KV Cache is allocated. #tokens", "pool_tokens", C::groups,
             Ranks::smallest},
    LineRule{"sglang", A::whole, "swa_layer_tokens", "swa_layer_tokens", C::groups,
             Ranks::smallest},
    LineRule{"sglang", A::whole, "max_mamba_cache_size", "state_slots", C::groups, Ranks::smallest},
    LineRule{"sglang", A::whole, "Memory pool end. avail mem", "after_pool", C::other_processes,
             Ranks::smallest},
    LineRule{"sglang", A::whole, "max_total_num_tokens", "max_total_tokens", C::groups,
             Ranks::smallest},
    LineRule{"sglang", A::whole, "max_running_requests", "max_running_requests", C::settings,
             Ranks::smallest},
    LineRule{"trtllm", A::begin, "Memory used after loading model weights", "weights", C::weights,
             Ranks::largest},
    LineRule{"trtllm", A::begin, "Peak memory during memory usage profiling", "peak",
             C::activations, Ranks::largest},
    LineRule{"trtllm", A::begin, "available KV cache memory when", "available", C::kv_cache,
             Ranks::smallest},
    // The pool of the trial run is printed first.
    LineRule{"trtllm", A::begin, "Allocated for max tokens", "pool_tokens", C::groups,
             Ranks::latest},
    LineRule{"ollama", A::whole, "gpu memory: available", "gpu_available", C::other_processes,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "gpu memory: minimum", "gpu_minimum", C::settings,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "layers.model", "layers_total", C::settings, Ranks::smallest},
    LineRule{"ollama", A::whole, "layers.offload", "layers_offloaded", C::settings,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "memory.required.full", "estimate_full", C::settings,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "memory.required.partial", "estimate_partial", C::settings,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "memory.required.kv", "estimate_cache", C::kv_cache,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "memory.graph.full", "estimate_graph", C::activations,
             Ranks::smallest},
    LineRule{"ollama", A::whole, "memory.graph.partial", "estimate_graph_partial", C::activations,
             Ranks::smallest},
    LineRule{"", A::end, " model buffer size", "model_buffer", C::weights, Ranks::sum},
    LineRule{"", A::end, " KV buffer size", "kv_buffer", C::kv_cache, Ranks::sum},
    LineRule{"", A::end, " RS buffer size", "rs_buffer", C::kv_cache, Ranks::sum},
    LineRule{"", A::end, " compute buffer size", "compute_buffer", C::activations, Ranks::largest},
    LineRule{"", A::end, " output buffer size", "output_buffer", C::activations, Ranks::largest},
    LineRule{"", A::whole, "n_ctx", "n_ctx", C::settings, Ranks::smallest},
    LineRule{"", A::whole, "n_ctx_seq", "n_ctx_seq", C::settings, Ranks::smallest},
    LineRule{"", A::whole, "n_batch", "n_batch", C::settings, Ranks::smallest},
    LineRule{"", A::whole, "n_ubatch", "n_ubatch", C::settings, Ranks::smallest},
    LineRule{"", A::whole, "n_seq_max", "n_seq_max", C::settings, Ranks::smallest},
    LineRule{"", A::whole, "graph nodes", "graph_nodes", C::settings, Ranks::smallest},
    LineRule{"", A::whole, "graph splits", "graph_splits", C::settings, Ranks::smallest},
};

// Terms that no line shows but that verbose logs name: rows of the ledger.
struct TermRule {
  std::string_view engine;
  engines::Component component;
  std::string_view item;  // empty: the whole component
  std::string_view field;
  std::string_view line;
  Component part;
};
// What logs print as one figure outside of torch.
constexpr std::string_view kOutside = "kernels and libraries";
constexpr std::array<std::string_view, 3> kBuffers = {"all-reduce buffers", "sampler counters",
                                                      "left by the first compilation"};
constexpr std::array kTerms = {
    TermRule{"vllm", engines::Component::activations, "", "activation", "peak activation memory",
             C::activations},
    TermRule{"vllm", engines::Component::runtime, kOutside, "non_torch", "non-torch memory",
             C::non_torch},
};

bool matches(const LineRule& rule, std::string_view engine, std::string_view line) {
  if (!rule.engine.empty() && rule.engine != engine) return false;
  switch (rule.at) {
    case A::whole: return line == rule.words;
    case A::begin: return starts_with(line, rule.words);
    case A::end: return ends_with(line, rule.words);
  }
  return false;
}

bool known(const std::vector<Expected>& list, std::string_view field) {
  return std::any_of(list.begin(), list.end(), [&](const Expected& e) { return e.field == field; });
}

void set_range(Expected& e, const ByteRange& range) {
  // The predicted value itself stays; only the bar is taken over.
  e.low = std::min(e.likely, double(range.low.count()));
  e.high = std::max(e.likely, double(range.high.count()));
}

ByteRange sum_of(const Assessment& a, const engines::Ledger& ledger, engines::Component component,
                 std::string_view item) {
  ByteRange sum;
  for (const engines::LedgerRow& row : ledger.rows) {
    if (row.device != a.fullest_device || row.component != component) continue;
    const bool buffer = std::find(kBuffers.begin(), kBuffers.end(), row.item) != kBuffers.end();
    if (item.empty() || row.item == item || (item == kOutside && buffer)) {
      sum += row.bytes;
    }
  }
  return sum;
}

// What is loaded after the target: a drafter, or the model's own prediction layers.
ByteRange drafter_rows(const Assessment& a) {
  ByteRange sum;
  for (const engines::WeightItem item : {engines::WeightItem::drafter, engines::WeightItem::mtp}) {
    sum += sum_of(a, a.reserve, engines::Component::weights, engines::to_string(item));
  }
  return sum;
}

// From 0.24 on vLLM prints weights and memory outside of torch as one sum, "consumed". Workspaces
// that stay were seen in it (Triton experts, LukeJYK/AutoScientists) and in the peak (Marlin): the
// bars of both lines hold either. Source: vllm v1/worker/gpu_worker.py.
void share_what_stays(const plan::Plan& plan, std::vector<Expected>& list) {
  const engines::Version& v = plan.resolved.settings.version;
  if (plan.resolved.engine->name() != "vllm") return;
  if (v.given && !v.unnumbered && v.major == 0 && v.minor < 24) return;
  const Assessment& a = plan.assessment;
  Bytes stays;
  for (const std::string_view item : {"expert workspace", "indexer buffers"}) {
    stays += sum_of(a, a.reserve, engines::Component::activations, item).likely;
  }
  for (Expected& e : list) {
    if (e.field == "activation") e.low -= double(stays.count());
    if (e.field == "non_torch") e.high += double(stays.count());
  }
}

// Bars come from the ledger and the cache's range.
void add_bars(const Assessment& a, std::vector<Expected>& list) {
  const int64_t available = a.kv.available.likely.count();
  for (Expected& e : list) {
    if (e.field == "available") set_range(e, a.kv.available);
    if (e.field == "weights") {
      ByteRange loaded = a.reserve.total(a.fullest_device, engines::Component::weights);
      // A drafter has a line of its own.
      if (known(list, "drafter_weights")) {
        const ByteRange drafter = drafter_rows(a);
        loaded = {loaded.low - drafter.low, loaded.likely - drafter.likely,
                  loaded.high - drafter.high};
      }
      set_range(e, loaded);
    }
    if (e.field == "drafter_weights") {
      set_range(e, drafter_rows(a));
    }
    if (e.field == "activation") {
      set_range(e, a.reserve.total(a.fullest_device, engines::Component::activations));
    }
    if (e.field == "non_torch") {
      set_range(e, sum_of(a, a.reserve, engines::Component::runtime, kOutside));
    }
    if (e.field == "graphs_estimated") {
      set_range(e, sum_of(a, a.reserve, engines::Component::runtime, "CUDA graphs (estimate)"));
    }
    if (e.field == "graphs") {
      ByteRange taken = sum_of(a, a.need, engines::Component::runtime, "CUDA graphs");
      // Printed is a difference of free memory: what capturing gave back is taken off, and may have
      // been twice that.
      const double freed = double(taken.likely.count()) - e.likely;
      taken.low -= Bytes(int64_t(2 * freed));
      set_range(e, taken);
    }
    // What the pool holds follows the memory it gets.
    const bool follows = e.field == "pool_tokens" || e.field == "blocks" ||
                         e.field == "concurrency" || e.field == "max_total_tokens" ||
                         e.field == "swa_layer_tokens";
    if (follows && available > 0) {
      e.low = e.likely * std::max(0.0, double(a.kv.available.low.count()) / double(available));
      e.high = e.likely * double(a.kv.available.high.count()) / double(available);
    }
    if (e.field == "after_pool" || e.field == "peak") {
      const Bytes bar = a.kv.available.high - a.kv.available.likely;
      e.low = e.likely - double(bar.count());
      e.high = e.likely + double(bar.count());
    }
  }
}

}  // namespace

std::string_view to_string(Component component) {
  switch (component) {
    case C::weights: return "weights";
    case C::activations: return "activations";
    case C::non_torch: return "non_torch";
    case C::graphs: return "graphs";
    case C::groups: return "groups";
    case C::kv_cache: return "kv_cache";
    case C::other_processes: return "other_processes";
    case C::log_arithmetic: return "log_arithmetic";
    case C::settings: return "settings";
  }
  return "";
}

std::string_view words_of(Component component) {
  switch (component) {
    case C::weights: return "the weights";
    case C::activations: return "the activations' peak";
    case C::non_torch: return "memory outside of torch";
    case C::graphs: return "CUDA graphs";
    case C::groups: return "how the cache is laid out (bytes of a token, groups of layers)";
    case C::kv_cache: return "the cache";
    case C::other_processes: return "other processes on the card";
    case C::log_arithmetic: return "the log's own arithmetic";
    case C::settings: return "the settings";
  }
  return "";
}

std::vector<Expected> expectations(const plan::Plan& plan) {
  const Assessment& a = plan.assessment;
  const std::string_view engine = plan.resolved.engine->name();
  std::vector<Expected> list;
  for (const engines::LogLine& line : a.log) {
    for (const LineRule& rule : kLines) {
      if (!matches(rule, engine, line.line)) continue;
      Expected e;
      e.field = std::string(rule.field);
      e.line = line.line;
      if (rule.at == A::end) {
        e.device = std::string(
            trim(std::string_view(line.line).substr(0, line.line.size() - rule.words.size())));
      }
      e.component = rule.component;
      e.low = e.likely = e.high = line.value;
      e.unit = line.unit == "bytes" ? Unit::bytes : Unit::none;
      e.ranks = rule.ranks;
      list.push_back(std::move(e));
      break;
    }
  }
  for (const TermRule& rule : kTerms) {
    if (rule.engine != engine || known(list, rule.field)) continue;
    const ByteRange range = sum_of(a, a.reserve, rule.component, rule.item);
    Expected e;
    e.field = std::string(rule.field);
    e.line = std::string(rule.line);
    e.component = rule.part;
    e.low = double(range.low.count());
    e.likely = double(range.likely.count());
    e.high = double(range.high.count());
    e.unit = Unit::bytes;
    e.ranks = Ranks::largest;
    list.push_back(std::move(e));
  }
  add_bars(a, list);
  share_what_stays(plan, list);
  return list;
}

std::string_view cache_bytes_option(std::string_view engine) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kOptions = {
      {{"vllm", "kv_cache_memory_bytes"}}};
  for (const auto& [name, option] : kOptions) {
    if (name == engine) return option;
  }
  return {};
}

std::optional<Logged> logged(const Log& log, const Expected& expected) {
  std::vector<const Reading*> found;
  for (const Reading* r : log.all(expected.field)) {
    if (!r->number) continue;
    // A file mapped into memory appears under a name of its own beside the device's.
    const bool same = r->device == expected.device || (expected.field == "model_buffer" &&
                                                       r->device == expected.device + "_Mapped");
    if (same) found.push_back(r);
  }
  if (found.empty()) return std::nullopt;
  Logged out;
  out.value = found.front()->last;
  if (expected.ranks == Ranks::sum) out.value = 0;
  for (const Reading* r : found) {
    switch (expected.ranks) {
      // Ranks without a name of their own print one line each: their extremes count.
      case Ranks::smallest: out.value = std::min(out.value, r->smallest); break;
      case Ranks::latest: out.value = std::min(out.value, r->last); break;
      case Ranks::largest: out.value = std::max(out.value, r->last); break;
      case Ranks::sum: out.value += r->sum; break;
    }
    out.rounding =
        std::max(out.rounding, r->rounding * double(expected.ranks == Ranks::sum ? r->count : 1));
    out.line = r->line;
  }
  out.ranks = std::move(found);
  return out;
}

}  // namespace vramwise::verify
