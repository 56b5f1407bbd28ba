#include "engines/vllm/startup.h"
#include "engines/device_support.h"

#include <algorithm>

#include "base/text.h"
#include "engines/limits.h"
#include "engines/parallel.h"

namespace vramwise::engines::vllm {
namespace {

std::string gib(Bytes size) { return format_gib(size, 2); }

void check_heads(const model::Model& model, int64_t ranks, std::vector<Refusal>& out) {
  const HeadSplit split = split_heads(model, ranks);
  if (split.divides) return;
  const std::string heads = format_integer(split.heads), over = format_integer(ranks);
  if (split.key_value) {
    out.push_back({"tensor_parallel", "",
                   heads + " key-value heads can neither be split over " + over +
                       " ranks nor copied evenly"});
  } else {
    out.push_back({"tensor_parallel",
                   "Total number of attention heads (" + heads +
                       ") must be divisible by tensor parallel size (" + over + ").",
                   heads + " attention heads cannot be split over " + over + " ranks"});
  }
}

void check_experts(const Question& q, const Build& b, std::vector<Refusal>& out) {
  const int64_t ranks = b.given.expert_parallel ? 1 : b.given.tensor * b.given.data;
  const BlockSplit split = split_expert_blocks(*q.model, *q.weights, ranks);
  if (split.divides) return;
  const std::string part = format_integer(split.width), block = format_integer(split.block);
  out.push_back({"tensor_parallel",
                 "The output_size of gate's and up's weight = " + part +
                     " is not divisible by weight quantization block_n = " + block + ".",
                 "split over " + format_integer(ranks) + " ranks, an expert is " + part +
                     " wide, which are no whole FP8 blocks of " + block +
                     "; --enable-expert-parallel keeps experts whole"});
}

// Source: vllm issue 42687.
std::string item_refusal(const Decided& d) {
  return "Chunked MM input disabled but max_tokens_per_mm_item (" +
         format_integer(d.item_beyond_batch) + ") is larger than max_num_batched_tokens (" +
         format_integer(d.batch_tokens) + "). Please increase max_num_batched_tokens.";
}

constexpr std::string_view kWholeItem =
    "a video of this model has to fit into one batch; --language-model-only does without";

void check_limits(const Question& q, const Build& b, std::vector<Refusal>& out) {
  const int64_t t = b.decided.batch_tokens, n = b.decided.max_seqs, m = b.decided.max_model_len;
  if (b.given.batch_tokens && b.given.max_seqs && t < n) {
    out.push_back({"max_num_batched_tokens",
                   "max_num_batched_tokens (" + format_integer(t) +
                       ") must be greater than or equal to max_num_seqs (" + format_integer(n) +
                       ").",
                   "a batch of " + format_grouped(t) + " tokens cannot hold one token of each of " +
                       format_grouped(n) + " sequences"});
  }
  if (!b.decided.chunked && b.given.batch_tokens && t < m) {
    out.push_back(
        {"max_num_batched_tokens",
         "max_num_batched_tokens (" + format_integer(t) + ") is smaller than max_model_len (" +
             format_integer(m) +
             "). This effectively limits the maximum sequence length to "
             "max_num_batched_tokens and makes vLLM reject longer sequences. Please increase "
             "max_num_batched_tokens or decrease max_model_len.",
         "without chunked prefill a whole prompt has to fit into one batch"});
  }
  if (b.given.batch_tokens && b.decided.item_beyond_batch > 0) {
    out.push_back({"max_num_batched_tokens", item_refusal(b.decided), std::string(kWholeItem)});
  }
  const int64_t derived = q.model->max_positions;
  // The command of a longer workload says so by --max-model-len, too.
  const bool said = b.given.max_model_len || b.decided.length_from_workload;
  if (said && derived > 0 && m > derived && !b.given.allow_long) {
    out.push_back(
        {"max_model_len",
         "User-specified max_model_len (" + format_integer(m) +
             ") is greater than the derived max_model_len (max_position_embeddings=" +
             format_integer(derived) +
             " or model_max_length=None in model's config.json). "
             "To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
         "the model reads at most " + format_grouped(derived) + " tokens"});
  }
  if (b.given.largest_capture && !b.given.capture_sizes.empty()) {
    const int64_t last =
        *std::max_element(b.given.capture_sizes.begin(), b.given.capture_sizes.end());
    if (last != *b.given.largest_capture) {
      out.push_back(
          {"cudagraph_capture_sizes",
           "customized max_cudagraph_capture_size(=" + format_integer(*b.given.largest_capture) +
               ") should be consistent with the max value of cudagraph_capture_sizes(=" +
               format_integer(last) + ")",
           "the two options for capture sizes contradict each other"});
    }
  }
}

std::string bfloat16_refusal(const Question& q, int capability) {
  return "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your " +
         q.hardware->devices.front().gpu.name + " GPU has compute capability " +
         std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
         ". You can use float16 instead by explicitly setting the `dtype` flag in CLI, for "
         "example: --dtype=half.";
}

void check_devices(const Question& q, const Build& b, std::vector<Refusal>& out) {
  const auto have = int64_t(q.hardware->devices.size());
  if (have == 0) {
    out.push_back({"devices", "Failed to infer device type",
                   "vLLM's memory budget is modelled for GPUs only"});
  } else if (b.ranks_used > have) {
    out.push_back({"devices",
                   "World size (" + format_integer(b.ranks_used) +
                       ") is larger than the number of available GPUs (" + format_integer(have) +
                       ") in this node.",
                   "the parallel sizes ask for " + format_integer(b.ranks_used) + " devices, " +
                       format_integer(have) + " are given"});
  }
  if (b.decided.plain == DType::bfloat16 && lacks_bfloat16(b.now)) {
    out.push_back({"dtype", bfloat16_refusal(q, b.now.capability),
                   "bfloat16 needs compute capability 8.0; --dtype half runs here"});
  }
  if (b.given.pipeline > int64_t(q.model->layers.size())) {
    out.push_back({"pipeline_parallel", "", "there are more pipeline stages than layers"});
  }
}

void check_pool(const Build& b, std::vector<Refusal>& out) {
  const Stage& stage = b.stages.front();
  if (!stage.pool.fault.empty()) {
    out.push_back(
        {"kv_cache",
         "The page size of the layer is not divisible by the maximum page size. Cannot unify by "
         "adjusting block_size.",
         "the layers' caches cannot share one pool: " + stage.pool.fault});
  }
  if (stage.shape.groups > 1 && stage.shape.context_ranks > 1) {
    out.push_back({"decode_context_parallel",
                   "Hybrid KV cache groups do not support context parallelism.",
                   "context parallelism needs every layer to cache in the same way"});
  }
}

class Checks {
 public:
  Checks(const Question& q, const Build& b, const Budget& budget) : q_(q), b_(b), budget_(budget) {}

