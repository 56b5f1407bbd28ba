// Element types of tensors and caches that are not block-quantised.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramwise {

enum class DType { float32, float16, bfloat16, float8, int8, int32, int64 };

constexpr int64_t dtype_bytes(DType type) {
  switch (type) {
    case DType::float32:
    case DType::int32: return 4;
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::float8:
    case DType::int8: return 1;
    case DType::int64: return 8;
  }
  return 0;
}

// Names as in Hugging Face configs ("bfloat16", "torch.float16", "half", "fp32").
std::optional<DType> dtype_from_name(std::string_view name);
std::string_view to_string(DType type);

}  // namespace vramwise
