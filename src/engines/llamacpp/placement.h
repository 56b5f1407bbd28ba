// Which device every tensor and layer goes to, and what that weighs.
// Source: ggml-org/llama.cpp src/llama-model.cpp (load_tensors), src/llama-model-loader.cpp,
// common/arg.cpp (overrides).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "engines/llamacpp/backend_profile.h"
#include "engines/llamacpp/shape.h"

namespace vramwise::engines::llamacpp {

enum class SplitMode { none, layer, row, tensor };

struct PlacementSettings {
  static constexpr int64_t kAll = -1;
  int64_t n_gpu_layers = kAll;
  SplitMode split = SplitMode::layer;
  std::vector<double> tensor_split;  // empty: by free memory
  int64_t main_gpu = 0;
  int64_t cpu_moe_layers = 0;  // expert stacks of so many layers stay on the CPU; -1 = all
  struct Override {
    Pattern pattern;
    int16_t device;  // index into the devices; the CPU after them
  };
  std::vector<Override> overrides;  // first hit wins
  bool repack = true;
  bool mmap = true;
  bool draft_head = false;  // the model's own multi-token-prediction layers are loaded too

  bool has_overrides() const { return cpu_moe_layers != 0 || !overrides.empty(); }
};

struct Placement {
  int16_t cpu = 0;  // index of the CPU, after the devices
  std::vector<int16_t> layer_device;
  int16_t output_device = 0;
  bool full_offload = false;
  WeightTable weights;                 // with devices
  std::vector<int16_t> tensor_device;  // of each tensor of the file, in its order
  std::vector<int64_t> model_bytes;    // of each device, the CPU last; tensors padded
  std::vector<int64_t> expert_bytes;   // the part of routed experts
  // Split mode row, else empty: bytes of rows that lie on each device, and the same bytes under the
  // device of their layer, as the program prints them ("CUDA0_Split").
  std::vector<int64_t> row_bytes, printed_row_bytes;
  int64_t tied_copy_bytes = 0;  // second copy of a tied embedding on a device
  int64_t repacked_bytes = 0;   // private copies of CPU weights in another order
};

// `shares` are the weights of the devices (tensor split, or free memory), one for each.
Placement place(const Shape& shape, const weights::GgufModel& gguf,
                const PlacementSettings& settings, const std::vector<double>& shares,
                const std::vector<BackendProfile>& backends, const Rules& rules);

}  // namespace vramwise::engines::llamacpp
