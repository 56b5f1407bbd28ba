#include "engines/llamacpp/reads.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {

int64_t bytes_read(const weights::GgufTensor& t, const FileTensor& f, const Shape& shape) {
  const int64_t bytes = t.bytes().count();
  if (f.home == FileTensor::Home::input) return bytes / std::max<int64_t>(1, t.extent[1]);
  if (!f.expert_stack || t.layer < 0 || size_t(t.layer) >= shape.layers.size()) return bytes;
  const MoeShape& moe = shape.layers[size_t(t.layer)].moe;
  if (moe.experts <= 0) return bytes;
  return saturating_multiply(bytes / moe.experts, std::min(moe.active, moe.experts));
}

std::vector<int64_t> reads_per_token(const Shape& shape, const weights::GgufModel& gguf,
                                     const Budget& b) {
  std::vector<int64_t> reads(b.model.size(), 0);
  const auto add = [&](size_t device, int64_t bytes) {
    reads[device] = saturating_add(reads[device], bytes);
  };
  for (size_t i = 0; i < gguf.tensors.size(); ++i) {
    const weights::GgufTensor& t = gguf.tensors[i];
    if (t.mtp) continue;
    add(size_t(b.placement.tensor_device[i]), bytes_read(t, shape.file[i], shape));
    // A tied table is read whole as the output.
    if (shape.file[i].token_embedding && shape.tied_head) {
      add(size_t(b.placement.output_device), t.bytes().count());
    }
  }
  const int64_t streams = std::max<int64_t>(1, b.size.streams);
  const int64_t slots = std::max<int64_t>(1, b.size.sequences);
  for (size_t d = 0; d < reads.size(); ++d) {
    add(d, (b.full[d] + b.sliding[d]) / streams + b.recurrent[d] / slots);
  }
  return reads;
}

}  // namespace vramwise::engines::llamacpp
