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

// The row of each id, for it is asked for every tensor of every graph; -1 for ids that were
// withdrawn.
constexpr size_t kIds = 64;
constexpr auto kRowOfId = [] {
  std::array<int8_t, kIds> rows{};
  rows.fill(-1);
  for (size_t i = 0; i < kTypes.size(); ++i) rows[size_t(kTypes[i].type)] = int8_t(i);
  return rows;
}();

const GgmlTypeInfo* find(int64_t id) {
  if (id < 0 || size_t(id) >= kIds || kRowOfId[size_t(id)] < 0) return nullptr;
  return &kTypes[size_t(kRowOfId[size_t(id)])];
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
