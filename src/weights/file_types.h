// The mixtures of llama-quantize by name, and the plain type behind each.
// Source: ggml-org/llama.cpp tools/quantize/quantize.cpp, src/llama-quant.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "weights/ggml_type.h"

namespace vramwise::weights {

enum class FileType {
  F32,
  F16,
  BF16,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q1_0,
  Q2_0,
  MXFP4_MOE,
  Q2_K,
  Q2_K_S,
  Q3_K_S,
  Q3_K_M,
  Q3_K_L,
  Q4_K_S,
  Q4_K_M,
  Q5_K_S,
  Q5_K_M,
  Q6_K,
  TQ1_0,
  TQ2_0,
  IQ1_S,
  IQ1_M,
  IQ2_XXS,
  IQ2_XS,
  IQ2_S,
  IQ2_M,
  IQ3_XXS,
  IQ3_XS,
  IQ3_S,
  IQ3_M,
  IQ4_NL,
  IQ4_XS,
};

struct FileTypeInfo {
  FileType type;
  std::string_view name;
  GgmlType plain;  // of every tensor that no rule changes
  int id;          // general.file_type
};

std::span<const FileTypeInfo> file_types();
const FileTypeInfo& info(FileType type);
// Case-insensitive, with the quantiser's own short names ("Q4_K" is Q4_K_M).
std::optional<FileType> file_type_from_name(std::string_view name);

}  // namespace vramwise::weights
