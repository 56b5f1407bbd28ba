// vLLM: the order in which everything is asked and answered.
#include "engines/engine.h"
#include "base/text.h"

#include <algorithm>
#include <array>

#include "engines/config_changes.h"
#include "engines/device_support.h"
#include "engines/launch_command.h"
#include "engines/online_quantisation.h"
#include "engines/rank_memo.h"
#include "engines/unknown_options.h"
#include "engines/vllm/budget.h"
#include "engines/vllm/layouts.h"
#include "engines/vllm/ledger_rows.h"
#include "engines/vllm/levers.h"
#include "engines/vllm/log_lines.h"
#include "engines/vllm/startup.h"

namespace vramwise::engines {
namespace vllm {
namespace {

Options effective_options(const Build& b, const Budget& budget) {
  Options o;
  o.set("max_model_len", json::Value(budget.max_model_len));
  o.set("gpu_memory_utilization", json::Value(b.decided.utilisation));
  if (b.given.cache_bytes) o.set("kv_cache_memory_bytes", json::Value(*b.given.cache_bytes));
  if (b.given.cache_blocks) o.set("num_gpu_blocks_override", json::Value(*b.given.cache_blocks));
  o.set("max_num_batched_tokens", json::Value(b.decided.batch_tokens));
  o.set("max_num_seqs", json::Value(b.decided.max_seqs));
  o.set("kv_cache_dtype", json::Value(b.decided.cache_dtype));
  o.set("block_size", json::Value(budget.full().stage->pool.block_tokens));
  o.set("tensor_parallel_size", json::Value(b.given.tensor));
  if (b.given.pipeline > 1) o.set("pipeline_parallel_size", json::Value(b.given.pipeline));
  if (b.given.data > 1) o.set("data_parallel_size", json::Value(b.given.data));
  if (b.given.expert_parallel) o.set("enable_expert_parallel", json::Value(true));
  if (b.given.decode_context > 1)
    o.set("decode_context_parallel_size", json::Value(b.given.decode_context));
  o.set("enforce_eager", json::Value(b.given.eager));
  o.set("enable_prefix_caching", json::Value(b.decided.prefix_caching));
  o.set("enable_chunked_prefill", json::Value(b.decided.chunked));
  return o;
}

std::map<std::string, std::string_view, std::less<>> deciders(const Build& b) {
  std::map<std::string, std::string_view, std::less<>> who;
  const Given& g = b.given;
  if (b.decided.length_from_workload) {
    who["max_model_len"] = "workload";
  } else if (!g.max_model_len) {
    who["max_model_len"] = g.fit_length ? "cards" : "model";
  }
  if (g.tensor_assumed && g.tensor > 1) who["tensor_parallel_size"] = "cards";
  // Tiers of the card's memory.
  if (!g.batch_tokens) who["max_num_batched_tokens"] = "cards";
  if (!g.max_seqs) who["max_num_seqs"] = "cards";
  if (g.cache_dtype == "auto") {
    who["kv_cache_dtype"] = b.decided.cache_element.numerator >= 2 ? "model" : "weights";
  }
  return who;
}

// The options as given, with what the workload or the devices settled.
std::string command_of(const Question& q, const Build& b, const Budget& budget) {
  Options o = known_options(q.settings.options, "vllm");
  if (b.given.tensor_assumed && b.given.tensor > 1)
    o.set("tensor_parallel_size", json::Value(b.given.tensor));
  if (b.decided.length_from_workload) o.set("max_model_len", json::Value(budget.max_model_len));
  // The command starts a server, whose batch limits are others than an offline program's.
  if (b.given.entry != "server") {
    o.set("max_num_batched_tokens", json::Value(b.decided.batch_tokens));
    o.set("max_num_seqs", json::Value(b.decided.max_seqs));
  }
  o.erase(kProgramOption);
  if (q.draft.given() && vllm::draft_named(o).empty() &&
      b.given.speculation == Speculation::draft_model) {
    o.set("speculative_config.model", json::Value(q.draft.model->id));
    o.set("speculative_config.num_speculative_tokens", json::Value(b.given.speculative_tokens));
  }
  return launch_command("vllm serve", q.model->id, o, q.settings.env, SwitchStyle::paired);
}

KvFacts kv_facts(const Build& b, const Budget& budget) {
  const DeviceBudget& d = budget.full();
  const VllmShape& shape = d.stage->shape;
  KvFacts kv;
  kv.bytes_per_token = d.stage->pool.growing_bytes_per_token;
  kv.available = d.available;
  if (shape.groups == 0) return kv;
  kv.blocks = budget.blocks;
  kv.block_tokens = d.stage->pool.block_tokens;
  kv.pool_tokens = pool_figure(shape, budget.blocks, budget.max_model_len, b.decided.batch_tokens);
  const int64_t pages = pages_of(shape, budget.max_model_len, b.decided.batch_tokens);
  if (pages > 0) kv.max_concurrency = double(budget.blocks) / double(pages);
  // The server of this command takes no longer request.
  kv.max_sequence_tokens = longest_request_in_blocks(shape, budget.blocks, 1, budget.max_model_len,
                                                     b.decided.batch_tokens);
  return kv;
}

void answer_capacity(const Question& q, const Build& b, const Budget& budget, Assessment& a) {
  const VllmShape& shape = budget.shape();
  if (shape.groups == 0) return;
  const Demand demand = demand_of(q, b, budget);
  a.users = users_of(b, budget, demand);
  const int64_t reads = q.model->max_positions;
  int64_t limit =
      b.given.max_model_len ? budget.max_model_len : std::max(budget.max_model_len, reads);
  if (reads > 0 && !b.given.allow_long) limit = std::min(limit, reads);
  // Block 0 is never handed out.
  a.longest_sequence = longest_request_in_blocks(shape, std::max<int64_t>(0, budget.blocks - 1),
                                                 demand.requests, limit, b.decided.batch_tokens);
}

// What a restart, which finds the compiled model in vLLM's cache, has more for the pool.
// Source: vllm docs/configuration/optimization.md, faster startup.
void note_first_start(const Given& given, const Budget& budget, Notes& notes) {
  if (given.compiled && given.compiled_before) {
    notes.warn("first_start",
               "VLLM_FORCE_AOT_LOAD=1 is planned as a restart; a server with it stops where it "
               "finds nothing compiled: start once without it and keep " +
                   given.cache_folder + " between the starts");
    return;
  }
  if (given.cache_bytes || !given.keeps_compiled) return;
  const VllmTotals& totals = budget.full().totals;
  const VllmActivations& a = totals.activations;
  const Bytes more = totals.compile_left +
                     std::max(Bytes(), a.compile - std::max({a.sampler, a.layer, a.encoder}));
  if (more.count() <= 0) return;
  notes.assume("first_start",
               "counted as the first start, whose compilation vLLM charges to the cache; a restart "
               "that finds " +
                   given.cache_folder + " has " + format_gib(more) +
                   " GiB more for it on each card (VLLM_FORCE_AOT_LOAD=1 plans such a one)");
}

void note_sleep_mode(const Budget& budget, Notes& notes) {
  const Bytes most = budget.full().released;
  if (most.count() == 0) return;
  notes.warn("sleep_mode",
             "sleep mode: what loading quantised weights gave back vLLM takes for free once more, "
             "so that its cache may pass the share by up to " +
                 format_gib(most) +
                 " GiB a card (0.6 of Qwen3.8-27B-FP8, 3.9 of gemma-4-12B in 4 bits were seen): "
                 "leave that beside it, or set kv_cache_memory_bytes");
}

Result<Assessment> assess_vllm(const Question& q) {
  Assessment a;
  TRY_ASSIGN(const Build b, build(q, a.notes));
  Notes said;  // by the build already
  const auto online = online_scheme(b.given.quantization, *q.weights, said);
  TRY_ASSIGN(DeviceSupport support, device_support("vllm", q, online ? &*online : nullptr));
  a.refusals = std::move(support.refusals);
  for (Refusal& refusal : refusals(q, b)) a.refusals.push_back(std::move(refusal));
  const Budget budget = budget_of(q, b);
  if (budget.devices.empty()) return a;
  a.primary = Reading::reserve;
  a.fullest_device = budget.full().device;
  fill_ledgers(q, b, budget, demand_of(q, b, budget), a);
  a.requirements = requirements(q, b, budget);
  a.requirements.insert(a.requirements.begin(), support.doubts.begin(), support.doubts.end());
  a.kv = kv_facts(b, budget);
  answer_capacity(q, b, budget, a);
  if (q.detail != Detail::verdict) a.check = log_check(b, budget, demand_of(q, b, budget));
  if (q.detail != Detail::full) return a;
  a.log = log_lines(b, budget);
  a.effective = effective_options(b, budget);
  a.deciders = deciders(b);
  a.command = command_of(q, b, budget);
  if (b.decided.length_from_workload) {
    a.notes.assume("length_from_workload",
                   "max_model_len is set to the sequence length asked for; without it vLLM takes "
                   "the model's own");
  }
  note_first_start(b.given, budget, a.notes);
  note_sleep_mode(budget, a.notes);
  return a;
}

}  // namespace
}  // namespace vllm

namespace {

class VllmEngine final : public Engine {
 public:
  std::string_view name() const override { return "vllm"; }
  std::string_view program_option() const override { return vllm::kProgramOption; }
  // --rope-scaling and --rope-theta are gone since hf_overrides does the same.
  Result<json::Value> config_changes(const Options& options) const override {
    constexpr std::array<std::string_view, 1> kWhole = {"hf_overrides"};
    constexpr std::array<std::string_view, 2> kKeys = {"rope_scaling", "rope_theta"};
    return engines::config_changes(options, kWhole, kKeys);
  }
  Result<Assessment> assess(const Question& question) const override {
    return vllm::assess_vllm(question);
  }
  std::unique_ptr<Memo> new_memo() const override { return std::make_unique<RankMemo>(); }
  std::vector<LeverCandidate> levers(const Question& question,
                                     const Assessment& assessment) const override {
    return vllm::lever_candidates(question, assessment);
  }
  std::vector<std::string_view> weight_formats() const override {
    // Formats that are published for most models; nvfp4 and mxfp4 checkpoints are for their own.
    return {"bf16", "fp8", "awq", "gptq-int4", "bnb-nf4"};
  }
  std::string draft_named(const Settings& settings) const override {
    return vllm::draft_named(settings.options);
  }
  std::string_view option_of(Knob knob) const override { return vllm::option_of(knob); }
  std::vector<Layout> layouts(const Question& question, int devices) const override {
    return vllm::layouts(question, devices);
  }
  int64_t devices_asked(const Options& options) const override {
    return vllm::devices_asked(options);
  }
  bool runs_on(const catalog::Gpu& gpu) const override { return vllm::runs_on(gpu); }
};

}  // namespace

const Engine& engine_vllm();
const Engine& engine_vllm() {
  static const VllmEngine engine;
  return engine;
}

}  // namespace vramwise::engines
