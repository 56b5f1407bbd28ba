// GGUF versions 1 to 3, both byte orders, split models. Reads the header through a window and looks
// at no tensor data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/byte_source.h"
#include "formats/gguf/gguf.h"

namespace vramwise::formats {

// What a header may hold. The counts are far above any real model's; the two sizes keep memory and
// time small whatever a file claims.
struct GgufLimits {
  int64_t tensors = 1'000'000;
  int64_t keys = 1'000'000;
  int64_t key_bytes = int64_t{64} << 10;
  int64_t name_bytes = 63;  // GGML_MAX_NAME less the terminator
  int64_t array_elements = int64_t{1} << 30;
  int64_t kept_elements = 4096;
  int64_t kept_text = 1024;
  int64_t kept_bytes = int64_t{48} << 20;     // of records in memory
  int64_t header_bytes = int64_t{512} << 20;  // of the file, before the tensor data
};

// Errors name the key or tensor and the byte offset: invalid_input for what breaks the format,
// too_large beyond a limit, unsupported for another version or an unknown tensor type.
// A data section that is not all there is a warning of the file (`is_complete()`), since its
// header still says everything.
Result<GgufFile> read_gguf(ByteSource& source, const GgufLimits& limits = {});

// "<prefix>-00002-of-00005.gguf", 1-based; the path's folder is part of the prefix.
struct GgufPartName {
  std::string prefix;
  int64_t index = 0;
  int64_t count = 0;

  std::string of(int64_t other_index) const;
};
std::optional<GgufPartName> parse_gguf_part_name(std::string_view name);

// One file of the parts, in order of their index: metadata of the first, all tensors, summed sizes.
// Errors: inconsistent when a part is missing, out of place, or holds a tensor for the second time.
Result<GgufFile> join_gguf_parts(std::vector<GgufFile> parts);

}  // namespace vramwise::formats
