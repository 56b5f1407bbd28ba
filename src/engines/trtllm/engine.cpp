// TensorRT-LLM (PyTorch backend): what it answers, from the plan of each rank (rank_plan.h).
#include "engines/engine.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engines/config_changes.h"
#include "engines/device_support.h"
#include "engines/launch/write_line.h"
#include "engines/launch_command.h"
#include "engines/lever_list.h"
#include "engines/limits.h"
#include "engines/parallel.h"
#include "engines/trtllm/rank_plan.h"
#include "engines/trtllm/settings.h"
#include "engines/unknown_options.h"

namespace vramwise::engines {
namespace trtllm {
namespace {

constexpr std::string_view kUtil = "tensorrt_llm/_torch/pyexecutor/_util.py";

void add_rows(const Setup& s, const RankPlan& r, int device, int64_t tokens, int64_t requests,
              Assessment& a) {
  const auto row = [&](Ledger& ledger, Component component, std::string_view item, ByteRange bytes,
                       Basis basis, std::string_view words, std::vector<Operand> operands) {
    LedgerRow l;
    l.device = device;
    l.component = component;
    l.item = std::string(item);
    l.bytes = bytes;
    l.basis = basis;
    l.formula = {words, std::move(operands)};
    l.source = kUtil;
    ledger.add(std::move(l));
  };
  for (Ledger* ledger : {&a.reserve, &a.need, &a.peak}) {
    for (size_t i = 0; i < kWeightItems; ++i) {
      row(*ledger, Component::weights, to_string(WeightItem(i)),
          WeightItem(i) == WeightItem::drafter ? r.drafter : ByteRange::exactly(r.parts.bytes[i]),
          WeightItem(i) == WeightItem::drafter && !r.drafter.is_exact() ? Basis::modelled
          : r.weights_measured                                          ? Basis::measured
                                                                        : Basis::derived,
          "this rank's share of the tensors, as loaded", {{"tensor_parallel", double(s.tensor)}});
    }
    row(*ledger, Component::runtime, "runtime, communication, graphs and activations", r.overhead,
        r.overhead_measured ? Basis::measured : Basis::modelled, "profiled peak above the weights",
        {});
    if (r.workspace.high.count() > 0) {
      row(*ledger, Component::activations, "workspace of the expert kernels", r.workspace,
          r.workspace.is_exact() ? Basis::derived : Basis::modelled,
          "experts x tokens x (hidden + 2 x max(2 x width, hidden) + scales)",
          {{"tokens", double(s.moe_tokens)}});
    }
    row(*ledger, Component::kv_cache, "states", ByteRange::exactly(r.states), Basis::derived,
        "max_batch_size x state_bytes", {{"max_batch_size", double(s.max_batch)}});
    const int64_t held = ledger == &a.need ? saturating_multiply(tokens, requests) : r.tokens;
    row(*ledger, Component::kv_cache, ledger == &a.need ? "cache of the sequences" : "cache pool",
        ByteRange::exactly(r.per_token * held), Basis::derived, "tokens x bytes_per_token",
        {{"tokens", double(held)}, {"bytes_per_token", double(r.per_token.count())}});
  }
}

// trtllm-serve writes its own short names with underscores; what only its YAML file takes needs the
// option table, which costs more than the rest of a plan and is loaded for such lines alone.
std::string command_of(const Question& q, const Options& line) {
  std::string command = "trtllm-serve " + shell_quoted(q.model->id);
  for (const json::Member& m : line.entries()) {
    const std::string name = m.key == "tensor_parallel_size"       ? "tp_size"
                             : m.key == "pipeline_parallel_size"   ? "pp_size"
                             : m.key == "moe_expert_parallel_size" ? "ep_size"
                             : m.key == "free_gpu_memory_fraction"
                                 ? "kv_cache_free_gpu_memory_fraction"
                                 : m.key;
    const bool plain = m.value.is_number() && (name != m.key || starts_with(m.key, "max_"));
    if (!plain) {
      return launch::write_line("trtllm", q.model->id, line, q.settings.env, 0,
                                q.settings.version.text);
    }
    command += " --" + name + " " + json::dump(m.value);
  }
  return command;
}

// What the launch line allows; without a say there, what the model reads.
int64_t longest_request(const Question& q, const Setup& s) {
  return s.length_given ? s.max_seq : std::max(s.max_seq, q.model->max_positions);
}

Result<Assessment> assess_trtllm(const Question& q) {
  Assessment a;
  TRY_ASSIGN(const Setup s, read_setup(q, a.notes));
  const auto have = int64_t(q.hardware->devices.size());
  if (have == 0) {
    a.refusals.push_back({"devices", "", "TensorRT-LLM runs on NVIDIA GPUs only"});
    return a;
  }
  if (q.hardware->backend != Backend::cuda) {
    a.refusals.push_back({"devices", "", "TensorRT-LLM runs on NVIDIA GPUs only"});
  }
  TRY_ASSIGN(DeviceSupport support, device_support("trtllm", q));
  for (Refusal& refusal : support.refusals) a.refusals.push_back(std::move(refusal));
  if (s.tensor * s.pipeline > have) {
    a.refusals.push_back({"devices", "",
                          "the parallel sizes ask for " + format_integer(s.tensor * s.pipeline) +
                              " devices, " + format_integer(have) + " are given"});
  }
  const int64_t tokens =
      q.workload.sequence_tokens.count() > 0 ? q.workload.sequence_tokens.count() : s.max_seq;
  // Each rank of data-parallel attention has a pool and a scheduler of its own.
  const int64_t data = s.data_attention ? s.tensor : 1;
  const int64_t requests = ceil_div(std::max<int64_t>(1, q.workload.concurrency.count()), data);
  const auto count = int(std::min<int64_t>(s.tensor * s.pipeline, have));
  RankPlan full;
  for (int i = 0; i < count; ++i) {
    Notes same;  // every rank's drafter is the first one's
    const RankPlan r = plan_rank(q, s, q.hardware->devices[size_t(i)], i == 0 ? a.notes : same);
    add_rows(s, r, i, tokens, requests, a);
    if (i == 0 || r.cache.likely < full.cache.likely) {
      full = r;
      a.fullest_device = i;
    }
  }
  const Device& device = q.hardware->devices[size_t(a.fullest_device)];
  Requirement load;
  load.kind = Requirement::Kind::out_of_memory;
  load.device = a.fullest_device;
  load.what = "weights";
  load.phase = "load";
  load.needed = full.weights;
  load.available = {device.free() - device.total_uncertainty, device.free(),
                    device.free() + device.total_uncertainty};
  load.engine_error = "torch.OutOfMemoryError: CUDA out of memory.";
  load.explanation = "the weights have to fit into what is free on the card";
  a.requirements.push_back(load);
  Requirement pool;
  pool.device = a.fullest_device;
  pool.what = "kv_cache";
  pool.phase = "sizing";
  pool.needed = ByteRange::exactly(full.per_token * s.block_tokens);
  pool.available = full.cache;
  pool.engine_error = "Impossible to fit in any sequence in kvCache";
  pool.explanation = "at least one block of cache has to be left beside the profiled peak";
  if (full.per_token.count() > 0) a.requirements.push_back(pool);
  // A shorter max_seq_len is taken with a warning instead of a refusal.
  if (full.tokens < s.max_seq) {
    a.notes.warn("length_reduced",
                 "max_seq_len is lowered to " + format_grouped(full.tokens) +
                     " tokens, what the cache holds",
                 kUtil.data());
  }
  if (q.workload.given()) {
    Requirement serve;
    serve.kind = Requirement::Kind::workload;
    serve.device = a.fullest_device;
    serve.what = "kv_cache";
    serve.phase = "serve";
    serve.unit = "tokens";
    serve.needed =
        ByteRange::exactly(Bytes(saturating_multiply(round_up(tokens, s.block_tokens), requests)));
    serve.available = {Bytes(full.tokens_low), Bytes(full.tokens), Bytes(full.tokens_high)};
    serve.explanation = "the sequences have to fit into the cache together";
    // Beyond what the model reads, a longer max_seq_len would not be taken either.
    const bool readable =
        s.allow_long || q.model->max_positions <= 0 || tokens <= q.model->max_positions;
    require_limit(a.requirements, a.fullest_device, readable ? "max_seq_len" : "model_length",
                  "tokens", tokens, s.max_seq,
                  readable ? "sequences are longer than max_seq_len allows"
                           : "the model reads at most " + format_grouped(s.max_seq) + " tokens");
    a.requirements.push_back(std::move(serve));
    require_limit(a.requirements, a.fullest_device, "max_batch_size", "count", requests,
                  s.max_batch, "more sequences at a time than max_batch_size allows");
  }
  a.kv.bytes_per_token = full.per_token;
  a.kv.available = full.cache;
  a.kv.pool_tokens = full.tokens;
  a.kv.block_tokens = s.block_tokens;
  a.kv.blocks = full.tokens / s.block_tokens;
  a.kv.max_sequence_tokens = std::min(full.tokens, s.max_seq);
  a.kv.max_concurrency = double(full.tokens) / double(std::max<int64_t>(1, s.max_seq));
  a.users =
      std::min(full.tokens / std::max<int64_t>(1, round_up(tokens, s.block_tokens)), s.max_batch) *
      data;
  a.longest_sequence = std::min(full.tokens / requests, longest_request(q, s));
  a.check = LogCheck{"Allocated for max tokens in paged KV cache", full.tokens,
                     saturating_multiply(round_up(tokens, s.block_tokens), requests), "tokens"};
  a.log.push_back(
      {"Memory used after loading model weights (inside torch) in memory usage profiling",
       double((full.weights.likely + full.workspace.likely).count()), "bytes"});
  a.log.push_back({"Peak memory during memory usage profiling (torch + non-torch)",
                   double(full.peak.likely.count()), "bytes"});
  a.log.push_back({"available KV cache memory when calculating max tokens",
                   double(full.cache.likely.count()), "bytes"});
  a.log.push_back({"Allocated for max tokens in paged KV cache", double(full.tokens), "tokens"});
  a.effective.set("tensor_parallel_size", json::Value(s.tensor));
  a.effective.set("free_gpu_memory_fraction", json::Value(s.fraction));
  a.effective.set("max_batch_size", json::Value(s.max_batch));
  a.effective.set("max_num_tokens", json::Value(s.max_tokens_in_flight));
  a.effective.set("max_seq_len", json::Value(s.max_seq));
  a.effective.set("kv_cache_dtype", json::Value(s.cache_dtype));
  a.effective.set("kv_cache_config.tokens_per_block", json::Value(s.block_tokens));
  a.deciders["max_seq_len"] = s.length_from_workload ? "workload" : "model";
  if (s.tensor_assumed) a.deciders["tensor_parallel_size"] = "cards";
  a.deciders["kv_cache_dtype"] =
      q.weights->recipe && !q.weights->recipe->kv_cache_dtype.empty() ? "weights" : "model";
  // The peak beside the weights differs between expert kernels.
  for (const std::string_view name : {"moe_config.backend", "moe_backend"}) {
    if (const json::Value* given = q.settings.options.find(name)) {
      a.effective.set("moe_config.backend", *given);
      break;
    }
  }
  Options line = known_options(q.settings.options, "trtllm");
  if (s.tensor_assumed) line.set("tensor_parallel_size", json::Value(s.tensor));
  if (s.length_from_workload) line.set("max_seq_len", json::Value(s.max_seq));
  a.command = command_of(q, line);
  return a;
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
      {"max_seq_len", "max_seq_len", "--max_seq_len "},
      {"max_batch_size", "max_batch_size", "--max_batch_size "}};
  if (auto raised = raised_limits(a, kLimits)) out.push_back(std::move(*raised));
  if (s->fraction < 0.93) {
    add("free_gpu_memory_fraction", 10, "give the cache 95 % of the free memory",
        "--kv_cache_free_gpu_memory_fraction 0.95", "less room for fluctuation",
        "free_gpu_memory_fraction", json::Value(0.95));
  }
  if (s->max_batch > 64) {
    add("max_batch_size", 20, "run at most 64 sequences at a time", "--max_batch_size 64",
        "more users than that wait", "max_batch_size", json::Value(64));
  }
  if (s->element.numerator >= 2 * s->element.denominator) {
    add("kv_cache_dtype", 30, "store the cache in fp8", "--kv_cache_dtype fp8",
        "a small risk for accuracy", "kv_cache_dtype", json::Value("fp8"));
  }
  const double bits = weights::bits_per_weight(*q.model, *q.weights);
  if (bits > 12) add_format_lever(out, 60, "use weights in fp8", "fp8");
  if (bits > 6) add_format_lever(out, 62, "use weights in NVFP4", "nvfp4");
  if (s->tensor <= 8) {
    LeverCandidate& more =
        add_lever(out, "tensor_parallel_size", 70,
                  "split the model over " + std::to_string(s->tensor * 2) + " GPUs",
                  "--tp_size " + std::to_string(s->tensor * 2), "more GPUs");
    more.options = {{"tensor_parallel_size", json::Value(s->tensor * 2)}};
    more.devices = int(s->tensor * 2);
  }
  return out;
}

class TrtllmEngine final : public Engine {
 public:
  std::string_view name() const override { return "trtllm"; }
  Result<Assessment> assess(const Question& question) const override {
    return assess_trtllm(question);
  }
  std::vector<LeverCandidate> levers(const Question& question,
                                     const Assessment& assessment) const override {
    return changes(question, assessment);
  }
  int64_t devices_asked(const Options& options) const override {
    constexpr std::array<std::string_view, 2> kSizes = {"tensor_parallel_size",
                                                        "pipeline_parallel_size"};
    return cards_asked(options, kSizes);
  }
  bool runs_on(const catalog::Gpu& gpu) const override { return supports("trtllm", gpu); }
  Result<json::Value> config_changes(const Options& options) const override {
    constexpr std::array<std::string_view, 1> kWhole = {"model_kwargs"};
    return engines::config_changes(options, kWhole);
  }
  std::vector<Layout> layouts(const Question& question, int devices) const override {
    static constexpr std::string_view kOthers[] = {"pipeline_parallel_size", "enable_attention_dp"};
    return tensor_layouts(question, devices, "tensor_parallel_size", "moe_expert_parallel_size",
                          kOthers);
  }
  std::string draft_named(const Settings& settings) const override {
    return trtllm::draft_named(settings.options);
  }
  std::vector<std::string_view> weight_formats() const override {
    return {"bf16", "fp8", "nvfp4", "mxfp4", "awq"};
  }
};

}  // namespace
}  // namespace trtllm

const Engine& engine_trtllm();
const Engine& engine_trtllm() {
  static const trtllm::TrtllmEngine engine;
  return engine;
}

}  // namespace vramwise::engines
