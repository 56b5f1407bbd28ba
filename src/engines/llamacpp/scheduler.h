// ggml's backend scheduler: gives every op a device, cuts the graph where the device changes and
// adds the copies of what has to cross. The result is what the allocator walks.
// Source: ggml-org/llama.cpp ggml/src/ggml-backend.cpp, ggml_backend_sched_split_graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engines/llamacpp/backend_profile.h"
#include "engines/llamacpp/graph/builder.h"

namespace vramwise::engines::llamacpp {

struct ScheduleOptions {
  bool op_offload = true;  // devices may take over large ops whose weight lies on the CPU
  int copies = 1;          // pipeline copies of inputs
};

class Scheduler {
 public:
  struct Result {
    std::vector<TensorId> nodes, leaves;
    int splits = 0;
  };

  // Assigns devices and replaces sources by copies in `graph`. The last backend is the CPU.
  const Result& run(Graph& graph, std::span<const BackendProfile> backends,
                    const ScheduleOptions& options);

  // How many inputs a split may hold is learned and kept from pass to pass.
  void forget() { input_room_.clear(); }

 private:
  struct Split {
    int16_t device;
    std::vector<TensorId> inputs, nodes;
  };
  void assign(Graph& graph, std::span<const BackendProfile> backends, bool op_offload);
  void spread(Graph& graph, int16_t cpu);
  void split(Graph& graph, int16_t cpu, int copies);
  TensorId& copy_of(TensorId id, int16_t device) {
    return copies_[size_t(id) * devices_ + size_t(device)];
  }

  Result result_;
  std::vector<Split> splits_;
  std::vector<TensorId> copies_;  // first copy of a tensor on a device
  std::vector<TensorId> graph_inputs_;
  std::vector<TensorId> ops_;
  std::vector<size_t> input_room_;
  size_t devices_ = 0;
};

}  // namespace vramwise::engines::llamacpp
