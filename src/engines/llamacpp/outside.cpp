#include "engines/llamacpp/outside.h"

#include <algorithm>

#include "base/checked.h"
#include "engines/llamacpp/graph/tensor.h"

namespace vramwise::engines::llamacpp {
namespace {

// [low, likely, high] in MiB.
ByteRange mib(const json::Value* list) {
  if (list == nullptr || !list->is_array() || list->as_array().size() != 3) return {};
  const json::Array& a = list->as_array();
  return {MiB(a[0].as_integer()), MiB(a[1].as_integer()), MiB(a[2].as_integer())};
}

// Widest row that a matrix product reads, with every expert of a token side by side.
int64_t widest_input(const Shape& shape) {
  int64_t widest = shape.hidden;
  for (const LayerShape& l : shape.layers) {
    widest = std::max({widest, l.ffn_width, saturating_multiply(l.heads, l.value_dim),
                       saturating_multiply(l.moe.active, l.moe.width)});
  }
  return widest;
}

bool has_plain_weights(const Shape& shape) {
  const WeightTable::Entry& output = shape.weights.at(Slot::output, -1);
  return !is_quantized(output.type);
}

}  // namespace

Outside outside_of(const json::Value& profile, Backend backend, const Device& device,
                   const Shape& shape, const ContextSize& size, const Calibration* measured) {
  Outside outside;
  const json::Value* table = profile.find("outside");
  const json::Value* entry = table == nullptr ? nullptr : table->find(to_string(backend));
  if (entry == nullptr) return outside;
  outside.context = mib(entry->find("context_mib"));
  if (measured != nullptr && measured->non_torch) {
    const Bytes shift = measured->non_torch->shift;
    outside.context = measured_range(outside.context + ByteRange{shift, shift, shift},
                                     *measured->non_torch, device.gpu.unified_memory);
    outside.measured = true;
    outside.context.low = std::max(Bytes(), outside.context.low);
    outside.context.likely = std::max(Bytes(), outside.context.likely);
    outside.context.high = std::max(Bytes(), outside.context.high);
  }
  outside.scratch = mib(entry->find("scratch_mib"));
  if (backend == Backend::cuda || backend == Backend::rocm) {
    // Activations as 8-bit blocks for the integer kernels, or as f16 for cuBLAS with its workspace.
    // Source: ggml/src/ggml-cuda/mmq.cu, ggml-cuda.cu (ggml_cuda_op_mul_mat_cublas).
    const int64_t values = saturating_multiply(size.tokens, widest_input(shape));
    const Bytes blocks(saturating_multiply(values, 9) / 8);
    Bytes likely = blocks;
    if (has_plain_weights(shape)) {
      const json::Value* workspace =
          entry->find(device.gpu.compute_capability >= 90 ? "workspace_mib_sm90" : "workspace_mib");
      likely = Bytes(saturating_multiply(values, 4));
      if (workspace != nullptr) likely += MiB(workspace->as_integer());
    }
    outside.scratch += {Bytes(), likely, likely * 2};
  }
  return outside;
}

}  // namespace vramwise::engines::llamacpp
