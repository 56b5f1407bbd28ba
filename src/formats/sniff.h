// What kind of file this is, from its first bytes and never from its name.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/byte_source.h"

namespace vramwise::formats {

enum class FileKind {
  gguf,
  safetensors,
  json,
  lfs_pointer,  // what git leaves in place of a large file that was not fetched
  old_ggml,     // ggml, ggmf, ggjt, ggla: before GGUF
  zip,          // PyTorch .bin and .pt, archives
  pickle,
  html,  // an error page saved under a model's name
  empty,
  unknown,
};

// Enough of a file for sniff().
inline constexpr int64_t kSniffBytes = 512;

FileKind sniff(std::string_view first_bytes, int64_t file_bytes);
Result<FileKind> sniff(ByteSource& source);

// The error of a file that cannot be read as a model, with what to do about it.
Error not_a_model(FileKind kind, const std::string& name);

}  // namespace vramwise::formats
