#include "verify/templates.h"

#include <array>

namespace vramwise::verify {
namespace {

using P = Phase;
constexpr Tells kFailure = Tells::failure;

// PyTorch, CUDA and HIP, whichever engine they run under. Sources: pytorch
// c10/cuda/CUDACachingAllocator.cpp and tracebacks in public issues ("capacty" is how it was long
// spelt).
constexpr std::array kCommon = {
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
