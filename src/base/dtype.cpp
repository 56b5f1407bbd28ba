#include "base/dtype.h"

#include "base/text.h"

namespace vramwise {

std::optional<DType> dtype_from_name(std::string_view name) {
  if (starts_with(name, "torch.")) name.remove_prefix(6);
  if (name == "float32" || name == "float" || name == "fp32" || name == "f32") {
    return DType::float32;
  }
  if (name == "float16" || name == "half" || name == "fp16" || name == "f16") {
    return DType::float16;
  }
  if (name == "bfloat16" || name == "bf16") return DType::bfloat16;
  if (name == "float8" || name == "fp8" || name == "float8_e4m3fn" || name == "fp8_e4m3" ||
      name == "float8_e5m2" || name == "fp8_e5m2") {
    return DType::float8;
  }
  if (name == "int8") return DType::int8;
  if (name == "int32") return DType::int32;
  if (name == "int64") return DType::int64;
  return std::nullopt;
}

std::string_view to_string(DType type) {
  switch (type) {
    case DType::float32: return "float32";
    case DType::float16: return "float16";
    case DType::bfloat16: return "bfloat16";
    case DType::float8: return "float8";
    case DType::int8: return "int8";
    case DType::int32: return "int32";
    case DType::int64: return "int64";
  }
  return "";
}

}  // namespace vramwise
