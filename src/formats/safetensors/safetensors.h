// safetensors: one file's table of tensors, the index of a sharded set, and which files of a folder
// an engine would load. Tensor data is never looked at.
// Format: docs/formats.md; huggingface/safetensors README.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "formats/byte_source.h"

namespace vramwise::formats {

struct SafetensorsType {
  std::string_view name;  // "BF16"
  int64_t bits;
};

std::span<const SafetensorsType> safetensors_types();

struct SafetensorsEntry {
  std::string name;
  const SafetensorsType* type = nullptr;
  std::array<int64_t, 8> extent = {};  // outermost first
  int32_t rank = 0;
  int32_t file = 0;   // of a sharded set
  int64_t begin = 0;  // from the start of the data section of its file
  int64_t end = 0;

  int64_t bytes() const { return end - begin; }
  int64_t elements() const;
};

struct SafetensorsFile {
  std::string name;
  std::vector<SafetensorsEntry> tensors;  // in the header's order
  std::string format;                     // __metadata__.format: "pt", "mlx"; may be empty
  int64_t data_offset = 0;
  int64_t expected_bytes = 0;
  int64_t file_bytes = 0;
  Notes notes;

  bool is_complete() const { return file_bytes >= expected_bytes; }
  int64_t tensor_bytes() const;
};

struct SafetensorsLimits {
  int64_t header_bytes = int64_t{100} << 20;  // the reference reader's own limit
  int64_t tensors = 400'000;
  int64_t name_bytes = 4096;
  int64_t kept_bytes = int64_t{56} << 20;
};

// Errors name the tensor and the byte offset: duplicate names, offsets that overlap, leave the file
// or do not match the shape, unknown types.
Result<SafetensorsFile> read_safetensors(ByteSource& source, const SafetensorsLimits& limits = {});

// model.safetensors.index.json
struct SafetensorsIndex {
  std::vector<std::string> files;                           // distinct, sorted
  std::vector<std::pair<std::string, int32_t>> weight_map;  // tensor, index into files; sorted
  int64_t total_size = -1;                                  // metadata.total_size; -1: not stated

  // -1 when the index does not know the tensor.
  int32_t file_of(std::string_view tensor) const;
};
// Errors: a file name that is no plain name (it could lead outside of the folder), a tensor twice.
Result<SafetensorsIndex> read_safetensors_index(ByteSource& source);

// The files of a folder, by name, that hold the weights an engine would load.
struct CheckpointChoice {
  std::string index;               // "" when there is none or none is needed
  std::vector<std::string> files;  // without an index: all of them; with one: to be read from it
  std::vector<std::string>
      ignored;  // weight files that are left out (consolidated copies, adapters)
};
// vLLM's and transformers' order: the index, model.safetensors, a set of shards, other
// *.safetensors; `consolidated*` only when there is nothing else.
CheckpointChoice choose_checkpoint(const std::vector<std::string>& names);

// One table of a sharded set, parallel to `index.files`. Tensors that the index assigns to another
// file are dropped, as loaders do. Errors: inconsistent for a tensor that is missing or given
// twice.
Result<SafetensorsFile> join_safetensors(std::vector<SafetensorsFile> files,
                                         const SafetensorsIndex* index);

}  // namespace vramwise::formats
