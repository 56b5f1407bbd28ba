// vLLM, both engines. Sources: vllm worker/worker.py, worker/model_runner.py,
// executor/executor_base.py, v1/worker/gpu_worker.py, v1/worker/gpu_model_runner.py,
// v1/core/kv_cache_utils.py, v1/engine/core.py and server logs of 0.2 to 0.31 in public issues.
#include <array>

#include "verify/templates.h"

namespace vramwise::verify {
namespace {

using P = Phase;
constexpr Tells kConfig = Tells::config, kFailure = Tells::failure, kValues = Tells::values;

constexpr std::array kRows = {
    // Who it is
    Template{"Initializing an LLM engine (\\(v{version:w}\\) )?with config: {:t}model=", kConfig,
             P::load, "vllm_engine", "0.2", "0.11"},
    Template{"Initializing a [V0|V1] LLM engine (\\(v{version:w}\\) )?with config: {:t}model=",
             kConfig, P::load, "vllm_engine", "0.8", ""},
    Template{"vLLM API server version {version:w}", kConfig, P::start, "vllm_version"},
    // Beside the picture of the name, which is all that some logs keep.
    Template{"▀▄▀ █~version {version:w}", kConfig, P::start, "vllm_version", "0.16", ""},
    Template{"non-default args: \\{", kConfig, P::start, "vllm_args", "0.9", ""},
    Template{"args: Namespace\\(", kConfig, P::start, "vllm_namespace", "0.2", "0.8"},
    Template{"Using max model len {max_model_len:n}"},
    Template{"Chunked prefill is enabled with max_num_batched_tokens={max_num_batched_tokens:n}"},
    Template{"in world size {world_size:n} is assigned as"},
    Template{"Auto-fit max_model_len: reduced from {:n} to {fitted_max_model_len:n}"},
    Template{"Checkpoint size: {checkpoint:size}. Available RAM: {ram_available:size}", kValues,
             P::load, "", "0.19", ""},
    Template{"Using '{moe_backend:w}' {:w} MoE backend", kConfig, P::load, "vllm_moe_backend",
             "0.19", ""},
    Template{"mxfp4.py:{:n}\\] Using {moe_backend:w} backend", kConfig, P::load, "vllm_moe_backend",
             "0.11", "0.18"},
    // What "auto" came to, and what the machine allows.
    Template{"Custom allreduce is disabled because", kConfig, P::load, "vllm_no_all_reduce"},
    Template{"Using fp8 data type to store kv cache", kConfig, P::load, "vllm_fp8_cache", "0.4",
             ""},
    Template{"kv_cache_dtype=torch.float8_e4m3fn", kConfig, P::profile, "vllm_fp8_cache", "0.24",
             ""},
    // Which sampler's kernels and which model runner are in use.
    Template{"Using FlashInfer for top-p & top-k sampling", kConfig, P::load,
             "vllm_flashinfer_sampler", "0.8", ""},
    Template{"model_runner.py:{:n}\\] Loading model from scratch", kConfig, P::load,
             "vllm_second_runner", "0.22", ""},
    Template{"gpu_model_runner.py:{:n}\\] Starting to load model ", kConfig, P::load,
             "vllm_first_runner", "0.22", ""},
    // A restart finds what an earlier start compiled.
    Template{"Directly load AOT compilation from path", kConfig, P::profile, "vllm_compiled_before",
             "0.22", ""},
    Template{"Total CPU offloaded parameters: {cpu_offload:size}"},
    Template{"Starting to load model ", kValues, P::load},

    // Weights
    Template{"Loading model weights took {weights:size}", kValues, P::profile, "", "0.4", "0.7"},
    Template{"Model loading took {weights:size}( memory)? and {load_seconds:x} seconds", kValues,
             P::profile, "", "0.8", ""},
    Template{"Loading weights took {:x} seconds", Tells::decoy},
    Template{"Time spent downloading weights", Tells::decoy},

    // Profile
    Template{"Memory profiling results:~total_gpu_memory={total:size}~"
             "initial_memory_usage={initial_usage:size}~peak_torch_memory={peak_torch:size}~"
             "memory_usage_post_profile={usage_after:size}~non_torch_memory={non_torch:size}~"
             "kv_cache_size={available:size}~gpu_memory_utilization={utilisation:x}",
             kValues, P::sizing, "", "0.6.4", "0.6.5", true},
    Template{"the current vLLM instance can use total_gpu_memory \\({total:size}\\)( )?x "
             "gpu_memory_utilization \\({utilisation:x}\\) = {budget:size}",
             kValues, P::profile, "", "0.6.5", "0.9", true},
    Template{
        "model weights take {weights_in_profile:size};~non_torch_memory takes {non_torch:size};~"
        "PyTorch activation peak memory takes {activation:size};~the rest of the memory "
        "reserved for KV Cache is {available:size}",
        kValues, P::sizing, "", "0.6.5", "0.9", true},
    Template{"The engine can allocate {blocks:n} GPU blocks, {cpu_blocks:n} CPU blocks", kValues,
             P::sizing},
    Template{"Available KV cache memory: {available:size}", kValues, P::sizing, "", "0.8", ""},
    Template{"Initial free memory: {free_at_start:size}; Requested memory: {utilisation:x} "
             "\\(util\\), {budget:size}",
             kValues, P::profile, "", "0.9", ""},
    Template{"Free memory after profiling: {free_after_profile:size} \\(total\\), "
             "{free_within_budget:size} \\(within requested\\)"},
    Template{"Total non KV cache memory: {non_cache:size}; torch peak memory increase: "
             "{activation:size}; non-torch forward increase memory: {non_torch:size}; weights "
             "memory: {weights_in_profile:size}",
             kValues, P::sizing, "", "0.9", "", true},
    Template{"Encoder cache will be initialized with a budget of {encoder_budget:n} tokens, and "
             "profiled with {encoder_items:n} {encoder_modality:w} items"},
    Template{"Initial free memory {free_at_start:size}, reserved {cache_given:size} memory for KV "
             "Cache as specified by kv_cache_memory_bytes",
             kValues, P::sizing, "", "0.10.2", "", true},
    Template{"Profiling CUDA graph memory: PIECEWISE={piecewise_graphs:n} \\(largest={:n}\\), "
             "FULL={decode_graphs:n} \\(",
             kValues, P::profile, "", "0.17", ""},
    Template{"Estimated CUDA graph memory: {graphs_estimated:size} total", kValues, P::profile, "",
             "0.17", ""},
    Template{"The current --gpu-memory-utilization={utilisation:x} is equivalent to "
             "--gpu-memory-utilization={utilisation_without_graphs:x} without CUDA graph memory "
             "profiling",
             kValues, P::profile, "", "0.21", "", true},
    // The estimate that was printed is not charged.
    Template{"In v0.19, CUDA graph memory profiling will be enabled by default{:t}"
             "--gpu-memory-utilization from {utilisation:x} to {utilisation_with_graphs:x}",
             kValues, P::profile, "", "0.17", "0.20", true},
    Template{"In v0.19, CUDA graph memory profiling will be enabled by default", Tells::decoy},
    Template{"Explicitly set \\({cache_given:gib}/{:x}\\) GiB for KV cache on node"},

    // Cache
    Template{"# GPU blocks: {blocks:n}(, # CPU blocks: {cpu_blocks:n})?", kValues, P::capture, "",
             "0.2", "0.7"},
    Template{"# cuda blocks: {blocks:n}(, # CPU blocks: {cpu_blocks:n})?", kValues, P::capture, "",
             "0.7", "0.9"},
    Template{"# CUDA blocks: {blocks:n}(, # CPU blocks: {cpu_blocks:n})?", kValues, P::capture, "",
             "0.7", "0.9"},
    Template{"# rocm blocks: {blocks:n}(, # CPU blocks: {cpu_blocks:n})?", kValues, P::capture, "",
             "0.7", "0.9"},
    Template{"GPU KV cache size: {pool_tokens:n} tokens(, Maximum concurrency for "
             "{concurrency_length:n} tokens per request: {concurrency:x}x)?",
             kValues, P::capture, "", "0.7.3", ""},
    Template{"Maximum concurrency for {concurrency_length:n} tokens per request: {concurrency:x}x",
             kValues, P::capture},
    Template{"GPU KV cache usage:", Tells::decoy, P::serve},
    Template{"Setting attention block size to {block_tokens:n} tokens"},
    Template{"Padding mamba page size by {state_padding_percent:x}%"},
    Template{"padding layers, may waste at most {padding_percent:x}%"},
    Template{"Setting kv cache block size to {block_tokens:n} for"},
    Template{"Forcing kv cache block size to {block_tokens:n} for"},
    Template{"Multiplying the GPU KV cache size by the [dcp|cp]_world_size {context_ranks:n}"},
    // Seen with 0 -> 512 while graphs are profiled: not the pool.
    Template{"Overriding num_gpu_blocks={:n} with num_gpu_blocks_override={:n}", Tells::decoy},
    Template{"num_gpu_blocks is: {blocks_per_engine:n}", kValues, P::capture},

    // Graphs and what comes after
    Template{"Capturing CUDA graphs \\([decode, |]FULL\\):{:t}/{decode_graphs:n} \\[", kValues,
             P::capture, "", "0.11", ""},
    Template{"Graph capturing finished in {capture_seconds:x} secs, took {graphs:size}", kValues,
             P::warmup, "", "0.6.2", ""},
    Template{"Graph capturing finished in {capture_seconds:x} secs.", kValues, P::warmup, "", "0.2",
             "0.6.1"},
    Template{"CUDA graph pool memory: {graphs:size} \\(actual\\), {graphs_estimated:size} "
             "\\(estimated\\)",
             kValues, P::warmup, "", "0.17", ""},
    Template{
        "Free memory on device (cuda:{:n} )?\\({free_at_start:gib}/{total:gib} GiB\\) on startup. "
        "Desired GPU memory utilization is \\({utilisation:x}, {budget:size}\\). Actual usage "
        "is {weights_in_profile:size} for weight, {activation:size} for peak activation, "
        "{non_torch:size} for non-torch memory, and {graphs:size} for CUDAGraph memory."
        "({:t}Current kv cache memory in use is {cache_in_use:size})?",
        kValues, P::serve, "usage", "0.10.2", "", true},
    Template{
        "Free memory on device (cuda:{:n} )?\\({free_at_start:gib}/{total:gib} GiB\\) on startup. "
        "Desired GPU memory utilization is \\({utilisation:x}, {budget:size}\\). Actual usage "
        "is {consumed:size} for consumed memory \\(weights + non-torch\\), "
        "{activation_with_graphs:size} for peak activation, and {graphs:size} for CUDAGraph memory."
        "({:t}Current kv cache memory in use is {cache_in_use:size})?",
        kValues, P::serve, "usage", "0.24", "", true},
    Template{"init engine \\(profile, create kv cache, warmup model\\) took", kValues, P::serve},
    Template{"Application startup complete", kValues, P::serve},

    // Refusals
    Template{"The model's max seq len \\({max_model_len:n}\\) is larger than the maximum number of "
             "tokens that can be stored in KV cache \\({refused_tokens:n}\\)",
             kFailure, P::sizing, "cache_too_small", "0.2", "0.9", true},
    Template{
        "To serve at least one request with the model{:t}max seq len \\({max_model_len:n}\\),"
        "~(\\()?({needed:size} KV cache is needed, which is larger than the available KV cache "
        "memory \\({available_refused:size}\\).)?"
        "( Based on the available memory, the estimated maximum model length is "
        "{estimated_length:n})?",
        kFailure, P::sizing, "cache_too_small", "0.8", "", true},
    Template{"To serve at least one request with the model", kFailure, P::sizing,
             "cache_too_small"},
    Template{"No available memory for the cache blocks", kFailure, P::sizing, "nothing_for_cache"},
    Template{"Cannot auto-fit max_model_len", kFailure, P::sizing, "nothing_for_cache"},
    Template{"max_num_seqs \\({max_num_seqs:n}\\) exceeds available Mamba cache blocks "
             "\\({state_blocks:n}\\)",
             kFailure, P::capture, "state_slots", "0.19", "", true},
    Template{"Free memory on device (cuda:{:n} )?\\({free_at_start:gib}/{total:gib} GiB\\) on "
             "startup is "
             "less than desired GPU memory utilization \\({utilisation:x}, {budget:size}\\)",
             kFailure, P::start, "utilisation", "0.9", "", true},
    Template{"Error in memory profiling. Initial free memory {free_at_start:size}, current free "
             "memory {free_after_profile:size}",
             kFailure, P::profile, "memory_came_free", "", "", true},
    Template{"CUDA out of memory occurred when warming up sampler with {dummy_requests:n} dummy "
             "requests",
             kFailure, P::warmup, "out_of_memory", "", "", true},
    Template{"Failed to load model - not enough GPU memory", kFailure, P::load, "out_of_memory"},
    Template{"User-specified max_model_len \\({max_model_len:n}\\) is greater than the derived "
             "max_model_len \\({:t}={derived_length:n}",
             kFailure, P::start, "too_long_for_model", "", "", true},
    Template{
        "max_num_batched_tokens \\({max_num_batched_tokens:n}\\) is smaller than max_model_len "
        "\\({max_model_len:n}\\)",
        kFailure, P::start, "batch_below_length", "", "", true},
    Template{
        "max_num_batched_tokens \\({max_num_batched_tokens:n}\\) must be greater than or equal "
        "to max_num_seqs \\({max_num_seqs:n}\\)",
        kFailure, P::start, "batch_below_sequences", "", "", true},
    Template{"Total number of attention heads \\({heads:n}\\) must be divisible by tensor parallel "
             "size \\({tensor_parallel:n}\\)",
             kFailure, P::start, "heads_do_not_divide", "", "", true},
    Template{"World size \\({world_size:n}\\) is larger than the number of available GPUs "
             "\\({gpus_available:n}\\)",
             kFailure, P::start, "too_few_gpus", "", "", true},
    Template{"Bfloat16 is only supported on GPUs with compute capability", kFailure, P::start,
             "dtype_unsupported"},
    // Never the cause; what was printed above it is.
    Template{"Engine core initialization failed. See root cause above", Tells::decoy},
};

}  // namespace

std::span<const Template> vllm_templates() { return kRows; }

}  // namespace vramwise::verify
