#include "verify/post_mortem.h"

#include <algorithm>
#include <array>

#include "base/text.h"

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

// A traceback alone names no phase. Weights or a cache were there where PyTorch held this much.
constexpr double kLoadedBytes = 1024.0 * 1048576;

// llama.cpp says the allocation first and what it was for a few lines later.
std::optional<Phase> phase_of(const Log& log, const Failure& root) {
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
  if (root.phase == Phase::start && root.number("torch_allocated", 0) >= kLoadedBytes) {
    return std::nullopt;
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

std::string_view place(std::optional<Phase> phase) {
  if (!phase) return "";
  switch (*phase) {
    case Phase::start: return " before loading";
    case Phase::load: return " while loading the weights";
    case Phase::profile: return " in the profile run";
    case Phase::sizing: return " while sizing the cache";
    case Phase::capture: return " while capturing graphs";
    case Phase::warmup: return " in the warm-up";
    case Phase::serve: return " while serving";
  }
  return "";
}

std::string text_of(const PostMortem& m) {
  std::string text = std::string(words(m.cause)) + std::string(place(m.phase));
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

void advise(const Log& log, std::string_view asked, PostMortem& m) {
  std::string_view engine = m.failure->engine;
  if (engine.empty() || engine == "llama.cpp") engine = log.config.engine;
  if (engine.empty()) engine = asked;
  // Where nothing says when, what helps a server that has loaded.
  const char phase = kPhaseLetters[size_t(m.phase.value_or(Phase::serve))];
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

std::optional<PostMortem> post_mortem(const Log& log, std::string_view engine) {
  PostMortem m;
  m.failure = root_of(log);
  if (m.failure == nullptr) return std::nullopt;
  m.cause = cause_of(*m.failure);
  m.phase = phase_of(log, *m.failure);
  set_sizes(log, m);
  m.text = text_of(m);
  advise(log, engine, m);
  return m;
}

}  // namespace vramwise::verify
