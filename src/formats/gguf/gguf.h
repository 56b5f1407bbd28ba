// What a GGUF file says about itself: metadata and the table of tensors, without their data.
// Format: docs/formats.md; ggml-org/ggml docs/gguf.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/note.h"
#include "formats/gguf/tensor_type.h"

namespace vramwise::formats {

enum class GgufValueType : uint32_t {
  u8 = 0,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};

// A list in the metadata. Elements are kept for integers and bools of up to 4096; token lists and
// their kin are only counted.
struct GgufArray {
  GgufValueType element = GgufValueType::u8;
  int64_t count = 0;
  std::vector<int64_t> values;
};

// A text of more than a kilobyte (a chat template) is kept cut off; `bytes` is its full length.
struct GgufText {
  std::string text;
  int64_t bytes = 0;
};

using GgufValue = std::variant<bool, int64_t, double, GgufText, GgufArray>;

struct GgufKey {
  std::string name;
  GgufValue value;
};

struct GgufTensorEntry {
  std::string name;
  std::array<int64_t, 4> extent = {1, 1, 1, 1};  // extent[0] is the contiguous one
  int32_t rank = 0;
  int32_t part = 0;  // of a split model
  const GgufType* type = nullptr;
  int64_t offset = 0;  // from the start of the data section of its part
  int64_t bytes = 0;   // without padding

  int64_t elements() const;
};

struct GgufFile {
  std::string name;
  uint32_t version = 0;
  bool big_endian = false;
  int64_t alignment = 32;
  std::vector<GgufKey> metadata;  // in the file's order
  std::vector<GgufTensorEntry> tensors;
  int64_t data_offset = 0;     // where the tensor data starts
  int64_t expected_bytes = 0;  // what a complete file has; the sum over parts of a split model
  int64_t file_bytes = 0;      // what this one has
  Notes notes;                 // warnings: gaps, a download that is not complete

  // nullptr when there is no such key.
  const GgufValue* find(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  // "" when absent or no text.
  std::string_view text(std::string_view key) const;
  const GgufArray* array(std::string_view key) const;
  // The element count of a list, 0 when there is none.
  int64_t count(std::string_view key) const;

  bool is_complete() const { return file_bytes >= expected_bytes; }
  int64_t tensor_bytes() const;  // without padding
};

// "Q4_K_M" for 15, "" for an unknown id. `general.file_type` is only a label.
std::string_view gguf_file_type_name(int64_t id);

}  // namespace vramwise::formats
