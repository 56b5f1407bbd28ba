// What can be said of a GGUF header once it is read: names given twice, the alignment, and where
// the data of each tensor lies.
#pragma once

#include "base/result.h"
#include "formats/gguf/gguf.h"

namespace vramwise::formats {

// Fills alignment, data_offset, expected_bytes and the notes on gaps and missing bytes.
// `header_end`: the byte behind the tensor table. Errors: invalid_input for duplicates, a bad
// alignment, an offset off it, or tensors that overlap.
Result<void> check_gguf(GgufFile& file, int64_t header_end);

}  // namespace vramwise::formats
