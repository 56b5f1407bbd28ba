// llama.cpp of every generation, its forks, and Ollama. Sources: llama.cpp src/llama-model.cpp,
// llama-context.cpp, llama-kv-cache.cpp, llama-memory-recurrent.cpp, common/fit.cpp,
// ggml/src/ggml-alloc.c, ggml-cuda.cu; ollama llm/server.go, fs/ggml; logs in public issues.
// "MB" of 2023 is 2^20 bytes.
#include <array>

#include "verify/templates.h"

namespace vramwise::verify {
namespace {

using P = Phase;
constexpr Tells kConfig = Tells::config, kFailure = Tells::failure, kValues = Tells::values;

constexpr std::array kLlamacpp = {
    // The program and the card
    Template{"build: {version:n} \\(", kConfig, P::start, "llamacpp_build"},
    Template{"build = {version:n} \\(", kConfig, P::start, "llamacpp_build"},
    Template{"build_info: b{version:n}", kConfig, P::start, "llamacpp_build"},
    Template{"using device {device:w} \\({gpu:t}\\) (\\({:t}\\) )?- {free_at_start:size} free"},
    Template{"{device:b}: NVIDIA {gpu:t} \\({total:size}, {free_at_start:size} free\\)"},
    Template{"  Device {device_index:n}: {gpu:t}, compute capability {capability:x}"},
    Template{"ggml_vulkan: {device_index:n} = {gpu:t} \\("},
    Template{"recommendedMaxWorkingSetSize~= {working_set:size}"},

    // The model
    Template{"loaded meta data with {:n} key-value pairs and {:n} tensors from {path:t} \\(version",
             kConfig, P::load, "llamacpp_file"},
    Template{"general.architecture~str~= {architecture:w}", kConfig, P::load, "llamacpp_key"},
    Template{"general.name~str~= {name:r}", kConfig, P::load, "llamacpp_name"},
    Template{"model size~= {file:size} \\({bpw:x} BPW"},
    Template{"file size~= {file:size} \\({bpw:x} BPW"},
    Template{"print_info: file type~= {file_type:r}"},
    Template{"model ftype~= {file_type:r}"},
    Template{"model params~= {parameters_billion:x} B"},
    Template{"print_info: arch~= {architecture:w}", kConfig, P::load, "llamacpp_key"},
    Template{"print_info: general.name~= {name:r}", kConfig, P::load, "llamacpp_name"},
    Template{"print_info: n_layer~= {layers:n}"},
    Template{"print_info: n_ctx_train~= {train_context:n}"},
    Template{"offloaded {layers_offloaded:n}/{layers_total:n} layers to GPU", kValues, P::load},
    Template{"{device:b} model buffer size~= {model_buffer:size}", kValues, P::load},
    Template{"llm_load_tensors: {device:w} buffer size~= {model_buffer:size}", kValues, P::load},
    Template{"mem required~= {host_required:size}( \\(+ {state:size} per state\\))?", kValues,
             P::load},
    Template{"VRAM used: {vram_used:size}", kValues, P::load},
    Template{"total VRAM used: {vram_used:size}( \\(model: {vram_model:size}, context: "
             "{vram_context:size}\\))?",
             kValues, P::sizing, "", "", "b1800"},
    Template{"allocating batch_size x {:t} = {scratch:size} VRAM for the scratch buffer", kValues,
             P::load, "", "", "b1400"},
    Template{"VRAM scratch buffer: {scratch:size}", kValues, P::sizing, "", "b1400", "b1800"},
    Template{"has unused tensor {:w} \\(size = {unused_tensor:size}\\) -- ignoring"},

    // The context
    Template{"llama_context: n_ctx~= {n_ctx:n}", kValues, P::sizing},
    Template{"llama_context: n_ctx_seq~= {n_ctx_seq:n}", kValues, P::sizing},
    Template{"llama_context: n_ctx_per_seq~= {n_ctx_seq:n}", kValues, P::sizing},
    Template{"llama_context: n_batch~= {n_batch:n}"},
    Template{"llama_context: n_ubatch~= {n_ubatch:n}"},
    Template{"llama_context: n_seq_max~= {n_seq_max:n}"},
    Template{"llama_context: n_rs_seq~= {n_rs_seq:n}"},
    Template{"llama_context: n_outputs_max~= {n_outputs_max:n}"},
    Template{"llama_context: flash_attn~= {flash_attn:w}"},
    Template{"llama_context: kv_unified~= {kv_unified:w}"},
    Template{"llama_init_from_model: n_ctx~= {n_ctx:n}", kValues, P::sizing},
    Template{"llama_init_from_model: n_ctx_per_seq~= {n_ctx_seq:n}", kValues, P::sizing},
    Template{"llama_init_from_model: n_batch~= {n_batch:n}"},
    Template{"llama_init_from_model: n_ubatch~= {n_ubatch:n}"},
    Template{"llama_init_from_model: n_seq_max~= {n_seq_max:n}"},
    Template{"llama_init_from_model: flash_attn~= {flash_attn:w}"},
    Template{"llama_new_context_with_model: n_ctx~= {n_ctx:n}", kValues, P::sizing},
    Template{"llama_new_context_with_model: n_ctx_per_seq~= {n_ctx_seq:n}", kValues, P::sizing},
    Template{"llama_new_context_with_model: n_batch~= {n_batch:n}"},
    Template{"llama_new_context_with_model: n_ubatch~= {n_ubatch:n}"},
    Template{"llama_new_context_with_model: n_seq_max~= {n_seq_max:n}"},
    Template{"llama_new_context_with_model: flash_attn~= {flash_attn:w}"},
    Template{"Flash Attention was auto, set to {flash_attn:w}"},
    Template{"resolve_fused_ops: Flash Attention {flash_attn:w}"},

    // Caches
    Template{"kv_size = {:n}, offload = {:n}, type_k = '{type_k:t}', type_v = '{type_v:t}'"},
    Template{"{device:b} KV buffer size~= {kv_buffer:size}", kValues, P::capture},
    Template{"KV self size~= {kv_total:size}(, K \\({type_k:w}\\): {k_memory:size}, V "
             "\\({type_v:w}\\): {v_memory:size})?",
             kValues, P::capture, "", "", "b5400"},
    Template{"kv self size~= {kv_total:size}", kValues, P::capture, "", "", "b1500"},
    Template{"VRAM kv self = {kv_total:size}", kValues, P::capture, "", "b1400", "b1800"},
    Template{"llama_kv_cache_iswa: creating {cache:t} KV cache, size = {cache_cells:n} cells"},
    Template{"llama_kv_cache_unified_iswa: creating {cache:t} KV cache, size = {cache_cells:n} "
             "cells"},
    Template{"llama_kv_cache_dsa: creating {cache:t} cache, size = {cache_cells:n} cells"},
    Template{"llama_kv_cache: size~= {kv_size:size}~\\(~{kv_cells:n} cells, {kv_layers:n} layers, "
             "{kv_sequences:n}/{kv_streams:n} seqs\\), K \\({type_k:w}\\): {k_memory:size}, V "
             "\\({type_v:w}\\): {v_memory:size}",
             kValues, P::capture},
    Template{"llama_kv_cache_unified: size~= {kv_size:size}~\\(~{kv_cells:n} cells, {kv_layers:n} "
             "layers,~{kv_sequences:n}(/{:n})? seqs\\), K \\({type_k:w}\\): {k_memory:size}, V "
             "\\({type_v:w}\\): "
             "{v_memory:size}",
             kValues, P::capture},
    Template{"{device:b} RS buffer size~= {rs_buffer:size}", kValues, P::capture},
    Template{"llama_memory_recurrent: size~= {rs_size:size}~\\(~{rs_cells:n} cells, {rs_layers:n} "
             "layers, {rs_sequences:n} seqs(~{rs_per_sequence:n} rs_seq)?\\), R \\({:w}\\): "
             "{rs_r:size}, S \\({:w}\\): {rs_s:size}",
             kValues, P::capture},
    Template{"llama_memory_recurrent: size~= {rs_size:size}~\\(~{rs_cells:n} cells, {rs_layers:n} "
             "layers, {rs_sequences:n} seqs",
             kValues, P::capture},
    Template{"{device:b} DeepSeek4 compressed KV buffer size~= {compressed_buffer:size}", kValues,
             P::capture},

    // Compute and output
    Template{"{device:b} compute buffer size~= {compute_buffer:size}", kValues, P::warmup},
    Template{"{device:b} compute buffer size is {:size}, matches expectation of {:size}",
             Tells::decoy},
    Template{"{device:b} compute buffer size is {compute_at_exit:size}, does not match expectation "
             "of {:size}"},
    Template{"{device:b} compute buffer size of {compute_at_exit:size}, does not match expectation "
             "of {:size}"},
    Template{"compute buffer total size~= {compute_total:size}", kValues, P::warmup},
    Template{"{device:b} output buffer size~= {output_buffer:size}", kValues, P::sizing},
    Template{"{device:b} input buffer size~= {input_buffer:size}", kValues, P::sizing},
    Template{"graph nodes~= {graph_nodes:n}"},
    Template{"graph splits~= {graph_splits:n}"},
    Template{"pipeline parallelism enabled \\(n_copies={pipeline_copies:n}\\)"},
    Template{"sched copies = {pipeline_copies:n}"},

    // Breakdown and fit
    // MiB without a unit; printed after every step of a fit: the last one counts.
    Template{"memory_breakdown_print: |~- {device:w} \\({gpu:t}\\) | {breakdown_total:mib} = "
             "{breakdown_free:mib} + \\({breakdown_self:mib} = {breakdown_model:mib} + "
             "{breakdown_context:mib} + {breakdown_compute:mib}\\) + {unaccounted:mib}",
             kValues, P::serve},
    Template{"memory_breakdown_print: |~- Host | {host_self:mib} = {host_model:mib} + "
             "{host_context:mib} + {host_compute:mib} |",
             kValues, P::serve},
    Template{"projected to use {projected:mib} MiB of device memory vs. {projected_free:mib} MiB "
             "of free "
             "device memory"},
    Template{
        "cannot meet free memory target of {fit_target:mib} MiB, need to reduce device memory by "
        "{fit_reduce:mib} MiB"},
    Template{"context size reduced from {:n} to {fitted_ctx:n}"},
    Template{"estimated memory usage of MTP context is {draft_context:size}"},
    Template{"memory usage of mmproj is {projector:size}"},
    Template{"clip_model_load: params backend buffer size~= {projector_weights:size}"},
    Template{"prompt cache is enabled, size limit: {prompt_cache_limit:size}"},
    Template{"server is listening on", kValues, P::serve},
    Template{"main: model loaded", kValues, P::serve},

    // Out of memory
    Template{"allocating {tried:size} on device {device_index:n}: cudaMalloc failed: out of memory",
             kFailure, P::start, "out_of_memory"},
    // The allocator of graphs: a compute buffer.
    Template{"ggml_gallocr_reserve_n: failed to allocate {device:w} buffer of size {tried_bytes:n}",
             kFailure, P::warmup, "out_of_memory"},
    Template{"ggml_gallocr_reserve_n_impl: failed to allocate {device:w} buffer of size "
             "{tried_bytes:n}",
             kFailure, P::warmup, "out_of_memory"},
    Template{"failed to allocate {device:w} buffer of size {tried_bytes:n}", kFailure, P::start,
             "out_of_memory"},
    Template{"Device memory allocation of size {tried_bytes:n} failed", kFailure, P::start,
             "out_of_memory"},
    Template{"Requested buffer size exceeds device", kFailure, P::start, "allocation_limit"},
    Template{"failed to allocate compute buffers", kFailure, P::warmup, "out_of_memory"},
    Template{"failed to allocate compute pp buffers", kFailure, P::warmup, "out_of_memory"},
    Template{"failed to allocate buffer for kv cache", kFailure, P::sizing, "out_of_memory"},
    Template{"failed to initialize the context", kFailure, P::start, "out_of_memory"},
    Template{"compute buffer allocation failed, retrying without pipeline parallelism",
             Tells::decoy},
    Template{"failed to allocate {tried:size} of pinned memory", kFailure, P::start,
             "host_out_of_memory"},
    Template{"failed to fit params to free device memory: {why:t}, abort", kFailure, P::start,
             "does_not_fit"},
    Template{"V cache quantization requires flash_attn", kFailure, P::sizing, "needs_flash_attn"},
    Template{"unable to load model", kFailure, P::load, "load_failed"},
};

constexpr std::array kOllama = {
    Template{"offload to {library:w}{:t}layers.requested={:n}", kConfig, P::load, "ollama_offload"},
    Template{"msg=\"offload to {library:w}\"", kConfig, P::load, "ollama_offload"},
    Template{"msg=offload library={library:w}", kConfig, P::load, "ollama_offload"},
    // The estimate before a load, of Ollama's own runner (to 0.13).
    Template{"memory.required.full=\"{estimate_full:size}", kValues, P::load},
    Template{"memory.required.partial=\"{estimate_partial:size}", kValues, P::load},
    Template{"memory.required.kv=\"{estimate_cache:size}", kValues, P::load},
    Template{"memory.weights.total=\"{estimate_weights:size}", kValues, P::load},
    Template{"memory.weights.repeating=\"{estimate_layers:size}", kValues, P::load},
    Template{"memory.weights.nonrepeating=\"{estimate_output:size}", kValues, P::load},
    Template{"memory.graph.full=\"{estimate_graph:size}", kValues, P::load},
    Template{"memory.graph.partial=\"{estimate_graph_partial:size}", kValues, P::load},
    Template{"projector.weights=\"{projector_weights:size}", kValues, P::load},
    Template{"projector.graph=\"{projector_graph:size}", kValues, P::load},
    Template{"layers.model={layers_total:n}", kValues, P::load},
    Template{"layers.offload={layers_offloaded:n}", kValues, P::load},
    Template{"msg=\"gpu memory\" id={:w} library={library:w} available=\"{gpu_available:size}\" "
             "free=\"{free_at_start:size}\" minimum=\"{gpu_minimum:size}\" overhead=\"{:size}\""},
    Template{"msg=\"model weights\" {:t}device={device:w} size=\"{model_buffer:size}\"", kValues,
             P::load},
    Template{"msg=\"model weights\" buffer={device:w} size=\"{model_buffer:size}\"", kValues,
             P::load},
    Template{"msg=\"kv cache\" device={device:w} size=\"{kv_buffer:size}\"", kValues, P::capture},
    Template{"msg=\"compute graph\" {:t}device={device:w} size=\"{compute_buffer:size}\"", kValues,
             P::warmup},
    Template{"msg=\"compute graph\" backend={device:w} buffer_type={:w} "
             "size=\"{compute_buffer:size}\"",
             kValues, P::warmup},
    Template{"msg=\"total memory\" size=\"{total_memory:size}\"", kValues, P::warmup},
    Template{"msg=load request=\"\\{", kConfig, P::load, "ollama_load"},
    Template{"msg=\"starting llama server\" cmd=\"", kConfig, P::load, "ollama_command"},
    Template{"msg=\"starting llama-server\" cmd=\"{:t} -c {child_context:n} -np {child_parallel:n}"
             "({:t} -ub {child_batch:n})?",
             kConfig, P::load, "ollama_command"},
    Template{"msg=\"starting llama-server\" cmd=\"", kConfig, P::load, "ollama_command"},
    Template{"msg=\"starting runner\" cmd=\"", kConfig, P::load, "ollama_command"},
    Template{"msg=\"inference compute\" {:t}library={library:w}{:t}description=\"{gpu:t}\"{:t}"
             "total=\"{driver_total:size}\" available=\"{free_at_start:size}\""},
    Template{"Listening on {:t} \\(version {version:w}\\)", kConfig, P::start, "ollama_version"},
    Template{"model requires more system memory \\({needed:size}\\) than is available "
             "\\({available_refused:size}\\)",
             kFailure, P::load, "host_out_of_memory"},
    Template{"llama runner process has terminated: {why:r}", kFailure, P::start, "runner_died"},
};

}  // namespace

std::span<const Template> llamacpp_templates() { return kLlamacpp; }
std::span<const Template> ollama_templates() { return kOllama; }

}  // namespace vramwise::verify
