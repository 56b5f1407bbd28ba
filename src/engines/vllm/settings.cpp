#include "engines/vllm/settings.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/known_versions.h"
#include "engines/unknown_options.h"
#include "engines/vllm/attention_backend.h"

namespace vramwise::engines::vllm {
namespace {

// Bounds of what is accepted; the products that follow stay far inside int64.
constexpr int64_t kMaxTokens = int64_t{1} << 40;
constexpr int64_t kMaxSequences = int64_t{1} << 30;
constexpr int64_t kMaxRanks = 1 << 16;

// Counts with a suffix, as vLLM reads them: "32k" = 32,000, "32K" = 32,768, "25.6k" = 25,600.
std::optional<int64_t> human_count(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  int64_t factor = 1;
  switch (text.back()) {
    case 'k': factor = 1'000; break;
    case 'm': factor = 1'000'000; break;
    case 'g': factor = 1'000'000'000; break;
    case 't': factor = 1'000'000'000'000; break;
    case 'K': factor = int64_t{1} << 10; break;
    case 'M': factor = int64_t{1} << 20; break;
    case 'G': factor = int64_t{1} << 30; break;
    case 'T': factor = int64_t{1} << 40; break;
    default: return parse_integer(text);
  }
  text.remove_suffix(1);
  if (const auto whole = parse_integer(text)) return saturating_multiply(*whole, factor);
  const auto number = parse_number(text);
  if (!number || *number < 0 || *number > 1e15) return std::nullopt;
  return int64_t(*number * double(factor) + 0.5);
}

class Reader {
 public:
  Reader(const Options& options, Notes& notes) : options_(options), notes_(notes) {}

  Result<std::optional<int64_t>> count(std::string_view name, int64_t min, int64_t max) const {
    const json::Value* value = options_.find(name);
    if (value != nullptr && value->is_string()) {
      const auto n = human_count(value->as_string());
      if (n && *n >= min && *n <= max) return std::optional<int64_t>(*n);
    }
    return options_.integer(name, min, max);
  }
  Result<bool> flag(std::string_view name, bool fallback) const {
    TRY_ASSIGN(const std::optional<bool> value, options_.boolean(name));
    return value.value_or(fallback);
  }
  Result<std::string> word(std::string_view name, std::string fallback) const {
    TRY_ASSIGN(std::optional<std::string> value, options_.string(name));
    return value ? std::move(*value) : std::move(fallback);
  }
  Error bad(std::string_view name, std::string expected) const {
    const json::Value* value = options_.find(name);
    return Error(ErrorCode::invalid_input, "option '" + std::string(name) + "' is " +
                                               (value ? json::dump(*value) : "absent") +
                                               ", expected " + expected)
        .at("engine.options." + std::string(name));
  }
  const Options& options() const { return options_; }
  Notes& notes() const { return notes_; }