  std::vector<Requirement> run() {
    for (const DeviceBudget& d : budget_.devices) {
      if (!b_.now.first_engine) utilisation(d);
    }
    for (const DeviceBudget& d : budget_.devices) load(d);
    for (const DeviceBudget& d : budget_.devices) cache(d);
    for (const DeviceBudget& d : budget_.devices) fixed_cache(d);
    for (const DeviceBudget& d : budget_.devices) released(d);
    for (const DeviceBudget& d : budget_.devices) capture(d);
    slots();
    workload();
    return std::move(out_);
  }

 private:
  // Devices of one kind and stage answer alike: said once, for the first of them.
  bool repeats(const DeviceBudget& d) const {
    for (const DeviceBudget& other : budget_.devices) {
      if (other.device >= d.device) return false;
      if (other.stage == d.stage && other.total == d.total &&
          other.free_at_start.likely == d.free_at_start.likely) {
        return true;
      }
    }
    return false;
  }
  void utilisation(const DeviceBudget& d);
  void load(const DeviceBudget& d);
  void cache(const DeviceBudget& d);
  void fixed_cache(const DeviceBudget& d);
  void released(const DeviceBudget& d);
  void capture(const DeviceBudget& d);
  void slots();
  void workload();

  const Question& q_;
  const Build& b_;
  const Budget& budget_;
  std::vector<Requirement> out_;
};

void Checks::utilisation(const DeviceBudget& d) {
  if (repeats(d)) return;
  Requirement r;
  r.device = d.device;
  r.what = "utilisation";
  r.phase = "start";
  r.needed = ByteRange::exactly(d.totals.requested);
  r.available = d.free_at_start;
  r.engine_error =
      "Free memory on device cuda:" + format_integer(d.device) + " (" +
      gib(d.free_at_start.likely) + "/" + gib(d.total) +
      " GiB) on startup is less than desired GPU memory utilization (" +
      format_number(b_.decided.utilisation) + ", " + gib(d.totals.requested) +
      " GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.";
  r.explanation = "the share of the card that vLLM asks for must be free when it starts";
  out_.push_back(std::move(r));
}

void Checks::load(const DeviceBudget& d) {
  if (repeats(d)) return;
  Requirement r;
  r.kind = Requirement::Kind::out_of_memory;
  r.device = d.device;
  r.what = "weights";
  r.phase = "load";
  r.needed = d.weights;
  r.available = d.free_at_start;
  r.engine_error = "Failed to load model - not enough GPU memory.";
  r.explanation = "the weights have to fit into what is free on the card";
  out_.push_back(std::move(r));
}

void Checks::cache(const DeviceBudget& d) {
  const VllmShape& shape = b_.asked_of(*d.stage);
  if (shape.groups == 0 || repeats(d)) return;
  if (b_.whole) {
    // One check for all ranks, against the poorest.
    for (const DeviceBudget& other : budget_.devices) {
      if (other.available.likely < d.available.likely ||
          (other.available.likely == d.available.likely && other.device < d.device)) {
        return;
      }
    }
  }
  const int64_t t = b_.decided.batch_tokens;
  const int64_t m = b_.given.fit_length ? 1 : b_.decided.max_model_len;
  const Bytes needed = need_of(shape, m, t);
  Requirement r;
  r.device = d.device;
  r.what = "kv_cache";
  r.phase = "sizing";
  r.needed = ByteRange::exactly(std::max(needed, Bytes(1)));
  r.available = d.available;
  // The message has the numbers of a start that is refused: where only the poor end of the bar is,
  // those of that end.
  const bool starts = d.available.likely >= needed && d.available.likely.count() > 0;
  const Bytes available = starts ? d.available.low : d.available.likely;
  if (available.count() <= 0) {
    r.engine_error =
        "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
        "initializing the engine.";
    r.explanation = "weights, activations and overheads leave nothing of the budget for the cache";
  } else if (b_.now.first_engine) {
    const int64_t tokens = saturating_multiply(available / shape.block_bytes, shape.smallest_block);
    r.engine_error =
        "The model's max seq len (" + format_integer(m) +
        ") is larger than the maximum number of tokens that can be stored in KV cache (" +
        format_integer(tokens) +
        "). Try increasing `gpu_memory_utilization` or decreasing "
        "`max_model_len` when initializing the engine.";
    r.explanation = "one request of the maximum length has to fit into the cache";
  } else if (b_.given.fit_length) {
    r.engine_error =
        "Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single "
        "token.";
    r.explanation = "not even one token fits into the cache";
  } else {
    const int64_t estimate = longest_request(shape, available, m, t);
    r.engine_error =
        "To serve at least one request with the model's max seq len (" + format_integer(m) +
        "), (" + gib(needed) +
        " GiB KV cache is needed, which is larger than the available KV cache memory (" +
        gib(available) + " GiB). ";
    if (estimate > 0) {
      r.engine_error += "Based on the available memory, the estimated maximum model length is " +
                        format_integer(estimate) + ". ";
    }
    r.engine_error +=
        "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing "
        "the engine.";
    r.explanation = "one request of the maximum length has to fit into the cache";
  }
  out_.push_back(std::move(r));
}

// A cache of a fixed size is allocated whatever the budget says: then everything has to fit.
void Checks::fixed_cache(const DeviceBudget& d) {
  const VllmShape& shape = d.stage->shape;
  if ((!b_.given.cache_bytes && !b_.given.cache_blocks) || shape.groups == 0 || repeats(d)) return;
  Requirement r;
  r.kind = Requirement::Kind::out_of_memory;
  r.device = d.device;
  r.what = "kv_cache";
  r.phase = "sizing";
  const Bytes pool = shape.block_bytes * d.totals.blocks;
  r.needed = d.weights + d.activations + d.non_torch + d.graphs_taken + ByteRange::exactly(pool);
  r.available = d.free_at_start;
  r.engine_error = "torch.OutOfMemoryError: CUDA out of memory.";
  r.explanation = "a cache of a fixed size has to fit beside weights, activations and graphs";
  out_.push_back(std::move(r));
}

// The cache may be larger than the share leaves it, and then lies beside it.
void Checks::released(const DeviceBudget& d) {
  if (d.released.count() == 0 || repeats(d)) return;
  Requirement r;
  r.kind = Requirement::Kind::out_of_memory;
  r.device = d.device;
  r.what = "sleep_mode";
  r.phase = "sizing";
  r.needed = {Bytes(), Bytes(), d.released};
  const Bytes share = d.totals.requested;
  r.available = {d.free_at_start.low - share, d.free_at_start.likely - share,
                 d.free_at_start.high - share};
  r.engine_error = "CUDA Error: out of memory (cumem_allocator.cpp)";
  r.explanation =
      "in sleep mode vLLM takes for free what loading the weights gave back, and may size the "
      "cache by as much beyond its share";
  out_.push_back(std::move(r));
}

// Graphs are captured after the cache has taken its budget; what the budget did not count has to
// find room outside of it.
void Checks::capture(const DeviceBudget& d) {
  if (d.totals.graph_counts.all() == 0 || b_.given.cache_bytes || repeats(d)) return;
  Requirement r;
  r.kind = Requirement::Kind::out_of_memory;
  r.device = d.device;
  r.what = "cuda_graphs";
  r.phase = "capture";
  r.needed = d.graphs_taken;
  r.available = {d.free_at_start.low - d.totals.requested,
                 d.free_at_start.likely - d.totals.requested,
                 d.free_at_start.high - d.totals.requested};
  r.explanation = "CUDA graphs are captured outside of the budget and have to fit beside it";
  if (d.stage->shape.graphs_charged) {
    // Estimate and truth are large and small together: what counts is by how much one passes the
    // other.
    r.available += ByteRange::exactly(d.graphs.likely);
    const Bytes most = d.graphs.likely * b_.profile.graph_over_estimate_percent / 100;
    r.needed.high = std::max(r.needed.likely, std::min(r.needed.high, most));
  } else if (b_.profile.old_drivers) {
    r.explanation += "; with a driver before CUDA 12.4 they take three to four times as much";
  }
  r.engine_error = "torch.OutOfMemoryError: CUDA out of memory.";
  out_.push_back(std::move(r));
}

void Checks::slots() {
  const Stage& stage = *budget_.full().stage;
  if (!stage.pool.has_states || !b_.profile.slot_check || b_.given.eager) return;
  Requirement r;
  r.device = budget_.full().device;
  r.what = "state_slots";
  r.phase = "capture";
  r.unit = "count";
  r.needed = ByteRange::exactly(Bytes(b_.decided.max_seqs));
  r.available = {Bytes(budget_.blocks_low), Bytes(budget_.blocks), Bytes(budget_.blocks_high)};
  r.engine_error =
      "max_num_seqs (" + format_integer(b_.decided.max_seqs) +
      ") exceeds available Mamba cache blocks (" + format_integer(budget_.blocks) +
      "). Each decode sequence requires one Mamba cache block, so CUDA graph capture cannot "
      "proceed. Please lower max_num_seqs to at most " +
      format_integer(budget_.blocks) + " or increase gpu_memory_utilization.";
  r.explanation = "every running sequence needs a block for its state";
  out_.push_back(std::move(r));
}

void Checks::workload() {
  const Workload& asked = q_.workload;
  if (!asked.given()) return;
  const Demand demand = demand_of(q_, b_, budget_);
  const int device = budget_.full().device;
  require_limit(out_, device, "max_model_len", "tokens", asked.sequence_tokens.count(),
                budget_.max_model_len, "sequences are longer than max_model_len allows");
  // Each replica of data parallelism schedules its own.
  require_limit(out_, device, "max_num_seqs", "count", demand.requests, b_.decided.max_seqs,
                "more sequences at a time than max_num_seqs allows");
  const VllmShape& shape = budget_.shape();
  if (shape.groups == 0) return;
  Requirement r;
  r.kind = Requirement::Kind::workload;
  r.device = device;
  r.what = "kv_cache";
  r.phase = "serve";
  r.needed =
      ByteRange::exactly(shape.block_bytes *
                         pages_of(shape, demand.tokens, b_.decided.batch_tokens) * demand.requests);
  // Block 0 is never handed out: vllm v1/core/block_pool.py.
  const auto usable = [&](int64_t blocks) {
    return shape.block_bytes * std::max<int64_t>(0, blocks - 1);
  };
  r.available = {usable(budget_.blocks_low), usable(budget_.blocks), usable(budget_.blocks_high)};
  r.explanation = format_grouped(demand.requests) +
                  (demand.requests == 1 ? " sequence of " : " sequences of ") +
                  format_grouped(demand.tokens) +
                  (demand.requests == 1 ? " tokens has to fit into the cache"
                                        : " tokens have to fit into the cache together");
  out_.push_back(std::move(r));
}

}  // namespace

std::vector<Refusal> refusals(const Question& question, const Build& build) {
  std::vector<Refusal> out;
  check_devices(question, build, out);
  if (!build.given.own_build) {
    check_heads(*question.model, build.given.tensor, out);
    check_experts(question, build, out);
  }
  check_limits(question, build, out);
  check_pool(build, out);
  return out;
}

std::vector<Requirement> requirements(const Question& question, const Build& build,
                                      const Budget& budget) {
  std::vector<Requirement> out = Checks(question, build, budget).run();
  if (build.decided.half_wanted) {
    // Many a log of such a card leaves out that --dtype half was given: it may start.
    const int have = build.now.capability;
    Requirement r =
        doubt("dtype", 0, 80, have, have,
              "this version refuses bfloat16 on the card unless it is given --dtype half");
    r.engine_error = bfloat16_refusal(question, have);
    out.insert(out.begin(), std::move(r));  // asked before any byte is
  }
  if (!build.given.batch_tokens && build.decided.item_beyond_batch > 0) {
    // Nor is every batch that was given.
    const auto have = int(build.decided.batch_tokens);
    Requirement r = doubt("max_num_batched_tokens", 0, int(build.decided.item_beyond_batch), have,
                          have, std::string(kWholeItem));
    r.unit = "tokens";
    r.engine_error = item_refusal(build.decided);
    out.insert(out.begin(), std::move(r));
  }
  if (build.given.own_build) out.insert(out.begin(), *build.given.own_build);
  return out;
}

Demand demand_of(const Question& question, const Build& build, const Budget& budget) {
  Demand demand;
  demand.asked = question.workload.given();
  const int64_t tokens = question.workload.sequence_tokens.count();
  demand.tokens = tokens > 0 ? std::min(tokens, budget.max_model_len) : budget.max_model_len;
  demand.requests =
      ceil_div(std::max<int64_t>(1, question.workload.concurrency.count()), build.given.data);
  return demand;
}

int64_t users_of(const Build& build, const Budget& budget, const Demand& demand) {
  const int64_t pages = pages_of(budget.shape(), demand.tokens, build.decided.batch_tokens);
  if (budget.shape().groups == 0 || pages == 0) return -1;
  // Block 0 is never handed out. Every data-parallel replica has a pool and a scheduler of its own.
  const int64_t usable = std::max<int64_t>(0, budget.blocks - 1);
  return std::min(usable / pages, build.decided.max_seqs) * build.given.data;
}

}  // namespace vramwise::engines::vllm
