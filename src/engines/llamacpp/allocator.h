// ggml's graph allocator: walks the nodes, gives every tensor an address when it is first needed
// and takes it back after its last use. The high-water mark is the compute buffer.
// Source: ggml-org/llama.cpp ggml/src/ggml-alloc.c.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engines/llamacpp/backend_profile.h"
#include "engines/llamacpp/graph/builder.h"

namespace vramwise::engines::llamacpp {

// One buffer: best fit among the holes, else growth at the end. With a limited buffer size there
// are up to 16 chunks.
class BufferPlan {
 public:
  struct Address {
    int32_t chunk = -1;
    int64_t offset = 0;
  };

  void reset(int64_t alignment, int64_t largest);
  Address allocate(int64_t size);
  void release(Address at, int64_t size);
  int64_t high_water() const;
  int64_t align(int64_t size) const { return round_up(size, alignment_); }

 private:
  struct Hole {
    int64_t offset, size;
  };
  struct Chunk {
    std::vector<Hole> holes;  // by offset; the last one is the open end
    int64_t top = 0;
  };
  std::vector<Chunk> chunks_;
  size_t used_chunks_ = 0;
  int64_t alignment_ = 32, largest_ = 0;
};

class Allocator {
 public:
  // Bytes of each backend's compute buffer. `leaves` and `nodes` are a scheduled graph: every
  // tensor has a device.
  std::vector<int64_t> run(const Graph& graph, std::span<const TensorId> leaves,
                           std::span<const TensorId> nodes,
                           std::span<const BackendProfile> backends);

 private:
  struct State {
    int32_t uses = 0, views = 0;
    BufferPlan::Address at;
    int64_t bytes = 0;  // reserved at `at`
    int16_t buffer = -1;
    bool held = false;
  };
  void give(TensorId id);
  void take_back(TensorId id);

  const Graph* graph_ = nullptr;
  std::span<const BackendProfile> backends_;
  std::vector<State> state_;
  std::vector<BufferPlan> buffers_;
};

}  // namespace vramwise::engines::llamacpp
