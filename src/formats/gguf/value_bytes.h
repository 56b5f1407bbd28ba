// Numbers of a GGUF header as they lie in the file: sizes of the value types, both byte orders.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "formats/gguf/gguf.h"

namespace vramwise::formats {

static_assert(std::endian::native == std::endian::little, "numbers are read as little-endian");

// Bytes of one value of a fixed-size type; 0 for text, list and unknown.
inline int64_t value_bytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::u8:
    case GgufValueType::i8:
    case GgufValueType::boolean: return 1;
    case GgufValueType::u16:
    case GgufValueType::i16: return 2;
    case GgufValueType::u32:
    case GgufValueType::i32:
    case GgufValueType::f32: return 4;
    case GgufValueType::u64:
    case GgufValueType::i64:
    case GgufValueType::f64: return 8;
    case GgufValueType::string:
    case GgufValueType::array: return 0;
  }
  return 0;
}

inline bool is_known(GgufValueType type) { return uint32_t(type) <= uint32_t(GgufValueType::f64); }

inline bool is_kept(GgufValueType type) {
  return value_bytes(type) > 0 && type != GgufValueType::f32 && type != GgufValueType::f64;
}

template <class T>
T load(const char* at, bool swap) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

inline int64_t to_count(uint64_t n) { return n > uint64_t(kInt64Max) ? kInt64Max : int64_t(n); }

inline int64_t load_integer(const char* at, GgufValueType type, bool swap) {
  switch (type) {
    case GgufValueType::u8: return load<uint8_t>(at, swap);
    case GgufValueType::i8: return load<int8_t>(at, swap);
    case GgufValueType::u16: return load<uint16_t>(at, swap);
    case GgufValueType::i16: return load<int16_t>(at, swap);
    case GgufValueType::u32: return load<uint32_t>(at, swap);
    case GgufValueType::i32: return load<int32_t>(at, swap);
    case GgufValueType::boolean: return load<uint8_t>(at, swap) != 0 ? 1 : 0;
    case GgufValueType::u64: return to_count(load<uint64_t>(at, swap));
    case GgufValueType::i64: return load<int64_t>(at, swap);
    default: return 0;
  }
}

}  // namespace vramwise::formats
