#include "verify/post_mortem.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/sort.h"
#include "base/text.h"
#include "plan/verdict.h"
#include "verify/expect.h"

namespace vramwise::verify {
namespace {

std::string gib(double bytes) { return format_bytes(Bytes(int64_t(bytes))); }

// What only follows from another death.
bool is_consequence(std::string_view id) { return id == "load_failed" || id == "runner_died"; }

// The first one that is no consequence; among the same death's lines, the one with most numbers.
const Failure* root_of(const Log& log) {
  const Failure* first = nullptr;
  for (const Failure& f : log.failures) {
    if (is_consequence(f.id)) continue;
    if (first == nullptr) {
      first = &f;
      continue;
    }
    const bool same = f.id == first->id && f.captures.size() > first->captures.size() &&
                      f.line - first->line < 200;
    if (same) first = &f;
  }
  if (first == nullptr && !log.failures.empty()) first = &log.failures.front();
  return first;
}

// llama.cpp says the allocation first and what it was for a few lines later.
Phase phase_of(const Log& log, const Failure& root) {
  if (root.phase == Phase::start || contains(root.id, "out_of_memory") ||
      root.id == "allocation_limit") {
    for (const Failure& f : log.failures) {
      const bool near = f.line >= root.line && f.line - root.line < 12 && f.engine == root.engine;
      const bool tells = f.id == "load_failed" ||
                         starts_with(f.text, "failed to allocate compute") ||
                         starts_with(f.text, "failed to allocate buffer for kv");
      if (near && tells && !root.engine.empty()) return f.phase;
    }
  }
  return root.phase;
}

struct Knob {
  std::string_view engine;
  Cause cause;
  std::string_view
      phases;  // letters: s start, l load, p profile, z sizing, c capture, w warm-up, r run
  std::string_view knob, direction, text;
};
constexpr std::string_view kPhaseLetters = "slpzcwr";

using C = Cause;
// Which knob moves which way. Sources: docs/engines/*.md; vllm v1/worker/gpu_worker.py; sglang
// server_args.py and its hyperparameter guide; llama.cpp common/arg.cpp.
constexpr std::array kKnobs = {
    // vLLM: the share bounds weights, activations and cache together; graphs and warm-up come
    // after.
    Knob{"vllm", C::cache, "slpzcwr", "gpu_memory_utilization", "raise",
         "the cache gets what the share leaves: a larger share gives it more"},
    Knob{"vllm", C::cache, "slpzcwr", "max_model_len", "lower",
         "one request of the maximum length has to fit"},
    Knob{"vllm", C::cache, "slpzcwr", "kv_cache_dtype", "set", "fp8 halves the cache of a token"},
    Knob{"vllm", C::share_not_free, "slpzcwr", "gpu_memory_utilization", "lower",
         "the share has to be free when the server starts; or free the card of other processes"},
    Knob{"vllm", C::state_slots, "slpzcwr", "max_num_seqs", "lower",
         "every running sequence needs a block for its state"},
    Knob{"vllm", C::device_memory, "sl", "tensor_parallel_size", "raise",
         "weights that do not fit while loading are no matter of the share: more cards, or weights "
         "of fewer bits"},
    Knob{"vllm", C::device_memory, "pz", "max_num_batched_tokens", "lower",
         "the profile run's peak follows the batch; the share does not bound it"},
    Knob{"vllm", C::device_memory, "pzw", "max_num_seqs", "lower",
         "the sampler's warm-up takes the logits of all sequences at once"},
    Knob{"vllm", C::device_memory, "cw", "gpu_memory_utilization", "lower",
         "the cache has taken its share already: graphs and warm-up need room outside of it"},
    Knob{"vllm", C::device_memory, "c", "enforce_eager", "set",
         "no graphs, or fewer by max_cudagraph_capture_size"},
    Knob{"vllm", C::device_memory, "r", "gpu_memory_utilization", "lower",
         "what the profile did not see needs room outside of the share"},
    Knob{"vllm", C::device_memory, "r", "max_num_batched_tokens", "lower",
         "smaller batches have smaller peaks"},
    // SGLang: the fraction bounds weights and pools only.
    Knob{"sglang", C::cache, "slpzcwr", "mem_fraction_static", "raise",
         "weights and pools have to fit into the fraction: it is too low, not too high"},
    Knob{"sglang", C::device_memory, "sl", "tp_size", "raise",
         "weights that do not fit while loading are no matter of the fraction"},
    Knob{"sglang", C::device_memory, "pzcwr", "mem_fraction_static", "lower",
         "graphs and activations live outside of the fraction: leave them more"},
    Knob{"sglang", C::device_memory, "cw", "cuda_graph_max_bs", "lower",
         "fewer and smaller graphs"},
    Knob{"sglang", C::device_memory, "r", "chunked_prefill_size", "lower",
         "the peak of a long prompt follows the chunk"},
    Knob{"sglang", C::request, "slpzcwr", "mem_fraction_static", "raise",
         "the pool bounds the longest request"},
    Knob{"trtllm", C::cache, "slpzcwr", "free_gpu_memory_fraction", "raise",
         "the cache gets this fraction of what is free after loading"},
    Knob{"trtllm", C::device_memory, "sl", "tensor_parallel_size", "raise",
         "the weights do not fit on the cards"},
    Knob{"trtllm", C::device_memory, "pzcwr", "free_gpu_memory_fraction", "lower",
         "the cache takes its fraction of everything free: leave room for what comes after"},
    Knob{"trtllm", C::device_memory, "pzcwr", "max_batch_size", "lower",
         "decoder and runtime buffers grow with it"},
    Knob{"llama.cpp", C::device_memory, "sl", "n_gpu_layers", "lower",
         "fewer layers on the card; or experts on the host by n_cpu_moe"},
    Knob{"llama.cpp", C::device_memory, "pz", "ctx_size", "lower", "the cache follows the context"},
    Knob{"llama.cpp", C::device_memory, "pz", "cache_type_k", "set",
         "q8_0 for K and V halves the cache"},
    Knob{"llama.cpp", C::device_memory, "cwr", "ubatch_size", "lower",
         "compute buffers follow the micro-batch"},
    Knob{"llama.cpp", C::device_memory, "cwr", "n_gpu_layers", "lower",
         "a layer less makes room for the compute buffer"},
    Knob{"llama.cpp", C::allocation_limit, "slpzcwr", "ubatch_size", "lower",
         "one allocation may not exceed the device's limit, whatever is free"},
    Knob{"ollama", C::device_memory, "slpzcwr", "num_gpu", "lower", "fewer layers on the card"},
    Knob{"ollama", C::device_memory, "slpzcwr", "num_ctx", "lower",
         "the cache follows the context"},
    // Any engine
    Knob{"", C::fragmentation, "slpzcwr", "PYTORCH_CUDA_ALLOC_CONF", "set",
         "expandable_segments:True: enough was reserved by PyTorch, but in pieces"},
    Knob{"", C::host_memory, "slpzcwr", "host memory", "raise",
         "the host ran out, not the card: less offloading, fewer loading workers, or a larger "
         "limit of the container"},
};

Cause cause_of(const Failure& f) {
  if (f.id == "host_out_of_memory" || f.id == "shared_memory") return C::host_memory;
  if (f.id == "cache_too_small" || f.id == "nothing_for_cache" || f.id == "fraction_too_low") {
    return C::cache;
  }
  if (f.id == "utilisation" || f.id == "memory_came_free" || f.id == "unbalanced") {
    return C::share_not_free;
  }
  if (f.id == "state_slots") return C::state_slots;
  if (f.id == "allocation_limit") return C::allocation_limit;
  if (f.id == "request_too_long") return C::request;
  if (contains(f.id, "out_of_memory") || f.id == "does_not_fit") {
    // Enough memory is reserved, but not in one piece, and the card has less than was asked for.
    const double tried = f.number("tried", f.number("tried_bytes"));
    const double unused =
        f.has("torch_unused")
            ? f.number("torch_unused")
            : std::max(0.0, f.number("torch_reserved") - f.number("torch_allocated", 1e18));
    // A sliver is always unused; it counts where it is a share of the card.
    const bool much = unused >= f.number("total") / 50;
    if (tried > 0 && unused >= tried && much && f.has("free")) return C::fragmentation;
    return C::device_memory;
  }
  for (const std::string_view id :
       {"too_long_for_model", "batch_below_length", "batch_below_sequences", "heads_do_not_divide",
        "too_few_gpus", "dtype_unsupported", "needs_flash_attn"}) {
    if (f.id == id) return C::settings;
  }
  return C::other;
}

void set_sizes(const Log& log, PostMortem& m) {
  const Failure& f = *m.failure;
  const auto pair = [&](double needed, double available) {
    m.needed = needed;
    m.available = available;
    m.shortfall = needed - available;
  };
  if (f.id == "utilisation") {
    pair(f.number("budget"), f.number("free_at_start"));
  } else if (f.has("needed") && f.has("available_refused")) {
    pair(f.number("needed"), f.number("available_refused"));
  } else if (f.id == "state_slots") {
    pair(f.number("max_num_seqs"), f.number("state_blocks"));
  } else if (f.id == "nothing_for_cache") {
    if (const Reading* available = log.one("available")) {
      m.available = available->last;
      m.shortfall = -available->last;
      m.shortfall_is_least = true;
    }
  } else if (f.id == "cache_too_small" && f.has("refused_tokens")) {
    m.needed = f.number("max_model_len");
    m.available = f.number("refused_tokens");
  } else if (f.id == "fraction_too_low" && f.has("fraction_needed")) {
    m.needed = f.number("fraction_needed");
    m.available = f.number("fraction");
  } else if (f.has("tried") || f.has("tried_bytes")) {
    m.needed = f.number("tried", f.number("tried_bytes"));
    m.shortfall_is_least = true;
    if (f.has("free")) {
      m.available = f.number("free");
      if (m.cause != C::fragmentation) m.shortfall = std::max(0.0, *m.needed - *m.available);
    }
  }
  // Total less free less this process is what others hold.
  if (f.has("process") && f.has("total") && f.has("free")) {
    m.others = std::max(0.0, f.number("total") - f.number("free") - f.number("process"));
  }
}

std::string_view words(Cause cause) {
  switch (cause) {
    case C::device_memory: return "the card ran out of memory";
    case C::fragmentation: return "the card's memory is fragmented, not short";
    case C::host_memory: return "the host ran out of memory";
    case C::cache: return "the cache is too small for one request";
    case C::share_not_free: return "the share asked for was not free on the card";
    case C::state_slots: return "there are fewer state blocks than sequences";
    case C::allocation_limit: return "one allocation exceeds the device's limit";
    case C::settings: return "the settings contradict each other or the model";
    case C::request: return "a request is longer than the pool";
    case C::other: return "the server died";
  }
  return "";
}

std::string_view place(Phase phase) {
  switch (phase) {
    case Phase::start: return "before loading";
    case Phase::load: return "while loading the weights";
    case Phase::profile: return "in the profile run";
    case Phase::sizing: return "while sizing the cache";
    case Phase::capture: return "while capturing graphs";
    case Phase::warmup: return "in the warm-up";
    case Phase::serve: return "while serving";
  }
  return "";
}

std::string text_of(const PostMortem& m) {
  std::string text = std::string(words(m.cause)) + " " + std::string(place(m.phase));
  const bool bytes = m.cause != C::state_slots && m.failure->id != "fraction_too_low" &&
                     !m.failure->has("refused_tokens");
  if (m.cause == C::fragmentation) {
    text += ": " + gib(*m.needed) + " were asked for, " + gib(m.failure->number("torch_unused")) +
            " lay reserved in pieces";
  } else if (m.needed && m.available && bytes) {
    text += ": " + gib(*m.needed) + " needed, " + gib(*m.available) + " there";
    if (m.shortfall && *m.shortfall > 0) {
      text +=
          std::string(m.shortfall_is_least ? ", at least " : ", ") + gib(*m.shortfall) + " short";
    }
  } else if (m.cause == C::state_slots && m.needed) {
    text += ": " + format_grouped(int64_t(*m.needed)) + " sequences, " +
            format_grouped(int64_t(*m.available)) + " blocks";
  } else if (m.failure->has("refused_tokens")) {
    text += ": " + format_grouped(int64_t(*m.needed)) + " tokens wanted, " +
            format_grouped(int64_t(*m.available)) + " fit";
  } else if (m.needed && bytes) {
    text += ": " + gib(*m.needed) + " were asked for";
  }
  if (m.others > 256.0 * 1048576) {
    text += "; other processes held " + gib(m.others);
  }
  return text;
}

void advise(const Log& log, PostMortem& m) {
  const std::string_view engine = m.failure->engine.empty() || m.failure->engine == "llama.cpp"
                                      ? std::string_view(log.config.engine)
                                      : std::string_view(m.failure->engine);
  const char phase = kPhaseLetters[size_t(m.phase)];
  for (const Knob& knob : kKnobs) {
    if (knob.cause != m.cause || knob.phases.find(phase) == std::string_view::npos) continue;
    if (!knob.engine.empty() && knob.engine != engine) continue;
    m.advice.push_back(
        {std::string(knob.knob), std::string(knob.direction), std::string(knob.text)});
  }
}

}  // namespace

std::string_view to_string(Cause cause) {
  switch (cause) {
    case C::device_memory: return "device_memory";
    case C::fragmentation: return "fragmentation";
    case C::host_memory: return "host_memory";
    case C::cache: return "cache";
    case C::share_not_free: return "share_not_free";
    case C::state_slots: return "state_slots";
    case C::allocation_limit: return "allocation_limit";
    case C::settings: return "settings";
    case C::request: return "request";
    case C::other: return "other";
  }
  return "other";
}

std::optional<PostMortem> post_mortem(const Log& log) {
  PostMortem m;
  m.failure = root_of(log);
  if (m.failure == nullptr) return std::nullopt;
  m.cause = cause_of(*m.failure);
  m.phase = phase_of(log, *m.failure);
  set_sizes(log, m);
  m.text = text_of(m);
  advise(log, m);
  return m;
}

namespace {

// A refusal for want of state blocks prints how many there are: the cache holds them in proportion.
std::optional<double> cache_of_state_blocks(const Log& log, const plan::Plan& plan) {
  for (const Failure& f : log.failures) {
    if (!f.has("state_blocks")) continue;
    for (const engines::Requirement& r : plan.assessment.requirements) {
      const auto planned = double(r.available.likely.count());
      if (r.what != "state_slots" || planned <= 0) continue;
      return double(plan.assessment.kv.available.likely.count()) * f.number("state_blocks") /
             planned;
    }
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const engines::Calibration> own_terms(const Log& log, const plan::Plan& plan) {
  engines::Calibration own;
  double explained = 0;
  bool activation = false;
  for (const Expected& e : expectations(plan)) {
    const auto seen = logged(log, e);
    if (!seen || e.unit != Unit::bytes) continue;
    const double off = seen->value - e.likely;
    // Printed twice: it moves, as far as it did not move. The rounding is its spread.
    const engines::MeasuredTerm term{Bytes(int64_t(off)), Bytes(int64_t(seen->rounding)), 2};
    if (e.field == "weights") own.weights = term;
    if (e.field == "activation") own.activations = term;
    if (e.field == "non_torch") own.non_torch = term;
    if (e.field == "graphs_estimated") own.graphs = term;
    if (e.field == "activation") activation = true;
    if (e.field == "weights" || e.field == "activation" || e.field == "non_torch" ||
        e.field == "graphs_estimated") {
      explained += off;
    }
  }
  // What only the cache shows: the terms that were not printed, as one.
  const Reading* cache = log.one("available");
  double available = 0;
  bool known = cache != nullptr;
  if (cache != nullptr) available = cache->last;
  if (!known) {
    if (const auto found = cache_of_state_blocks(log, plan)) {
      available = *found;
      known = true;
    }
  }
  for (const Failure& f : log.failures) {
    if (f.has("available_refused") && f.number("available_refused") > 0 && !known) {
      available = f.number("available_refused");
      known = true;
    }
  }
  if (known && !activation) {
    const double off = double(plan.assessment.kv.available.likely.count()) - available - explained;
    own.activations = engines::MeasuredTerm{Bytes(int64_t(off)), Bytes(MiB(8)), 2};
  }
  if (own.empty()) return nullptr;
  own.words = "this log";
  return std::make_shared<const engines::Calibration>(std::move(own));
}

namespace {

constexpr int kMostPlans = 160;
constexpr size_t kMostChanges = 3;  // shown, and taken together

// Changes of options only, alone and together: after each the engine is asked anew what helps,
// since a smaller share needs a shorter length.
class Search {
 public:
  explicit Search(std::vector<plan::Lever>& found) : found_(found) {}

  void run(const plan::Resolved& start, const engines::Assessment& now, size_t depth,
           const plan::Lever& before) {
    std::vector<engines::LeverCandidate> candidates = start.engine->levers(start.question(), now);
    sort_stable(candidates, [](const auto& a, const auto& b) { return a.order < b.order; });
    std::vector<Step> open;
    for (const engines::LeverCandidate& c : candidates) {
      if (!c.gpu.empty() || c.devices > 0 || !c.weights_format.empty()) continue;
      if (std::find(before.ids.begin(), before.ids.end(), c.id) != before.ids.end()) continue;
      if (++plans_ > kMostPlans) return;
      Step step{start, {}, before};
      for (const auto& [name, value] : c.options) step.changed.settings.options.set(name, value);
      if (c.changes_workload) step.changed.workload = c.workload;
      auto assessment = step.changed.engine->assess(step.changed.question());
      if (!assessment) continue;
      step.assessment = std::move(*assessment);
      step.lever.ids.push_back(c.id);
      step.lever.order += c.order;
      join(step.lever.change, c.change, ", and ");
      join(step.lever.option, c.option, " ");
      join(step.lever.cost, c.cost, "; ");
      step.lever.after = plan::judge(step.assessment);
      step.lever.users = step.assessment.users;
      step.lever.combined = step.lever.ids.size() > 1;
      if (step.lever.after.outcome == plan::Outcome::fits) {
        keep(step.lever);
      } else {
        open.push_back(std::move(step));
      }
    }
    if (depth + 1 >= kMostChanges) return;
    for (const Step& step : open) run(step.changed, step.assessment, depth + 1, step.lever);
  }

 private:
  struct Step {
    plan::Resolved changed;
    engines::Assessment assessment;
    plan::Lever lever;
  };

  static void join(std::string& text, const std::string& more, std::string_view between) {
    if (more.empty()) return;
    if (!text.empty()) text += between;
    text += more;
  }

  // Not the same changes in another order.
  void keep(const plan::Lever& lever) {
    for (const plan::Lever& known : found_) {
      const bool within = std::all_of(known.ids.begin(), known.ids.end(), [&](const auto& id) {
        return std::find(lever.ids.begin(), lever.ids.end(), id) != lever.ids.end();
      });
      if (within) return;
    }
    found_.push_back(lever);
  }

  std::vector<plan::Lever>& found_;
  int plans_ = 0;
};

}  // namespace

Repair repair(const Log& log, const PostMortem& mortem, const plan::Resolved& start) {
  Repair out;
  plan::Resolved as_it_was = start;
  // What was not free when it started belongs to others.
  const Failure& f = *mortem.failure;
  auto planned = plan::make_plan(start, plan::Levers::skip);
  if (!planned) return out;
  for (const engines::Requirement& r : planned->assessment.requirements) {
    if (r.what != "utilisation" || !f.has("free_at_start")) continue;
    const double missing = double(r.available.likely.count()) - f.number("free_at_start");
    if (missing <= 0) break;
    for (engines::Device& device : as_it_was.hardware.devices) {
      device.used = std::min(device.total, device.used + Bytes(int64_t(missing)));
    }
    break;
  }
  if (mortem.others > 0) {
    for (engines::Device& device : as_it_was.hardware.devices) {
      device.used = std::max(device.used, std::min(device.total, Bytes(int64_t(mortem.others))));
    }
  }
  as_it_was.settings.calibration = own_terms(log, *planned);
  auto died = plan::make_plan(as_it_was, plan::Levers::search);
  if (!died) return out;
  out.reproduced = !died->verdict.starts;
  Search(out.changes).run(as_it_was, died->assessment, 0, {});
  sort_stable(out.changes, [](const auto& a, const auto& b) {
    return a.ids.size() != b.ids.size() ? a.ids.size() < b.ids.size() : a.order < b.order;
  });
  // Then what costs money or quality: other weights, more or other cards.
  for (plan::Lever& lever : died->levers) {
    const bool known = std::any_of(out.changes.begin(), out.changes.end(),
                                   [&](const plan::Lever& l) { return l.ids == lever.ids; });
    if (!known && lever.after.outcome == plan::Outcome::fits) {
      out.changes.push_back(std::move(lever));
    }
  }
  return out;
}

}  // namespace vramwise::verify
