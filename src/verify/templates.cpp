#include "verify/templates.h"

#include <array>

namespace vramwise::verify {
namespace {

using P = Phase;
constexpr Tells kFailure = Tells::failure;

// PyTorch, CUDA and HIP, whichever engine they run under. Sources: pytorch
// c10/cuda/CUDACachingAllocator.cpp and tracebacks in public issues ("capacty" is how it was long
// spelt).
constexpr Tells kFrame = Tells::frame;

constexpr std::array kCommon = {
    // Functions of vLLM and SGLang by the phase they run in; a traceback names them outermost
    // first.
    Template{"Traceback \\(most recent call last\\)", kFrame, P::start},
    Template{"in load_model", kFrame, P::load},
    Template{"in load_weights", kFrame, P::load},
    Template{"in process_weights_after_loading", kFrame, P::load},
    Template{"in create_weights", kFrame, P::load},
    Template{"in determine_available_memory", kFrame, P::profile},
    Template{"in determine_num_available_blocks", kFrame, P::profile},
    Template{"in profile_run", kFrame, P::profile},
    Template{"in initialize_kv_cache", kFrame, P::sizing},
    Template{"in initialize_cache", kFrame, P::sizing, "around"},
    Template{"in _allocate_kv_cache", kFrame, P::sizing},
    Template{"in init_memory_pool", kFrame, P::sizing},
    Template{"in init_kv_cache", kFrame, P::sizing},
    Template{"in capture_model", kFrame, P::capture},
    Template{"in init_cuda_graphs", kFrame, P::capture},
    Template{"in init_device_graphs", kFrame, P::capture},
    Template{"in capture_one_batch_size", kFrame, P::capture},
    Template{"in _dummy_sampler_run", kFrame, P::warmup},
    Template{"in kernel_warmup", kFrame, P::warmup},
    Template{"in compile_or_warm_up_model", kFrame, P::warmup, "around"},
    Template{"in warm_up_model", kFrame, P::warmup, "around"},
    Template{"in execute_model", kFrame, P::serve, "around"},
    Template{"in forward_batch_generation", kFrame, P::serve, "around"},
    Template{"in event_loop_normal", kFrame, P::serve, "around"},
    Template{"in event_loop_overlap", kFrame, P::serve, "around"},

    // The card: files of tuned kernels are named after it (vLLM, SGLang); collect_env and
    // `nvidia-smi -L` list the cards, of which the first counts.
    Template{"device_name={card:w}", Tells::config, P::start, "card_of_kernels"},
    Template{"GPU 0: {card:r}", Tells::config, P::start, "card_of_list"},
    Template{"WSL is detected", Tells::config, P::start, "wsl"},

    Template{"out of memory. Tried to allocate {tried:size}. GPU {device_index:n} has a total "
             "[capacity|capacty] of {total:size} of which {free:size} is free."
             "({:t}Including non-PyTorch memory, this process has {process:size} memory in use.)?"
             "( Of the allocated memory {torch_allocated:size} is allocated by PyTorch)?"
             "(, with {graph_pools:size} allocated in private pools \\(e.g., CUDA Graphs\\))?"
             "(,)?( and {torch_unused:size} is reserved by PyTorch but unallocated)?",
             kFailure, P::start, "out_of_memory", "", "", true},
    Template{"out of memory. Tried to allocate {tried:size} \\(GPU {device_index:n}; {total:size} "
             "total capacity; {torch_allocated:size} already allocated; {free:size} free; "
             "{torch_reserved:size} reserved in total by PyTorch",
             kFailure, P::start, "out_of_memory", "", "", true},
    Template{"out of memory. Tried to allocate {tried:size}", kFailure, P::start, "out_of_memory"},
    Template{"CUDA error: out of memory", kFailure, P::start, "out_of_memory"},
    Template{"HIP error: out of memory", kFailure, P::start, "out_of_memory"},
    Template{"CUDA runtime error in {:t}: out of memory", kFailure, P::start, "out_of_memory"},
    Template{"CUDA_ERROR_OUT_OF_MEMORY", kFailure, P::start, "out_of_memory"},
    Template{"hipErrorOutOfMemory", kFailure, P::start, "out_of_memory"},
    Template{"ErrorOutOfDeviceMemory", kFailure, P::start, "out_of_memory"},
    Template{"CUBLAS_STATUS_ALLOC_FAILED", kFailure, P::start, "library_out_of_memory"},
    Template{"CUBLAS_STATUS_NOT_INITIALIZED", kFailure, P::start, "library_out_of_memory"},
    Template{"CUDNN_STATUS_ALLOC_FAILED", kFailure, P::start, "library_out_of_memory"},
    Template{"NCCL WARN Cuda failure 'out of memory'", kFailure, P::start, "nccl_out_of_memory"},
    Template{"NCCL WARN Cuda failure 2 'out of memory'", kFailure, P::start, "nccl_out_of_memory"},
    Template{"Out of memory: Killed process", kFailure, P::start, "host_out_of_memory"},
    Template{"DefaultCPUAllocator: can't allocate memory: you tried to allocate {tried_bytes:n} "
             "bytes",
             kFailure, P::load, "host_out_of_memory"},
    Template{"std::bad_alloc", kFailure, P::start, "host_out_of_memory"},
    Template{"No space left on device", kFailure, P::start, "shared_memory"},
};

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::start: return "start";
    case Phase::load: return "load";
    case Phase::profile: return "profile";
    case Phase::sizing: return "sizing";
    case Phase::capture: return "capture";
    case Phase::warmup: return "warmup";
    case Phase::serve: return "serve";
  }
  return "start";
}

std::span<const Template> common_templates() { return kCommon; }

std::span<const Table> tables() {
  static const std::array kTables = {
      Table{"vllm", vllm_templates()},     Table{"sglang", sglang_templates()},
      Table{"trtllm", trtllm_templates()}, Table{"llama.cpp", llamacpp_templates()},
      Table{"ollama", ollama_templates()}, Table{"", common_templates()}};
  return kTables;
}

}  // namespace vramwise::verify
