// The element types of ggml and GGUF files: block sizes, names, ids.
// Source: ggml-org/llama.cpp ggml/src/ggml-common.h and gguf-py/gguf/constants.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"

namespace vramwise::weights {

enum class GgmlType : int32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q8_1 = 9,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  Q8_K = 15,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
  NVFP4 = 40,
  Q1_0 = 41,
  Q2_0 = 42,
};

struct GgmlTypeInfo {
  GgmlType type;
  std::string_view name;  // "Q4_K"
  int64_t block_elements;
  int64_t block_bytes;
};

std::span<const GgmlTypeInfo> ggml_types();
const GgmlTypeInfo& info(GgmlType type);
std::optional<GgmlType> ggml_type_from_id(int64_t id);
// Case-insensitive: "q4_K", "bf16".
std::optional<GgmlType> ggml_type_from_name(std::string_view name);

// Bytes of a row of n elements; n must be a multiple of the block (else rounded down: callers
// check).
constexpr Bytes row_bytes(const GgmlTypeInfo& t, int64_t n) {
  return Bytes(n / t.block_elements) * t.block_bytes;
}

}  // namespace vramwise::weights
