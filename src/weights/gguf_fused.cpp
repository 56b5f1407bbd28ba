#include "weights/gguf_fused.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace vramwise::weights {
namespace {

constexpr std::string_view kQuery = "attn_q.";

// "blk.3.attn_q.weight" -> "blk.3.attn_k.weight"; empty for other tensors.
std::string sibling(std::string_view name, std::string_view part) {
  const size_t at = name.find(kQuery);
  if (at == std::string_view::npos) return {};
  return std::string(name.substr(0, at)) + std::string(part) +
         std::string(name.substr(at + kQuery.size()));
}

}  // namespace

void fuse_attention(GgufModel& gguf) {
  std::vector<GgufTensor> fused;
  std::vector<std::string> taken;
  for (const GgufTensor& tensor : gguf.tensors) {
    const std::string key = sibling(tensor.name, "attn_k."),
                      value = sibling(tensor.name, "attn_v.");
    const GgufTensor* k = key.empty() ? nullptr : gguf.find(key);
    const GgufTensor* v = key.empty() ? nullptr : gguf.find(value);
    if (k && v) {
      GgufTensor one = tensor;
      one.name = sibling(tensor.name, "attn_qkv.");
      const size_t axis = ends_with(tensor.name, ".bias") ? 0 : 1;
      one.extent[axis] += k->extent[axis] + v->extent[axis];
      fused.push_back(std::move(one));
      taken.push_back(key);
      taken.push_back(value);
    } else {
      fused.push_back(tensor);
    }
  }
  std::erase_if(fused, [&](const GgufTensor& tensor) {
    return std::find(taken.begin(), taken.end(), tensor.name) != taken.end();
  });
  gguf.tensors = std::move(fused);
}

}  // namespace vramwise::weights
