// What a backend of ggml does to memory: alignment, largest buffer, extra bytes of ops, which ops
// it pulls over from the CPU, in which order it runs them.
// Source: ggml-org/llama.cpp ggml/src/ggml-cuda/ggml-cuda.cu, ggml-vulkan/ggml-vulkan.cpp,
// ggml-metal/ggml-metal-ops.cpp, ggml-rpc/ggml-rpc.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engines/hardware.h"
#include "engines/llamacpp/graph/builder.h"
#include "engines/llamacpp/rules.h"
#include "json/value.h"

namespace vramwise::engines::llamacpp {

enum class OpOffload { never, large_batches, large_matmuls };
enum class NodeOrder { as_built, vulkan, metal };
enum class ExtraBytes { none, cuda, metal };

struct BackendProfile {
  std::string name;  // "CUDA0"
  int64_t alignment = 32;
  int64_t largest_buffer = 0;  // 0 = no limit
  OpOffload offload = OpOffload::never;
  NodeOrder order = NodeOrder::as_built;
  ExtraBytes extra = ExtraBytes::none;
  bool events = false;         // can overlap batches: pipeline copies
  bool host_pinned = false;    // host buffers are allocated through it ("CUDA_Host")
  bool split_buffers = false;  // can hold rows of a matrix (split mode row)
  bool cuda_copies_in_buffer = true;
  int compute_capability = 0;  // of NVIDIA cards; decides which attention kernel runs
};

// What a compute plan depends on, as bytes: profiles with equal keys give equal plans.
void append_key(const BackendProfile& backend, std::string& key);

// Bytes that the backend reserves for the result of an op.
int64_t reserved_bytes(const BackendProfile& backend, const Graph& graph, const Tensor& t);
// Would it take over an op whose weight lies in host memory?
bool takes_over(const BackendProfile& backend, const Graph& graph, const Tensor& t);
// The nodes of one split in the order in which the backend runs them.
void reorder(const BackendProfile& backend, const Graph& graph, std::vector<TensorId>& nodes);

void vulkan_order(const Graph& graph, std::vector<TensorId>& nodes);
void metal_order(const Graph& graph, std::vector<TensorId>& nodes);

// Profile of device `index` (name "CUDA0"), from the engine profile's "backends".
BackendProfile device_profile(const json::Value& profile, Backend backend, int index,
                              int compute_capability, const Rules& rules);
BackendProfile cpu_profile(const json::Value& profile, Backend backend);

}  // namespace vramwise::engines::llamacpp
