// Header-correct GGUF files of any real shape for tests. The tensor data is a hole: a model of
// 400 GB takes a few hundred kilobytes on disk.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::testing {

class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3, bool big_endian = false)
      : version_(version), big_endian_(big_endian) {}

  GgufWriter& u8(std::string_view key, uint8_t value);
  GgufWriter& u16(std::string_view key, uint16_t value);
  GgufWriter& u32(std::string_view key, uint32_t value);
  GgufWriter& i32(std::string_view key, int32_t value);
  GgufWriter& u64(std::string_view key, uint64_t value);
  GgufWriter& f32(std::string_view key, float value);
  GgufWriter& boolean(std::string_view key, bool value);
  GgufWriter& text(std::string_view key, std::string_view value);
  GgufWriter& integers(std::string_view key, const std::vector<int32_t>& values);
  GgufWriter& booleans(std::string_view key, const std::vector<bool>& values);
  GgufWriter& floats(std::string_view key, int64_t count);
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& values);
  // `count` texts of the lengths that real vocabularies have, made up from their number.
  GgufWriter& vocabulary(std::string_view key, int64_t count, int64_t mean_bytes);
  // Anything, malformed things included: the bytes of a value behind its type.
  GgufWriter& raw(std::string_view key, uint32_t type, std::string_view bytes);

  // `type` as in the format's table ("Q4_K"). The offset follows from the tensors before.
  GgufWriter& tensor(std::string_view name, std::initializer_list<int64_t> extents,
                     std::string_view type);
  GgufWriter& tensor(std::string_view name, const std::vector<int64_t>& extents,
                     std::string_view type);
  // A tensor with everything given.
  GgufWriter& raw_tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type,
                         uint64_t offset);

  GgufWriter& alignment(uint32_t bytes);  // also writes general.alignment

  // The header up to the tensor data, padded.
  std::string header() const;
  int64_t data_bytes() const { return data_bytes_; }
  int64_t file_bytes() const { return int64_t(header().size()) + data_bytes_; }
  // With zeros as data; only for small models.
  std::string whole() const;
  // Writes a sparse file; aborts the test when it cannot.
  void write(const std::string& path) const;

 private:
  template <class T>
  void put(std::string& to, T value) const;
  void put_length(std::string& to, uint64_t n) const;
  void put_text(std::string& to, std::string_view text) const;
  std::string& begin(std::string_view key, uint32_t type);
  std::string& begin_list(std::string_view key, uint32_t element, uint64_t count);

  uint32_t version_;
  bool big_endian_;
  int64_t alignment_ = 32;
  int64_t data_bytes_ = 0;
  uint64_t keys_ = 0;
  uint64_t tensors_ = 0;
  std::string metadata_;
  std::string table_;
};

// Writes `bytes` and stretches the file with a hole to `file_bytes`.
void write_sparse(const std::string& path, std::string_view bytes, int64_t file_bytes);

// A Llama-shaped model with a tokenizer of real size: what the header of Llama 3.1 70B looks like
// (128,256 tokens, 280,147 merges, 724 tensors, 6.6 MB).
GgufWriter llama_70b_with_tokenizer();

}  // namespace vramwise::testing
