#include "engines/vllm/levers.h"

#include <algorithm>

#include "base/text.h"
#include "engines/lever_list.h"
#include "engines/limits.h"
#include "engines/parallel.h"
#include "engines/vllm/budget.h"
#include "engines/vllm/layouts.h"
#include "engines/vllm/startup.h"

namespace vramwise::engines::vllm {
namespace {

// Order of cost: lower is tried and shown first.
enum Order {
  kElement = 2,
  kTowers = 5,
  kUtilisation = 10,
  kExperts = 15,
  kSequences = 20,
  kBatch = 25,
  kCacheType = 30,
  kLayout = 35,
  kEager = 40,
  kLength = 50,
  kWeights = 60,
  kRanks = 70,
  kCard = 80,
};

// The options that a layout sets.
constexpr std::string_view kSizes[] = {"tensor_parallel_size", "pipeline_parallel_size",
                                       "data_parallel_size", "enable_expert_parallel"};

class Finder {
 public:
  Finder(const Question& q, const Build& b, const Budget& budget) : q_(q), b_(b), budget_(budget) {}

  std::vector<LeverCandidate> run(const Assessment& assessment) {
    static constexpr LimitOption kLimits[] = {
        {"max_model_len", "max_model_len", "--max-model-len "},
        {"max_num_seqs", "max_num_seqs", "--max-num-seqs "}};
    if (auto raised = raised_limits(assessment, kLimits)) out_.push_back(std::move(*raised));
    element();
    whole_item();
    share(assessment);
    sleep_mode();
    sequences();
    batch();
    cache_type();
    eager();
    length();
    towers();
    experts();
    layout();
    weights();
    ranks();
    card();
    return std::move(out_);
  }

 private:
  void element() {
    const bool refused = b_.decided.plain == DType::bfloat16 && lacks_bfloat16(b_.now);
    if (!refused && !b_.decided.half_wanted) return;
    LeverCandidate& c =
        add("dtype", kElement, "run in float16", "--dtype half", "a narrower range of numbers");
    c.options = {{"dtype", json::Value("half")}};
  }

  void whole_item() {
    const int64_t item = b_.decided.item_beyond_batch;
    if (item == 0) return;
    const std::string tokens = format_integer(item);
    LeverCandidate& c = add("max_num_batched_tokens", kElement,
                            "let a batch hold a whole video, " + format_grouped(item) + " tokens",
                            "--max-num-batched-tokens " + tokens, "larger activations");
    c.options = {{"max_num_batched_tokens", json::Value(item)}};
  }

  LeverCandidate& add(std::string id, int order, std::string change, std::string option,
                      std::string cost) {
    return add_lever(out_, std::move(id), order, std::move(change), std::move(option),
                     std::move(cost));
  }

  void share(const Assessment& assessment);
  Bytes beside_budget(const DeviceBudget& device, const Assessment& assessment) const;
  void sequences();
  void batch();
  void cache_type();
  void sleep_mode();
  void eager();
  void length();
  void towers();
  void experts();
  void layout();
  void weights();
  void ranks();
  void card();