 private:
  const Options& options_;
  Notes& notes_;
};

Result<bool> read_lengths(const Reader& r, Given& g) {
  if (const json::Value* length = r.options().find("max_model_len");
      length != nullptr && length->is_string() && length->as_string() == "auto") {
    g.fit_length = true;
  } else {
    TRY_ASSIGN(const auto n, r.count("max_model_len", -1, kMaxTokens));
    if (n && *n == -1) {
      g.fit_length = true;
    } else if (n && *n < 1) {
      return fail(r.bad("max_model_len", "a length of 1 or more, or -1 to fit it"));
    } else {
      g.max_model_len = n;
    }
  }
  TRY_ASSIGN(g.batch_tokens, r.count("max_num_batched_tokens", 1, kMaxTokens));
  TRY_ASSIGN(g.max_seqs, r.count("max_num_seqs", 1, kMaxSequences));
  return true;
}

Result<bool> read_budget(const Reader& r, Given& g) {
  TRY_ASSIGN(g.utilisation, r.options().number("gpu_memory_utilization", 0, 1));
  if (g.utilisation && *g.utilisation <= 0) {
    return fail(r.bad("gpu_memory_utilization", "a share above 0 and at most 1"));
  }
  // Older spelling of the same.
  for (const char* name : {"kv_cache_memory_bytes", "kv_cache_memory"}) {
    TRY_ASSIGN(const auto bytes, r.count(name, 1, kLargestExactInteger));
    if (bytes) g.cache_bytes = Bytes(*bytes);
  }
  TRY_ASSIGN(g.cache_blocks, r.count("num_gpu_blocks_override", 1, kMaxTokens));
  TRY_ASSIGN(const auto offload, r.options().number("cpu_offload_gb", 0, 1e6));
  // vLLM counts these "GB" as GiB.
  if (offload) g.offload = Bytes(int64_t(*offload * double(GiB(1).count())));
  TRY_ASSIGN(g.ngrams_on_host, r.flag("engram_config.cpu_offload", false));
  TRY_ASSIGN(g.fast_prefill, r.flag("kv_sharing_fast_prefill", false));
  TRY_ASSIGN(g.dual_batch, r.flag("enable_dbo", false));
  TRY_ASSIGN(const bool sleeps, r.flag("enable_sleep_mode", false));
  TRY_ASSIGN(g.weights_released, r.flag("enable_cumem_allocator", sleeps));
  return true;
}

Result<bool> read_cache(const Reader& r, Given& g) {
  TRY_ASSIGN(g.block_tokens, r.count("block_size", 1, 1 << 20));
  TRY_ASSIGN(const std::string runner, r.word("runner", "auto"));
  TRY_ASSIGN(const std::string convert, r.word("convert", "auto"));
  TRY_ASSIGN(const std::string task, r.word("task", "auto"));
  g.pooling = runner == "pooling" || convert == "embed" || convert == "classify" ||
              (task != "auto" && task != "generate" && task != "transcription" && task != "draft");
  TRY_ASSIGN(g.cache_dtype, r.word("kv_cache_dtype", "auto"));
  TRY_ASSIGN(g.dtype, r.word("dtype", "auto"));
  TRY_ASSIGN(g.conv_dtype, r.word("mamba_cache_dtype", "auto"));
  TRY_ASSIGN(g.state_dtype, r.word("mamba_ssm_cache_dtype", "auto"));
  TRY_ASSIGN(g.state_mode, r.word("mamba_cache_mode", ""));
  TRY_ASSIGN(g.prefix_caching, r.options().boolean("enable_prefix_caching"));
  TRY_ASSIGN(g.chunked_prefill, r.options().boolean("enable_chunked_prefill"));
  TRY_ASSIGN(g.async_scheduling, r.flag("async_scheduling", true));
  TRY_ASSIGN(g.no_window_groups, r.flag("disable_hybrid_kv_cache_manager", false));
  for (const json::Member& member : r.options().entries()) {
    if (starts_with(member.key, "kv_transfer_config") && !member.value.is_boolean()) {
      g.no_window_groups = true;
      r.notes().assume("connector_full_windows",
                       "a KV connector makes vLLM cache every sliding-window layer in full",
                       "vllm v1/core/kv_cache_utils.py");
    }
  }
  return true;
}

Result<bool> read_parallel(const Reader& r, const Question& q, Given& g) {
  TRY_ASSIGN(const auto tensor, r.count("tensor_parallel_size", 1, kMaxRanks));
  TRY_ASSIGN(const auto pipeline, r.count("pipeline_parallel_size", 1, kMaxRanks));
  TRY_ASSIGN(const auto data, r.count("data_parallel_size", 1, kMaxRanks));
  TRY_ASSIGN(const auto decode, r.count("decode_context_parallel_size", 1, kMaxRanks));
  TRY_ASSIGN(const auto prefill, r.count("prefill_context_parallel_size", 1, kMaxRanks));
  g.pipeline = pipeline.value_or(1);
  g.data = data.value_or(1);
  g.decode_context = decode.value_or(1);
  g.prefill_context = prefill.value_or(1);
  const auto devices = int64_t(q.hardware->devices.size());
  if (tensor) {
    g.tensor = *tensor;
  } else if (!pipeline && !data && devices > 1) {
    g.tensor = devices;
    g.tensor_assumed = true;
  } else if (devices > g.pipeline * g.data && devices % (g.pipeline * g.data) == 0) {
    g.tensor = devices / (g.pipeline * g.data);
    g.tensor_assumed = true;
  }
  TRY_ASSIGN(g.expert_parallel, r.flag("enable_expert_parallel", false));
  TRY_ASSIGN(const auto spare, r.count("eplb_config.num_redundant_experts", 0, 1 << 16));
  g.spare_experts = spare.value_or(0);
  TRY_ASSIGN(const bool no_reduce, r.flag("disable_custom_all_reduce", false));
  g.own_all_reduce = !no_reduce;
  // The older name is that of 0.10 to 0.12.
  for (const char* name : {"compilation_config.pass_config.enable_fi_allreduce_fusion",
                           "compilation_config.pass_config.fuse_allreduce_rms"}) {
    TRY_ASSIGN(const auto fuse, r.options().boolean(name));
    if (fuse) g.fuse_all_reduce = fuse;
  }
  return true;
}

// 0 none, 1 stock, 2 traced once, 3 vLLM's own pieces. Source: vllm config/compilation.py.
constexpr int64_t kPieces = 3;

Result<std::optional<int64_t>> compilation_mode(const Reader& r, const char* option) {
  TRY_ASSIGN(const std::string word, r.word(option, ""));
  constexpr std::string_view kNames[] = {"none", "stock_torch_compile", "dynamo_trace_once",
                                         "vllm_compile"};
  for (int64_t i = 0; i <= kPieces; ++i) {
    if (to_lower(word) == kNames[i]) return std::optional<int64_t>(i);
  }
  if (word.empty()) return std::optional<int64_t>();
  return r.count(option, 0, kPieces);
}

// What is compiled, and the graphs that this leaves: those of pieces need the pieces.
// Source: vllm config/vllm.py, docs/design/optimization_levels.md. Before 0.12 -O is the mode.
Result<bool> read_compilation(const Reader& r, const Version& version, Given& g) {
  TRY_ASSIGN(const std::string backend, r.word("compilation_config.backend", ""));
  TRY_ASSIGN(const auto optimization, r.count("optimization_level", 0, kPieces));
  TRY_ASSIGN(std::optional<int64_t> mode, compilation_mode(r, "compilation_config.mode"));
  if (!mode) {
    TRY_ASSIGN(mode, compilation_mode(r, "compilation_config.level"));
  }
  const bool levels = !version.given || version.at_least(0, 12);
  if (!mode && optimization && (*optimization == 0 || !levels)) mode = *optimization;
  if (levels && optimization == 1 && g.graph_mode.empty()) g.graph_mode = "piecewise";
  g.compiled = mode.value_or(kPieces) > 0 && to_lower(backend) != "eager";
  const std::string graphs = to_lower(g.graph_mode);
  const bool whole = graphs == "full" || graphs == "full_decode_only";
  if (mode.value_or(kPieces) < kPieces && !whole) g.graph_mode = "none";
  return true;
}

Result<bool> read_graphs(const Reader& r, const Version& version, Given& g) {
  TRY_ASSIGN(g.eager, r.flag("enforce_eager", false));
  TRY_ASSIGN(g.graph_mode, r.word("compilation_config.cudagraph_mode", ""));
  TRY(read_compilation(r, version, g));
  if (g.eager) g.compiled = false;
  if (to_lower(g.graph_mode) == "none") g.eager = true;
  for (const char* name :
       {"cudagraph_capture_sizes", "compilation_config.cudagraph_capture_sizes"}) {
    TRY_ASSIGN(const auto sizes, r.options().numbers(name));
    if (!sizes) continue;
    g.capture_sizes.clear();
    for (const double size : *sizes) {
      if (!(size >= 1 && size <= 1e9)) return fail(r.bad(name, "a list of batch sizes"));
      g.capture_sizes.push_back(int64_t(size));
    }
  }
  for (const char* name :
       {"max_cudagraph_capture_size", "compilation_config.max_cudagraph_capture_size"}) {
    TRY_ASSIGN(const auto largest, r.count(name, 0, kMaxTokens));
    if (largest) g.largest_capture = largest;
  }
  TRY_ASSIGN(g.attention_splits,
             r.count("attention_config.flash_attn_max_num_splits_for_cuda_graph", 0, 1024));
  return true;
}

Result<bool> read_kernels(const Reader& r, const Version& version, Given& g) {
  TRY_ASSIGN(g.quantization, r.word("quantization", ""));
  TRY_ASSIGN(g.moe_backend, r.word("moe_backend", ""));
  if (g.moe_backend.empty()) {
    TRY_ASSIGN(g.moe_backend, r.word("kernel_config.moe_backend", ""));
  }
  TRY_ASSIGN(g.attention_backend, r.word("attention_backend", ""));
  if (g.attention_backend.empty()) {
    TRY_ASSIGN(g.attention_backend, r.word("attention_config.backend", ""));
  }
  TRY_ASSIGN(g.own_build, unknown_backend(version, g.attention_backend));
  g.marlin = g.moe_backend == "marlin" || contains(g.quantization, "marlin");
  g.deep_gemm_experts = g.moe_backend == "deep_gemm";
  return true;
}

Result<bool> read_multimodal(const Reader& r, const model::Model& model, Given& g) {
  TRY_ASSIGN(g.language_only, r.flag("language_model_only", false));
  TRY_ASSIGN(g.skip_tower_profiling, r.flag("skip_mm_profiling", false));
  TRY_ASSIGN(const auto pixels, r.count("mm_processor_kwargs.max_pixels", 1, int64_t{1} << 40));
  TRY_ASSIGN(const auto edge,
             r.count("mm_processor_kwargs.size.longest_edge", 1, int64_t{1} << 40));
  g.item_pixels = pixels.value_or(edge.value_or(0));
  // Nothing to profile when all that the tower reads is switched off (`_mark_tower_model` of
  // model_executor/models/interfaces.py); a limit that is not given is not zero.
  bool any = false, all_zero = true;
  for (const char* modality : {"image", "video", "audio"}) {
    const std::string name = std::string("limit_mm_per_prompt.") + modality;
    const json::Value* value = r.options().find(name);
    // {"image": 2}, or with the size of a dummy image: {"image": {"count": 2, "width": 512}}.
    if (value == nullptr) value = r.options().find(name + ".count");
    if (value == nullptr || !value->is_integer()) continue;
    any = true;
    if (value->as_integer() != 0) all_zero = false;
    if (modality == std::string_view("image")) g.images_per_prompt = value->as_integer();
    if (modality == std::string_view("video")) g.videos_per_prompt = value->as_integer();
  }
  const auto& vision = model.vision;
  if (vision) {
    // Towers of Qwen and Gemma 4 read videos too.
    const bool reads_videos = vision->image_tokens > 0 || vision->pixels_per_token > 0;
    const bool videos = reads_videos && g.videos_per_prompt.value_or(1) != 0;
    g.no_items = g.images_per_prompt.value_or(1) == 0 && !videos;
  } else {
    g.no_items = any && all_zero;
  }
  if (g.no_items) g.skip_tower_profiling = true;
  return true;
}

Result<bool> read_adapters(const Reader& r, Given& g, Notes& notes) {
  TRY_ASSIGN(const bool enabled, r.flag("enable_lora", false));
  TRY_ASSIGN(const auto slots, r.count("max_loras", 1, 1 << 16));
  TRY_ASSIGN(const auto rank, r.count("max_lora_rank", 1, 1 << 16));
  if (!enabled) {
    if (slots || rank) {
      notes.warn(
          "adapters_off",
          "max_loras and max_lora_rank do nothing without enable_lora: no memory is set aside "
          "for adapters");
    }
    return true;
  }
  g.lora_slots = slots.value_or(1);
  g.lora_rank = rank.value_or(16);
  return true;
}

Result<bool> read_speculation(const Reader& r, const Question& q, Given& g) {
  TRY_ASSIGN(std::string method, r.word("speculative_config.method", ""));
  TRY_ASSIGN(std::string draft, r.word("speculative_config.model", ""));
  TRY_ASSIGN(auto tokens, r.count("speculative_config.num_speculative_tokens", 1, 4096));
  TRY_ASSIGN(const auto ranks,
             r.count("speculative_config.draft_tensor_parallel_size", 1, 1 << 16));
  // The same in short, since 2026-05.
  TRY_ASSIGN(const std::string short_method, r.word("spec_method", ""));
  TRY_ASSIGN(const std::string short_model, r.word("spec_model", ""));
  TRY_ASSIGN(const auto short_tokens, r.count("spec_tokens", 1, 4096));
  if (method.empty()) method = short_method;
  if (draft.empty()) draft = short_model;
  if (!tokens) tokens = short_tokens;
  if (draft.empty()) {
    // Options of their own before speculative_config; "[ngram]" stood for the look-up.
    TRY_ASSIGN(draft, r.word("speculative_model", ""));
    TRY_ASSIGN(const auto old_tokens, r.count("num_speculative_tokens", 1, 4096));
    if (!tokens) tokens = old_tokens;
    if (draft == "[ngram]") method = "ngram";
  }
  method = to_lower(method);
  if (method.empty() && draft.empty() && !q.draft.given()) return true;
  g.speculative_method = method.empty() ? "draft_model" : method;
  g.speculative_tokens = tokens.value_or(1);
  g.draft_tensor = ranks.value_or(0);
  g.drafter_head = head_kind(method, draft);
  if (method == "ngram" || method == "suffix") {
    g.speculation = Speculation::ngram;
  } else if (contains(method, "mtp")) {
    g.speculation = Speculation::mtp;
  } else if (g.drafter_head != HeadKind::none) {
    g.speculation = Speculation::head;
  } else {
    g.speculation = Speculation::draft_model;
  }
  return true;
}

// The program of a pasted line. Source: vllm engine/arg_utils.py, usage contexts.
std::string_view entry_of(std::string_view program) {
  if (program == "LLM" || program == "bench throughput" || program == "bench latency") {
    return "offline";
  }
  if (program == "AsyncEngineArgs" || program == "EngineArgs" || program == "run-batch") {
    return "engine";
  }
  return "server";
}

// A variable that switches something; blank: not said. vLLM itself ends on other words, or takes
// them for "no" without a word.
Result<std::optional<bool>> switch_of(const std::string& name, const std::string& value) {
  const std::string word = to_lower(trim(value));
  if (word.empty()) return std::optional<bool>();
  if (word == "1" || word == "true") return std::optional<bool>(true);
  if (word == "0" || word == "false") return std::optional<bool>(false);
  return fail(Error(ErrorCode::invalid_input, name + " is '" + value + "', expected 0 or 1")
                  .at("engine.env." + name)
                  .hint("true and false are taken too"));
}

struct Switch {
  std::string_view name;
  void (*set)(Given&, bool on);
};
constexpr Switch kSwitches[] = {
    {"VLLM_USE_V1", [](Given& g, bool on) { g.first_engine = !on; }},
    {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", [](Given& g, bool on) { g.estimate_graphs = on; }},
    {"VLLM_USE_FLASHINFER_SAMPLER", [](Given& g, bool on) { g.flashinfer_sampler = on; }},
    {"VLLM_USE_V2_MODEL_RUNNER", [](Given& g, bool on) { g.second_runner = on; }},
    {"VLLM_ALLOW_LONG_MAX_MODEL_LEN", [](Given& g, bool on) { g.allow_long = on; }},
    {"VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE",
     [](Given& g, bool on) { g.grouped_chunks = on; }},
    {"VLLM_MXFP4_USE_MARLIN", [](Given& g, bool on) { g.marlin = g.marlin || on; }},
    {"VLLM_TEST_FORCE_FP8_MARLIN", [](Given& g, bool on) { g.marlin = g.marlin || on; }},
    {"VLLM_PLE_CPU_OFFLOAD", [](Given& g, bool on) { g.ngrams_on_host = on; }},
    {"VLLM_FORCE_AOT_LOAD", [](Given& g, bool on) { g.compiled_before = on; }},
    {"VLLM_DISABLE_COMPILE_CACHE", [](Given& g, bool on) { g.keeps_compiled = !on; }},
    {"VLLM_MOE_USE_DEEP_GEMM", [](Given& g, bool on) { g.deep_gemm_experts = on; }}};

Result<bool> read_environment(const std::map<std::string, std::string>& env, Given& g) {
  for (const Switch& known : kSwitches) {
    const auto at = env.find(std::string(known.name));
    if (at == env.end()) continue;
    TRY_ASSIGN(const auto on, switch_of(at->first, at->second));
    if (on) known.set(g, *on);
  }
  for (const auto& [name, value] : env) {
    if (name == "VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE") {
      const auto bytes = parse_integer(trim(value));
      if (bytes && *bytes >= 0) g.flashinfer_workspace = Bytes(*bytes);
    }
    if (name == "PYTORCH_CUDA_ALLOC_CONF" || name == "PYTORCH_ALLOC_CONF") {
      g.expandable_segments = contains(to_lower(value), "expandable_segments:true");
    }
    if (name == "VLLM_CACHE_ROOT" && !trim(value).empty()) g.cache_folder = value;
    if (name == "VLLM_PP_LAYER_PARTITION") {
      for (const std::string_view part : split(value, ',')) {
        const auto n = parse_integer(trim(part));
        if (!n || *n < 0 || *n > 100'000) {
          return fail(Error(ErrorCode::invalid_input,
                            "VLLM_PP_LAYER_PARTITION is '" + value + "', expected layer counts")
                          .at("engine.env.VLLM_PP_LAYER_PARTITION"));
        }
        g.stage_layers.push_back(*n);
      }
    }
  }
  // Without its cache nothing that an earlier start compiled is found.
  if (!g.keeps_compiled) g.compiled_before = false;
  return true;
}

}  // namespace

Result<Given> read_settings(const Question& question, Notes& notes) {
  Given given;
  const Reader reader(question.settings.options, notes);
  TRY(read_lengths(reader, given));
  TRY(read_budget(reader, given));
  TRY(read_cache(reader, given));
  TRY(read_parallel(reader, question, given));
  TRY(read_graphs(reader, question.settings.version, given));
  TRY(read_kernels(reader, question.settings.version, given));
  TRY_ASSIGN(const auto program, question.settings.options.string(kProgramOption));
  if (program) given.entry = entry_of(*program);
  TRY(read_multimodal(reader, *question.model, given));
  TRY(read_adapters(reader, given, notes));
  TRY(read_speculation(reader, question, given));
  TRY(read_environment(question.settings.env, given));
  if (question.detail == Detail::full) {
    TRY(warn_of_options(question.settings.options, "vllm", "vLLM", notes));
    warn_of_variables(question.settings.env, "vllm", "vLLM", notes);
    TRY(note_version(question.settings.version, "vllm", notes));
  }
  return given;
}

}  // namespace vramwise::engines::vllm
