// SGLang and TensorRT-LLM. Sources: sglang srt/model_executor/model_runner.py, srt/mem_cache,
// srt/managers/scheduler.py; TensorRT-LLM cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp,
// tensorrt_llm/_torch/pyexecutor; server logs in public issues. SGLang's "GB" is 2^30 bytes.
#include <array>

#include "verify/templates.h"

namespace vramwise::verify {
namespace {

using P = Phase;
// A drafter prints these as its target does before it.
constexpr std::string_view kBeforeLoading = "before_loading", kLoaded = "loaded", kPool = "pool";
constexpr Tells kConfig = Tells::config, kFailure = Tells::failure, kValues = Tells::values;

constexpr std::array kSglang = {
    Template{"server_args=ServerArgs\\(", kConfig, P::start, "sglang_args"},
    Template{"server_args=\\{", kConfig, P::start, "sglang_args"},
    Template{"Init torch distributed ends.{:t}mem usage={context:size}", kValues, P::load},
    Template{"Load weight begin.( avail mem={before_loading:size})?", kValues, P::load,
             kBeforeLoading},
    Template{"Load weight end.{:t} avail mem={after_loading:size}, mem usage={weights:size}",
             kValues, P::sizing, kLoaded, "0.4.3", "", true},
    Template{"Load weight end.{:t} avail mem={after_loading:size}", kValues, P::sizing, kLoaded},
    Template{"Memory profiling: available_gpu_memory={available:size}", kValues, P::sizing},
    Template{"memory calculation: bytes_per_full_token={bytes_per_token:x}, "
             "available_bytes={available:size}, full_token={full_tokens:n}",
             kValues, P::sizing},
    Template{"Using KV cache dtype: torch.{cache_dtype:w}"},
    Template{"KV Cache is allocated.( dtype: {:w},)? #tokens: {pool_tokens:n}, K size: "
             "{k_memory:size}, V size: {v_memory:size}",
             kValues, P::capture, kPool},
    Template{"KV Cache is allocated.( dtype: {:w},)? #tokens: {pool_tokens:n}, KV size: "
             "{kv_memory:size}",
             kValues, P::capture, kPool},
    Template{"KV Cache is allocated. K size: {k_memory:size}, V size: {v_memory:size}", kValues,
             P::capture, kPool, "", "0.4.2"},
    Template{"liding window memory pool. full_layer_tokens={full_layer_tokens:n}, "
             "swa_layer_tokens={swa_layer_tokens:n}"},
    Template{"liding window memory pool \\(all SWA\\). swa_layer_tokens={swa_layer_tokens:n}"},
    Template{"SWAKVPool mem usage: {swa_pool_memory:size}, swa size: {swa_layer_tokens:n}, full "
             "size: {full_layer_tokens:n}"},
    Template{"Mamba Cache is allocated. max_mamba_cache_size: {state_slots:n}, conv_state size: "
             "{conv_state:size}, ssm_state size: {ssm_state:size}",
             kValues, P::sizing},
    Template{"Mamba Cache is allocated.", kValues, P::sizing},
    Template{"max_running_requests is capped to {max_running_requests:n}"},
    Template{"Memory pool end. avail mem={after_pool:size}", kValues, P::capture},
    Template{"Capture cuda graph begin.{:t}avail mem={before_graphs:size}", kValues, P::capture},
    Template{"Capture cuda graph end. Time elapsed: {:x} s.( mem usage={graphs:size}.)?( avail "
             "mem={after_graphs:size})?",
             kValues, P::serve},
    Template{"CUDA graph end.{:t}elapsed={:x} s, mem usage={graphs:size}, avail "
             "mem={after_graphs:size}",
             kValues, P::serve},
    Template{"max_total_num_tokens={max_total_tokens:n}, chunked_prefill_size={chunk:n}, "
             "max_prefill_tokens={max_prefill_tokens:n}(, "
             "max_running_requests={max_running_requests:n})?(, context_len={context_length:n})?(, "
             "available_gpu_mem={after_graphs:size})?",
             kValues, P::serve},
    Template{"The server is fired up and ready to roll", kValues, P::serve},
    Template{"Not enough memory. Please try to increase --mem-fraction-static", kFailure, P::sizing,
             "fraction_too_low"},
    Template{"Loaded weights leave no GPU memory for the KV cache under "
             "--mem-fraction-static={fraction:x}.( Raise --mem-fraction-static above "
             "{fraction_needed:x} \\(minimum viable = 1 - available/pre = {fraction_least:x}\\))?",
             kFailure, P::sizing, "fraction_too_low", "", "", true},
    Template{"Capture CUDA graph failed", kFailure, P::capture, "out_of_memory", "", "", true},
    Template{"Capture cuda graph failed", kFailure, P::capture, "out_of_memory", "", "", true},
    Template{"Input length \\({input_tokens:n} tokens\\) exceeds the maximum allowed length "
             "\\({pool_bound:n} tokens\\)",
             kFailure, P::serve, "request_too_long"},
    Template{"The memory capacity is unbalanced.", kFailure, P::load, "unbalanced"},
};

constexpr std::array kTrtllm = {
    Template{"TensorRT-LLM version: {version:w}", kConfig, P::start, "trtllm_version"},
    Template{"Engine version {version:w} found in the config file", kConfig, P::start,
             "trtllm_version"},
    Template{"Loaded engine size: {weights:size}", kValues, P::profile},
    Template{"TRTGptModel maxNumSequences: {max_sequences:n}"},
    Template{"TRTGptModel maxBatchSize: {max_batch_size:n}"},
    Template{"TRTGptModel maxSequenceLen: {max_seq_len:n}"},
    Template{"TRTGptModel maxNumTokens: {max_num_tokens:n}"},
    Template{"MemUsageChange] Allocated {execution_context:size} for execution context memory",
             kValues, P::profile},
    Template{"MemUsageChange] Allocated {runtime_buffers:size} GPU memory for runtime buffers",
             kValues, P::profile},
    Template{"MemUsageChange] Allocated {decoder:size} GPU memory for decoder", kValues,
             P::profile},
    Template{"Memory usage when calculating max tokens in paged kv cache: total: {total:size}, "
             "available: {free_at_sizing:size}",
             kValues, P::sizing},
    Template{"Number of blocks in KV cache primary pool: {blocks:n}", kValues, P::sizing},
    Template{"Number of tokens per block: {block_tokens:n}"},
    // Printed twice in the PyTorch flow, the small pool of the profile first: the last one counts.
    Template{"MemUsageChange] Allocated {pool_memory:size} for max tokens in paged KV cache "
             "\\({pool_tokens:n}\\)",
             kValues, P::serve},
    Template{"Allocate {pool_memory:size} for k/v cache", kValues, P::serve, "", "0.5", "0.8"},
    Template{"Using {pool_tokens:n} tokens in paged KV cache", kValues, P::serve, "", "0.5", "0.8"},
    Template{
        "Peak memory during memory usage profiling \\(torch + non-torch\\): {peak:size}, "
        "available KV cache memory when calculating max tokens: {available:size}(, fraction is "
        "set {fraction:x})?(, kv size [is|per token is] {bytes_per_token:n})?(.{:t}device total "
        "memory {total:size})?({:t}kv_mem {temporary_cache:size})?({:t}temporary kv cache "
        "memory during profiling {temporary_cache:size})?",
        kValues, P::sizing, "", "0.18", "", true},
    Template{
        "Memory used after loading model weights \\(inside torch\\) in memory usage profiling: "
        "{weights:size}",
        kValues, P::profile},
    Template{
        "Memory used after loading model weights \\(outside torch\\) in memory usage profiling: "
        "{weights_outside_torch:size}"},
    Template{"Memory dynamically allocated during inference \\(inside torch\\) in memory usage "
             "profiling: {activation:size}"},
    Template{
        "Memory used outside torch \\(e.g., NCCL and CUDA graphs\\) in memory usage profiling: "
        "{non_torch:size}"},
    Template{"Estimated max memory in KV cache : {available:size}", kValues, P::sizing},
    Template{"device quota set to {pool_memory:size}", kValues, P::sizing, "", "1.2", ""},
    Template{"kv size per token is {bytes_per_token:n} byte", kValues, P::sizing, "", "1.2", ""},
    Template{"host cache quota set to {host_cache:size}", kValues, P::sizing, "", "1.2", ""},
    Template{
        "Attention window size {:n} exceeds upper bound {:n} for available blocks. Reducing to "
        "{window_reduced:n}"},
    Template{"Setting PyTorch memory fraction to {torch_fraction:x} \\({torch_limit:gib} GiB\\)"},
    Template{"max_seq_len={max_seq_len:n}, max_num_requests={max_sequences:n}, "
             "max_num_tokens={max_num_tokens:n}, max_batch_size={max_batch_size:n}"},
    Template{"KV cache memory is not enough", kFailure, P::sizing, "cache_too_small"},
    Template{"Failed to allocate memory for KV cache", kFailure, P::sizing, "cache_too_small"},
};

}  // namespace

std::span<const Template> sglang_templates() { return kSglang; }
std::span<const Template> trtllm_templates() { return kTrtllm; }

}  // namespace vramwise::verify
