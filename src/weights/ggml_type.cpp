#include "weights/ggml_type.h"

#include <array>
#include <iterator>

#include "base/text.h"
#include "formats/gguf/tensor_type.h"

namespace vramwise::weights {
namespace {

// The table of the file format, with ids as enumerators.
constexpr auto kTypes = [] {
  std::array<GgmlTypeInfo, std::size(formats::kGgufTypes)> types{};
  for (size_t i = 0; i < types.size(); ++i) {
    const formats::GgufType& t = formats::kGgufTypes[i];
    types[i] = {GgmlType(t.id), t.name, t.block_elements, t.block_bytes};
  }
  return types;
}();

const GgmlTypeInfo* find(int64_t id) {
  for (const GgmlTypeInfo& t : kTypes) {
    if (int64_t(t.type) == id) return &t;
  }
  return nullptr;
}

}  // namespace

std::span<const GgmlTypeInfo> ggml_types() { return kTypes; }

const GgmlTypeInfo& info(GgmlType type) {
  // Every enumerator has a row, so the fallback is never reached (see ggml_type_test.cpp).
  const GgmlTypeInfo* found = find(int64_t(type));
  return found ? *found : kTypes[0];
}

std::optional<GgmlType> ggml_type_from_id(int64_t id) {
  if (const GgmlTypeInfo* found = find(id)) return found->type;
  return std::nullopt;
}

std::optional<GgmlType> ggml_type_from_name(std::string_view name) {
  const std::string lower = to_lower(name);
  for (const GgmlTypeInfo& t : kTypes) {
    if (to_lower(t.name) == lower) return t.type;
  }
  return std::nullopt;
}

}  // namespace vramwise::weights
