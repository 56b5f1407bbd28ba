#include "engines/trtllm/settings.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "engines/known_versions.h"
#include "engines/limits.h"
#include "engines/unknown_options.h"

namespace vramwise::engines::trtllm {
namespace {

ExpertPadding padding(Facts& facts, const json::Value& row) {
  return {facts.integer(row, "hidden_in"), facts.integer(row, "hidden_out"),
          facts.integer(row, "width_in"), facts.integer(row, "width_out")};
}

// The first of several spellings that is given.
Result<std::optional<int64_t>> first_integer(const Options& o,
                                             std::initializer_list<std::string_view> names,
                                             int64_t min, int64_t max) {
  for (const std::string_view name : names) {
    TRY_ASSIGN(const auto n, o.integer(name, min, max));
    if (n) return n;
  }
  return std::optional<int64_t>();
}

Result<bool> read_parallel(const Options& o, const Question& q, Setup& s, Notes& notes) {
  TRY_ASSIGN(const auto tensor, first_integer(o, {"tensor_parallel_size"}, 1, 1 << 16));
  TRY_ASSIGN(const auto pipeline, first_integer(o, {"pipeline_parallel_size"}, 1, 1 << 16));
  TRY_ASSIGN(const auto expert, first_integer(o, {"moe_expert_parallel_size"}, 1, 1 << 16));
  TRY_ASSIGN(const auto attention, o.boolean("enable_attention_dp"));
  s.pipeline = pipeline.value_or(1);
  s.expert = expert.value_or(1);
  const auto devices = int64_t(q.hardware->devices.size());
  s.tensor = tensor.value_or(1);
  if (!tensor && devices > 1 && !pipeline) {
    s.tensor = devices;
    s.tensor_assumed = true;
    notes.assume("tensor_parallel_from_devices",
                 "the layers are split over " + std::to_string(devices) +
                     " devices (TensorRT-LLM itself uses one unless --tp_size says so)");
  }
  s.data_attention = attention.value_or(false);
  TRY_ASSIGN(const auto head, o.boolean("enable_lm_head_tp_in_adp"));
  s.head_parallel = head.value_or(false);
  s.attention_ranks = s.data_attention ? 1 : s.tensor;
  return true;
}

// How many batch sizes are captured: 1, 2, 4 and every eighth up to 128 with padding, else 1 to 31,
// 32, 64 and 128; then powers of two below the largest, and the largest itself.
// Source: tensorrt_llm llmapi/llm_args.py, CudaGraphConfig.
int64_t generated_sizes(int64_t largest, bool padded) {
  std::vector<int64_t> sizes;
  if (padded) {
    sizes = {1, 2, 4};
    for (int64_t n = 8; n <= 128; n += 8) sizes.push_back(n);
  } else {
    for (int64_t n = 1; n < 32; ++n) sizes.push_back(n);
    sizes.insert(sizes.end(), {32, 64, 128});
  }
  while (sizes.back() * 2 < largest) sizes.push_back(sizes.back() * 2);
  const int64_t below =
      std::count_if(sizes.begin(), sizes.end(), [&](int64_t n) { return n < largest; });
  return below + 1;
}

Result<bool> read_graphs(const Options& o, Setup& s) {
  TRY_ASSIGN(const auto list, o.numbers("cuda_graph_config.batch_sizes"));
  TRY_ASSIGN(const auto largest,
             first_integer(o, {"cuda_graph_config.max_batch_size", "cuda_graph_max_batch_size"}, 0,
                           1 << 24));
  TRY_ASSIGN(const auto padded, o.boolean("cuda_graph_config.enable_padding"));
  if (list && !list->empty()) {
    s.captured = int64_t(list->size());
    return true;
  }
  constexpr int64_t kDefault = 128;
  const int64_t asked = largest.value_or(0) > 0 ? *largest : kDefault;
  s.captured = generated_sizes(std::min(asked, s.max_batch), padded.value_or(true));
  return true;
}

// What a profiled peak holds besides the base row: graphs, and buffers between the expert ranks.
Result<bool> read_overhead(const Options& o, Facts& facts, const Circumstances& now, Setup& s) {
  TRY(read_graphs(o, s));
  TRY_ASSIGN(const auto pieces, o.boolean("torch_compile_config.enable_piecewise_cuda_graph"));
  s.overhead = facts.mib(facts.row("above_weights", now));
  const json::Value& graphs = facts.row("graphs", now);
  const Bytes one = MiB(facts.integer(graphs, "each_mib"));
  const Bytes more = one * (s.captured - facts.integer(graphs, "counted"));
  s.overhead = s.overhead + ByteRange{more, more, more};
  if (pieces.value_or(false)) s.overhead = s.overhead + facts.mib(facts.row("piecewise", now));
  Circumstances experts = now;
  experts.ranks = s.expert;
  s.overhead = s.overhead + facts.mib(facts.row("expert_parallel", experts));
  TRY_ASSIGN(const auto tokens,
             first_integer(o, {"moe_config.max_num_tokens", "moe_max_num_tokens"}, 1, 1 << 30));
  s.moe_tokens = std::min(tokens.value_or(s.max_tokens_in_flight), s.max_tokens_in_flight);
  return true;
}

struct Drafting {
  std::string method, name;
};

Drafting drafting(const Options& o) {
  const auto text = [&](std::string_view name) {
    const auto value = o.string(name);
    return value && *value ? **value : std::string();
  };
  Drafting d;
  d.method = to_lower(text("speculative_config.decoding_type"));
  d.name = text("speculative_config.speculative_model");
  if (d.name.empty()) d.name = text("speculative_config.speculative_model_dir");
  return d;
}

void read_drafting(const Question& q, Setup& s) {
  const auto& entries = q.settings.options.entries();
  const bool asked = std::any_of(entries.begin(), entries.end(), [](const json::Member& m) {
    return starts_with(m.key, "speculative_config");
  });
  if (!asked && !q.draft.given()) return;
  const Drafting d = drafting(q.settings.options);
  // Look-ups in the text itself hold nothing on the GPU.
  for (const std::string_view lookup : {"ngram", "lookahead", "sa", "savestate", "user_provided"}) {
    if (d.method == lookup) return;
  }
  s.drafter_head = d.method == "eagle" ? HeadKind::eagle3 : head_kind(d.method, d.name);
  s.drafter = !d.name.empty() || q.draft.given() || s.drafter_head != HeadKind::none;
  if (d.method == "mtp") s.drafter = false;
  s.mtp = !s.drafter;
}

}  // namespace

std::string draft_named(const Options& options) {
  const Drafting d = drafting(options);
  const bool separate = d.method == "draft_target" || d.method == "draft_model";
  return separate ? d.name : std::string();
}

Result<Setup> read_setup(const Question& q, Notes& notes) {
  Setup s;
  const Options& o = q.settings.options;
  TRY_ASSIGN(Facts facts, Facts::load("trtllm", q.settings.version));
  TRY(read_parallel(o, q, s, notes));
  Circumstances now = circumstances(*q.hardware);
  now.ranks = s.tensor;
  std::string backend;
  for (const char* name : {"moe_config.backend", "moe_backend"}) {
    TRY_ASSIGN(const auto given, o.string(name));
    if (given) backend = to_lower(*given);
  }
  now.card = backend;
  for (const char* name :
       {"free_gpu_memory_fraction", "kv_cache_config.free_gpu_memory_fraction"}) {
    TRY_ASSIGN(const auto fraction, o.number(name, 0, 1));
    if (fraction) s.fraction = *fraction;
  }
  if (s.fraction <= 0) s.fraction = facts.number("fraction");
  TRY_ASSIGN(const auto batch, first_integer(o, {"max_batch_size"}, 1, 1 << 24));
  TRY_ASSIGN(const auto tokens, first_integer(o, {"max_num_tokens"}, 1, int64_t{1} << 40));
  TRY_ASSIGN(const auto length, first_integer(o, {"max_seq_len"}, 1, int64_t{1} << 40));
  TRY_ASSIGN(
      const auto block,
      first_integer(o, {"kv_cache_config.tokens_per_block", "tokens_per_block"}, 1, 1 << 20));
  TRY_ASSIGN(s.max_tokens, first_integer(o, {"kv_cache_config.max_tokens"}, 1, int64_t{1} << 40));
  TRY_ASSIGN(const auto bytes,
             first_integer(o, {"kv_cache_config.max_gpu_total_bytes"}, 0, kLargestExactInteger));
  if (bytes && *bytes > 0) s.max_bytes = Bytes(*bytes);
  s.max_batch = batch.value_or(facts.integer("max_batch_size"));
  s.max_tokens_in_flight = tokens.value_or(facts.integer("max_num_tokens"));
  s.block_tokens = block.value_or(facts.integer("tokens_per_block"));
  s.max_seq = length.value_or(0);
  s.length_given = length.has_value();
  s.allow_long = switched_on(q.settings, "TLLM_ALLOW_LONG_MAX_MODEL_LEN");
  if (s.max_seq == 0 && q.workload.sequence_tokens.count() > 0) {
    s.max_seq = q.workload.sequence_tokens.count();
    s.length_from_workload = true;
  }
  const int64_t reads = q.model->max_positions;
  if (s.max_seq == 0) s.max_seq = reads > 0 ? reads : 2048;
  if (reads > 0 && s.max_seq > reads && !s.allow_long) {
    notes.warn("length_of_the_model",
               "max_seq_len is lowered to " + format_grouped(reads) +
                   " tokens, what the model reads; TLLM_ALLOW_LONG_MAX_MODEL_LEN=1 allows more",
               "tensorrt_llm/_torch/pyexecutor/model_engine.py");
    s.max_seq = reads;
  }

  TRY_ASSIGN(const auto dtype, o.string("dtype"));
  s.plain = dtype && dtype_from_name(*dtype) ? *dtype_from_name(*dtype) : q.model->dtype;
  if (s.plain == DType::float32) s.plain = DType::bfloat16;
  std::string cache = "auto";
  for (const char* name : {"kv_cache_dtype", "kv_cache_config.dtype"}) {
    TRY_ASSIGN(const auto given, o.string(name));
    if (given) cache = to_lower(*given);
  }
  if (cache == "auto" && q.weights->recipe && !q.weights->recipe->kv_cache_dtype.empty())
    cache = q.weights->recipe->kv_cache_dtype;
  s.cache_dtype = cache == "auto" ? std::string(to_string(s.plain)) : cache;
  if (starts_with(cache, "fp8") || cache == "int8") {
    s.element = {1, 1};
  } else if (starts_with(cache, "nvfp4") || starts_with(cache, "fp4")) {
    s.element = {9, 16};
  } else {
    s.element = {dtype_bytes(s.plain), 1};
  }
  read_drafting(q, s);
  TRY_ASSIGN(const auto vanilla, o.boolean("speculative_config.use_mtp_vanilla"));
  TRY_ASSIGN(const auto drafted,
             o.integer("speculative_config.num_nextn_predict_layers", 1, 1 << 10));
  if (vanilla.value_or(false)) s.mtp_copies = drafted.value_or(1);
  s.drafts_counted = facts.flag("drafts_counted");

  TRY(read_overhead(o, facts, now, s));
  s.deep_gemm = backend == "deepgemm";
  s.batch_sizes_trial = facts.flag("batch_sizes_trial");
  s.mxfp4_padding = padding(facts, facts.row("mxfp4_padding", now));
  s.nvfp4_padding = padding(facts, facts.row("nvfp4_padding", now));
  s.weights_low_per_mille = facts.integer("weights_low_per_mille");
  s.weights_high_per_mille = facts.integer("weights_high_per_mille");
  TRY(facts.check());
  if (q.detail == Detail::full) {
    TRY(warn_of_options(o, "trtllm", "TensorRT-LLM", notes));
    warn_of_variables(q.settings.env, "trtllm", "TensorRT-LLM", notes);
    TRY(note_version(q.settings.version, "trtllm", notes));
  }
  return s;
}

}  // namespace vramwise::engines::trtllm
