#include "weights/file_types.h"

#include "base/text.h"

namespace vramwise::weights {
namespace {

using G = GgmlType;

// IQ2_S and IQ3_XS are named after what most of their tensors are not.
constexpr FileTypeInfo kFileTypes[] = {
    {FileType::F32, "F32", G::F32, 0},
    {FileType::F16, "F16", G::F16, 1},
    {FileType::BF16, "BF16", G::BF16, 32},
    {FileType::Q4_0, "Q4_0", G::Q4_0, 2},
    {FileType::Q4_1, "Q4_1", G::Q4_1, 3},
    {FileType::Q5_0, "Q5_0", G::Q5_0, 8},
    {FileType::Q5_1, "Q5_1", G::Q5_1, 9},
    {FileType::Q8_0, "Q8_0", G::Q8_0, 7},
    {FileType::Q1_0, "Q1_0", G::Q1_0, 40},
    {FileType::Q2_0, "Q2_0", G::Q2_0, 41},
    {FileType::MXFP4_MOE, "MXFP4_MOE", G::MXFP4, 38},
    {FileType::Q2_K, "Q2_K", G::Q2_K, 10},
    {FileType::Q2_K_S, "Q2_K_S", G::Q2_K, 21},
    {FileType::Q3_K_S, "Q3_K_S", G::Q3_K, 11},
    {FileType::Q3_K_M, "Q3_K_M", G::Q3_K, 12},
    {FileType::Q3_K_L, "Q3_K_L", G::Q3_K, 13},
    {FileType::Q4_K_S, "Q4_K_S", G::Q4_K, 14},
    {FileType::Q4_K_M, "Q4_K_M", G::Q4_K, 15},
    {FileType::Q5_K_S, "Q5_K_S", G::Q5_K, 16},
    {FileType::Q5_K_M, "Q5_K_M", G::Q5_K, 17},
    {FileType::Q6_K, "Q6_K", G::Q6_K, 18},
    {FileType::TQ1_0, "TQ1_0", G::TQ1_0, 36},
    {FileType::TQ2_0, "TQ2_0", G::TQ2_0, 37},
    {FileType::IQ1_S, "IQ1_S", G::IQ1_S, 24},
    {FileType::IQ1_M, "IQ1_M", G::IQ1_M, 31},
    {FileType::IQ2_XXS, "IQ2_XXS", G::IQ2_XXS, 19},
    {FileType::IQ2_XS, "IQ2_XS", G::IQ2_XS, 20},
    {FileType::IQ2_S, "IQ2_S", G::IQ2_XS, 28},
    {FileType::IQ2_M, "IQ2_M", G::IQ2_S, 29},
    {FileType::IQ3_XXS, "IQ3_XXS", G::IQ3_XXS, 23},
    {FileType::IQ3_XS, "IQ3_XS", G::IQ3_S, 22},
    {FileType::IQ3_S, "IQ3_S", G::IQ3_S, 26},
    {FileType::IQ3_M, "IQ3_M", G::IQ3_S, 27},
    {FileType::IQ4_NL, "IQ4_NL", G::IQ4_NL, 25},
    {FileType::IQ4_XS, "IQ4_XS", G::IQ4_XS, 30},
};

struct Alias {
  std::string_view name;
  FileType type;
};
constexpr Alias kAliases[] = {
    {"Q3_K", FileType::Q3_K_M},
    {"Q4_K", FileType::Q4_K_M},
    {"Q5_K", FileType::Q5_K_M},
};

}  // namespace

std::span<const FileTypeInfo> file_types() { return kFileTypes; }

const FileTypeInfo& info(FileType type) {
  for (const FileTypeInfo& f : kFileTypes) {
    if (f.type == type) return f;
  }
  return kFileTypes[0];  // not reached: every enumerator has a row
}

std::optional<FileType> file_type_from_name(std::string_view name) {
  const std::string lower = to_lower(name);
  for (const FileTypeInfo& f : kFileTypes) {
    if (to_lower(f.name) == lower) return f.type;
  }
  for (const Alias& alias : kAliases) {
    if (to_lower(alias.name) == lower) return alias.type;
  }
  return std::nullopt;
}

}  // namespace vramwise::weights
