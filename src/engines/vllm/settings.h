// What the user set, read once and typed: options, environment, workload. Nothing here depends on a
// version; defaults that do are filled in from the Profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engines/draft_head.h"
#include "engines/engine.h"
#include "engines/rank_cache.h"
#include "engines/vllm/profile.h"

namespace vramwise::engines::vllm {

// Not an option of vLLM: the program that a pasted line starts.
inline constexpr std::string_view kProgramOption = "program";

enum class Speculation { none, ngram, mtp, head, draft_model };

// Options as given.
struct Given {
  std::optional<double> utilisation;
  std::optional<Bytes> cache_bytes;     // kv_cache_memory_bytes
  std::optional<int64_t> cache_blocks;  // num_gpu_blocks_override
  std::optional<int64_t> max_model_len;
  bool fit_length = false;  // max_model_len = -1
  std::optional<int64_t> batch_tokens, max_seqs;
  std::optional<int64_t> block_tokens;
  std::string cache_dtype = "auto";
  std::string dtype = "auto";
  std::string conv_dtype = "auto", state_dtype = "auto";
  std::string state_mode;  // mamba_cache_mode
  int64_t tensor = 1, pipeline = 1, data = 1, decode_context = 1, prefill_context = 1;
  bool tensor_assumed = false;
  bool expert_parallel = false;
  int64_t spare_experts = 0;
  bool eager = false;    // no CUDA graphs
  bool compiled = true;  // by torch.compile
  std::optional<bool> prefix_caching, chunked_prefill;
  bool async_scheduling = true;
  bool no_window_groups = false;  // disable_hybrid_kv_cache_manager, KV connectors
  bool own_all_reduce = true;
  std::optional<bool> fuse_all_reduce;      // pass_config.fuse_allreduce_rms
  std::optional<int64_t> attention_splits;  // flash_attn_max_num_splits_for_cuda_graph
  bool pooling = false;                     // asked to embed, classify or score: nothing is sampled
  bool language_only = false, skip_tower_profiling = false;
  bool no_items = false;  // limit_mm_per_prompt is zero for every modality it names
  std::optional<int64_t> images_per_prompt, videos_per_prompt;  // limit_mm_per_prompt
  int64_t item_pixels = 0;  // mm_processor_kwargs.max_pixels; 0 = the processor's own
  std::string quantization;
  std::string moe_backend, attention_backend;
  std::optional<Requirement> own_build;  // asked for an attention backend that no release has
  std::string graph_mode;
  std::vector<int64_t> capture_sizes;
  std::optional<int64_t> largest_capture;
  Bytes offload;
  bool ngrams_on_host = false;   // VLLM_PLE_CPU_OFFLOAD
  bool compiled_before = false;  // VLLM_FORCE_AOT_LOAD: starts from what an earlier start compiled
  bool keeps_compiled = true;    // false: VLLM_DISABLE_COMPILE_CACHE, each start compiles
  std::string cache_folder = "~/.cache/vllm";  // VLLM_CACHE_ROOT
  bool fast_prefill = false;                   // kv_sharing_fast_prefill
  bool dual_batch = false;                     // enable_dbo
  bool weights_released = false;  // they lie in the pool of sleep mode (the cumem allocator)
  int64_t lora_slots = 0, lora_rank = 0;
  Speculation speculation = Speculation::none;
  std::string speculative_method;
  HeadKind drafter_head = HeadKind::none;
  int64_t draft_tensor = 0;  // ranks that share the drafter; 0: those of the target
  int64_t speculative_tokens = 0;
  // Environment
  std::optional<bool> first_engine;
  std::string_view entry = "server";  // what starts the engine: Circumstances::entry
  std::optional<bool> estimate_graphs;
  std::optional<bool> second_runner;  // VLLM_USE_V2_MODEL_RUNNER
  bool flashinfer_sampler = false;
  std::optional<Bytes> flashinfer_workspace;  // VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE
  bool expandable_segments = false;           // of PyTorch's allocator: blocks are cut to 512 bytes
  bool allow_long = false;                    // VLLM_ALLOW_LONG_MAX_MODEL_LEN
  bool grouped_chunks = false;
  bool marlin = false;
  bool deep_gemm_experts = false;
  std::vector<int64_t> stage_layers;  // VLLM_PP_LAYER_PARTITION
};

Result<Given> read_settings(const Question& question, Notes& notes);

// The same with every default decided.
struct Decided {
  double utilisation = 0;
  int64_t max_model_len = 0;
  int64_t batch_tokens = 0, max_seqs = 0;
  // Of the largest picture or video, where the batch is smaller and may not split it; 0: none.
  int64_t item_beyond_batch = 0;
  bool length_from_workload = false;
  bool prefix_caching = false;
  bool chunked = true;            // prompts are cut to batch_tokens
  DType plain = DType::bfloat16;  // weights and activations that are not quantised
  ElementSize cache_element;
  int64_t cache_bytes_per_head = 0;
  std::string cache_dtype;   // as it comes out: "bfloat16", "fp8"
  bool half_wanted = false;  // planned in float16, which this version has to be told
  DType conv = DType::bfloat16, state = DType::bfloat16;
  bool state_forced = false;
};

Decided decide(const Question& question, const Given& given, const Profile& profile,
               const Circumstances& now, Notes& notes);

}  // namespace vramwise::engines::vllm