  const Question& q_;
  const Build& b_;
  const Budget& budget_;
  std::vector<LeverCandidate> out_;
};

// What graphs, or a cache in sleep mode, take of the card beyond the share, at most: the check of
// the capture says by how much graphs pass what the share leaves free.
Bytes Finder::beside_budget(const DeviceBudget& device, const Assessment& assessment) const {
  Bytes most = device.released;
  for (const Requirement& r : assessment.requirements) {
    // Cards that answer alike are checked once, for the first of them.
    if (r.what != "cuda_graphs" || r.device > device.device) continue;
    const DeviceBudget& checked = budget_.devices[size_t(r.device)];
    if (checked.stage != device.stage || checked.total != device.total) continue;
    const Bytes left = checked.free_at_start.low - checked.totals.requested;
    most = std::max(most, r.needed.high - (r.available.low - left));
  }
  return most;
}

void Finder::share(const Assessment& assessment) {
  if (b_.given.cache_bytes) {
    LeverCandidate& c = add("kv_cache_memory_bytes", kUtilisation,
                            "let vLLM size the cache by its share of the card",
                            "(without --kv-cache-memory-bytes)", "the profile decides its size");
    c.options = {{"kv_cache_memory_bytes", json::Value()}};
    return;
  }
  // The largest share, in whole percent, that is free for certain when vLLM starts and leaves the
  // capture of the graphs what they take beside it.
  int64_t percent = 99;
  bool free = true;
  for (const DeviceBudget& d : budget_.devices) {
    free = free && d.totals.requested <= d.free_at_start.low;
    const Bytes room = d.free_at_start.low - beside_budget(d, assessment);
    while (percent > 0 && requested_bytes(d.total, double(percent) / 100) > room) --percent;
  }
  const auto now = int64_t(b_.decided.utilisation * 100 + 0.5);
  if (percent == now || percent < 10) return;
  const double share = double(percent) / 100;
  const bool up = percent > now;
  const std::string why = free ? ", which leaves room beside it" : ", which is free";
  const DeviceBudget& full = budget_.full();
  const Bytes asked = requested_bytes(full.total, share);
  LeverCandidate& c = add(
      "gpu_memory_utilization", kUtilisation,
      std::string("give vLLM ") + (up ? "" : "only ") + std::to_string(percent) +
          " % of the card (" + format_gib(asked) + " GiB)" + (up ? "" : why),
      "--gpu-memory-utilization " + format_number(share),
      up ? "less room for other processes on the card"
         : "a cache smaller by " + format_gib(full.totals.requested - asked) + " GiB on the card");
  c.options = {{"gpu_memory_utilization", json::Value(share)}};
}

void Finder::sequences() {
  const int64_t asked = q_.workload.concurrency.count();
  int64_t n = std::max<int64_t>(asked, 1) <= 16 ? 16 : 1;
  while (n < asked) n *= 2;
  if (b_.profile.slot_check && budget_.full().stage->pool.has_states)
    n = std::min(n, std::max<int64_t>(1, budget_.blocks_low));
  if (n >= b_.decided.max_seqs || n < std::max<int64_t>(asked, 1)) return;
  LeverCandidate& c =
      add("max_num_seqs", kSequences, "run at most " + format_grouped(n) + " sequences at a time",
          "--max-num-seqs " + std::to_string(n), "more users than that wait");
  c.options = {{"max_num_seqs", json::Value(n)}};
  // Batches that were derived from the sequences stay as they are.
}

void Finder::batch() {
  for (const int64_t t : {int64_t{2048}, int64_t{1024}, int64_t{512}}) {
    if (t >= b_.decided.batch_tokens || t < b_.decided.max_seqs) continue;
    if (!b_.decided.chunked) continue;
    LeverCandidate& c =
        add("max_num_batched_tokens", kBatch,
            "read prompts in chunks of " + format_grouped(t) + " tokens",
            "--max-num-batched-tokens " + std::to_string(t), "slower prompt processing");
    c.options = {{"max_num_batched_tokens", json::Value(t)}};
    return;
  }
  if (!b_.decided.chunked) {
    LeverCandidate& c = add("enable_chunked_prefill", kBatch, "read long prompts in chunks",
                            "--enable-chunked-prefill", "slower prompt processing");
    c.options = {{"enable_chunked_prefill", json::Value(true)}};
  }
}

void Finder::cache_type() {
  if (b_.decided.cache_element.numerator < 2 * b_.decided.cache_element.denominator) return;
  if (budget_.shape().groups == 0) return;
  const int capability = b_.now.capability;
  // fp8 caches need Ada, Hopper or later, or Triton kernels on Ampere.
  if (b_.now.nvidia && capability > 0 && capability < 80) return;
  LeverCandidate& c = add("kv_cache_dtype", kCacheType, "store the cache in fp8",
                          "--kv-cache-dtype fp8", "a small risk for accuracy");
  c.options = {{"kv_cache_dtype", json::Value("fp8")}};
}

void Finder::sleep_mode() {
  if (budget_.full().released.count() == 0) return;
  LeverCandidate& c = add("enable_sleep_mode", kUtilisation, "run without sleep mode",
                          "(without --enable-sleep-mode and --enable-cumem-allocator)",
                          "the server cannot hand its memory over while it rests");
  c.options = {{"enable_sleep_mode", json::Value(false)},
               {"enable_cumem_allocator", json::Value()}};
}

void Finder::eager() {
  if (b_.given.eager || budget_.full().totals.graph_counts.all() == 0) return;
  LeverCandidate& c = add("enforce_eager", kEager, "run without CUDA graphs", "--enforce-eager",
                          "slower decoding, most at small batches");
  c.options = {{"enforce_eager", json::Value(true)}};
}

void Finder::length() {
  const VllmShape& shape = budget_.shape();
  if (shape.groups == 0 || b_.given.fit_length) return;
  const int64_t asked = q_.workload.sequence_tokens.count();
  const Bytes available = budget_.full().available.low;
  int64_t fits =
      longest_request(shape, available, b_.decided.max_model_len, b_.decided.batch_tokens);
  const int64_t requests = std::max<int64_t>(1, q_.workload.concurrency.count());
  if (q_.workload.given()) {
    fits = longest_request_in_blocks(shape, std::max<int64_t>(0, budget_.blocks_low - 1), requests,
                                     b_.decided.max_model_len, b_.decided.batch_tokens);
  }
  // Beyond what the model reads the server refuses, whatever fits.
  const int64_t reads = q_.model->max_positions;
  if (reads > 0 && !b_.given.allow_long && b_.decided.max_model_len > reads)
    fits = std::min(fits, reads);
  // A round length that people would write.
  for (const int64_t step : {int64_t{4096}, int64_t{1024}, int64_t{256}}) {
    if (fits >= 4 * step) {
      fits = fits / step * step;
      break;
    }
  }
  if (fits < 256 || fits >= b_.decided.max_model_len) return;
  LeverCandidate& c =
      add("max_model_len", kLength, "cap requests at " + format_grouped(fits) + " tokens",
          "--max-model-len " + std::to_string(fits), "longer requests are refused");
  c.options = {{"max_model_len", json::Value(fits)}};
  if (asked > fits) {
    c.changes_workload = true;
    c.workload = q_.workload;
    c.workload.sequence_tokens = Tokens(fits);
  }
}

void Finder::towers() {
  if (!q_.model->vision || b_.given.language_only || b_.given.no_items) return;
  LeverCandidate& c = add("language_model_only", kTowers, "leave the vision tower out",
                          "--language-model-only", "text only: no images");
  c.options = {{"language_model_only", json::Value(true)}};
}

void Finder::experts() {
  if (b_.given.expert_parallel || b_.given.tensor * b_.given.data == 1) return;
  if (fewest_experts(*q_.model) < b_.given.tensor * b_.given.data) return;
  LeverCandidate& c =
      add("enable_expert_parallel", kExperts, "share whole experts out over the ranks",
          "--enable-expert-parallel", "ranks with busier experts make the others wait");
  c.options = {{"enable_expert_parallel", json::Value(true)}};
}

// The layout of the same cards that serves the most users.
void Finder::layout() {
  if (b_.ranks_used < 2 || b_.ranks_used != int64_t(q_.hardware->devices.size())) return;
  Question bare = q_;
  for (const std::string_view name : kSizes) bare.settings.options.erase(name);
  int64_t most = users_of(b_, budget_, demand_of(q_, b_, budget_));
  std::optional<Layout> best;
  for (Layout& layout : layouts(bare, int(b_.ranks_used))) {
    Question q = bare;
    for (const auto& [name, value] : layout.options) q.settings.options.set(name, value);
    Notes notes;
    const auto b = build(q, notes);
    if (!b || !refusals(q, *b).empty()) continue;
    const Budget budget = budget_of(q, *b);
    if (budget.devices.empty()) continue;
    const int64_t users = users_of(*b, budget, demand_of(q, *b, budget));
    if (users <= most) continue;
    most = users;
    best = std::move(layout);
  }
  if (!best) return;
  Options flags;
  for (const auto& [name, value] : best->options) flags.set(name, value);
  const auto size = [&](std::string_view name) {
    const json::Value* value = flags.find(name);
    return value == nullptr ? 1 : value->as_integer();
  };
  const bool replicas = size("data_parallel_size") > 1, stages = size("pipeline_parallel_size") > 1;
  std::string option;
  for (const auto& [name, value] : best->options) {
    option += (option.empty() ? "--" : " --") + replace_all(name, "_", "-");
    if (!value.is_boolean()) option += " " + json::dump(value);
  }
  LeverCandidate& c =
      add("layout", kLayout, "lay the same cards out as " + best->label, std::move(option),
          replicas ? "one request runs on fewer cards, so slower"
          : stages ? "one request runs through stages, so slower"
                   : "another share of the work for each card");
  for (const std::string_view name : kSizes) {
    const json::Value* value = flags.find(name);
    c.options.emplace_back(name, value != nullptr ? *value : json::Value());
  }
}

void Finder::weights() {
  const double bits = weights::bits_per_weight(*q_.model, *q_.weights);
  if (bits > 12) {
    LeverCandidate& c =
        add("weights", kWeights, "use weights in fp8",
            "(a checkpoint in fp8, or --quantization fp8)", "a small loss of quality");
    c.weights_format = "fp8";
  }
  if (bits > 6) {
    LeverCandidate& c = add("weights", kWeights + 2, "use weights in 4 bits (AWQ)",
                            "(an AWQ checkpoint)", "some loss of quality");
    c.weights_format = "awq";
  }
}

void Finder::ranks() {
  if (b_.given.pipeline > 1 || b_.given.data > 1) return;
  for (int64_t n = b_.given.tensor * 2; n <= 16; n *= 2) {
    if (!split_heads(*q_.model, n).divides) return;
    const int per_node =
        q_.hardware->devices.empty() ? 0 : q_.hardware->devices.front().gpu.max_per_node;
    if (per_node > 0 && n > per_node) return;
    LeverCandidate& c = add("tensor_parallel_size", kRanks + int(n),
                            "split the model over " + std::to_string(n) + " GPUs",
                            "--tensor-parallel-size " + std::to_string(n), "more GPUs");
    c.options = {{"tensor_parallel_size", json::Value(n)}};
    c.devices = int(n);
    if (n >= b_.given.tensor * 4) return;
  }
}

void Finder::card() {
  if (q_.hardware->devices.empty()) return;
  // Two steps up the usual ladder of data-centre cards, smallest first.
  const Bytes total = q_.hardware->devices.front().total;
  int shown = 0;
  for (const std::string_view id : {"l40s", "h100-sxm", "h200-sxm", "b200"}) {
    const auto gpu = catalog::find_gpu(id);
    if (!gpu || gpu->total <= total + GiB(2)) continue;
    LeverCandidate& c = add("gpu", kCard + shown, "use " + std::string(gpu->name), "(another GPU)",
                            "another machine");
    c.gpu = std::string(id);
    if (++shown == 2) return;
  }
}

}  // namespace

std::vector<LeverCandidate> lever_candidates(const Question& question,
                                             const Assessment& assessment) {
  Notes notes;
  const auto b = build(question, notes);
  if (!b) return {};
  const Budget budget = budget_of(question, *b);
  if (budget.devices.empty()) return {};
  return Finder(question, *b, budget).run(assessment);
}

}  // namespace vramwise::engines::vllm
