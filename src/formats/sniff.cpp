#include "formats/sniff.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/text.h"

namespace vramwise::formats {

FileKind sniff(std::string_view first, int64_t file_bytes) {
  if (file_bytes == 0) return FileKind::empty;
  if (starts_with(first, "GGUF")) return FileKind::gguf;
  // The old magics are numbers, so they stand backwards in the file.
  for (const std::string_view magic : {"lmgg", "fmgg", "tjgg", "algg"}) {
    if (starts_with(first, magic)) return FileKind::old_ggml;
  }
  if (starts_with(first, "version https://git-lfs")) return FileKind::lfs_pointer;
  if (starts_with(first, "PK\x03\x04")) return FileKind::zip;
  if (first.size() >= 2 && first[0] == '\x80' && first[1] >= 2 && first[1] <= 5) {
    return FileKind::pickle;
  }
  // safetensors: a length below the file's and a JSON object.
  if (first.size() >= 9 && first[8] == '{') {
    uint64_t length = 0;
    std::memcpy(&length, first.data(), 8);
    if (length >= 2 && length < (uint64_t{1} << 32)) return FileKind::safetensors;
  }
  const std::string_view text = trim(first);
  if (starts_with(text, "{") || starts_with(text, "\xEF\xBB\xBF{")) return FileKind::json;
  if (starts_with(text, "<")) return FileKind::html;
  return FileKind::unknown;
}

Result<FileKind> sniff(ByteSource& source) {
  TRY_ASSIGN(const int64_t size, source.size());
  std::array<char, size_t(kSniffBytes)> buffer;
  const std::span<char> first(buffer.data(), size_t(std::min(size, kSniffBytes)));
  TRY(source.read(0, first));
  return sniff(std::string_view(first.data(), first.size()), size);
}

Error not_a_model(FileKind kind, const std::string& name) {
  const auto error = [&](ErrorCode code, std::string_view what) {
    return Error(code, name + " is " + std::string(what)).at(name);
  };
  switch (kind) {
    case FileKind::lfs_pointer:
      return error(ErrorCode::invalid_input, "a git-lfs pointer, the file itself was not fetched")
          .hint("run `git lfs pull` in its folder");
    case FileKind::old_ggml:
      return error(ErrorCode::unsupported, "a ggml file of before GGUF")
          .hint("convert it with llama.cpp's convert_llama_ggml_to_gguf.py");
    case FileKind::zip:
    case FileKind::pickle:
      return error(ErrorCode::unsupported, "a PyTorch checkpoint (or another archive)")
          .hint(
              "its tensors stand in pickled code, which is not run; give the safetensors form, "
              "or config.json with --weights");
    case FileKind::html:
      return error(ErrorCode::invalid_input, "a web page, not a model")
          .hint("the download led to an error or log-in page; fetch the file again");
    case FileKind::empty: return error(ErrorCode::invalid_input, "empty");
    case FileKind::gguf:
    case FileKind::safetensors:
    case FileKind::json:
    case FileKind::unknown: break;
  }
  return error(ErrorCode::invalid_input, "neither GGUF nor safetensors nor a JSON object");
}

}  // namespace vramwise::formats
