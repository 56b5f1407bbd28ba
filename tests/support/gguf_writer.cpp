#include "support/gguf_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "base/checked.h"
#include "formats/gguf/tensor_type.h"

namespace vramwise::testing {
namespace {

enum : uint32_t {
  kU8 = 0,
  kU16 = 2,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kText = 8,
  kList = 9,
  kU64 = 10
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "test support: %s\n", why.c_str());
  std::abort();
}

const formats::GgufType& type_of(std::string_view name) {
  for (const formats::GgufType& type : formats::gguf_types()) {
    if (type.name == name) return type;
  }
  give_up("no ggml type " + std::string(name));
}

}  // namespace

template <class T>
void GgufWriter::put(std::string& to, T value) const {
  auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  if (big_endian_) std::reverse(bytes.begin(), bytes.end());
  to.append(bytes.data(), bytes.size());
}

void GgufWriter::put_length(std::string& to, uint64_t n) const {
  if (version_ == 1) {
    put(to, uint32_t(n));
  } else {
    put(to, n);
  }
}

void GgufWriter::put_text(std::string& to, std::string_view text) const {
  put_length(to, text.size());
  to += text;
}

std::string& GgufWriter::begin(std::string_view key, uint32_t type) {
  ++keys_;
  put_text(metadata_, key);
  put(metadata_, type);
  return metadata_;
}

std::string& GgufWriter::begin_list(std::string_view key, uint32_t element, uint64_t count) {
  begin(key, kList);
  put(metadata_, element);
  put_length(metadata_, count);
  return metadata_;
}

GgufWriter& GgufWriter::u8(std::string_view key, uint8_t value) {
  put(begin(key, kU8), value);
  return *this;
}
GgufWriter& GgufWriter::u16(std::string_view key, uint16_t value) {
  put(begin(key, kU16), value);
  return *this;
}
GgufWriter& GgufWriter::u32(std::string_view key, uint32_t value) {
  put(begin(key, kU32), value);
  return *this;
}
GgufWriter& GgufWriter::i32(std::string_view key, int32_t value) {
  put(begin(key, kI32), value);
  return *this;
}
GgufWriter& GgufWriter::u64(std::string_view key, uint64_t value) {
  put(begin(key, kU64), value);
  return *this;
}
GgufWriter& GgufWriter::f32(std::string_view key, float value) {
  put(begin(key, kF32), value);
  return *this;
}
GgufWriter& GgufWriter::boolean(std::string_view key, bool value) {
  put(begin(key, kBool), uint8_t(value ? 1 : 0));
  return *this;
}
GgufWriter& GgufWriter::text(std::string_view key, std::string_view value) {
  put_text(begin(key, kText), value);
  return *this;
}
GgufWriter& GgufWriter::integers(std::string_view key, const std::vector<int32_t>& values) {
  std::string& to = begin_list(key, kI32, values.size());
  for (const int32_t value : values) put(to, value);
  return *this;
}
GgufWriter& GgufWriter::booleans(std::string_view key, const std::vector<bool>& values) {
  std::string& to = begin_list(key, kBool, values.size());
  for (const bool value : values) put(to, uint8_t(value ? 1 : 0));
  return *this;
}
GgufWriter& GgufWriter::floats(std::string_view key, int64_t count) {
  std::string& to = begin_list(key, kF32, uint64_t(count));
  for (int64_t i = 0; i < count; ++i) put(to, float(i));
  return *this;
}
GgufWriter& GgufWriter::texts(std::string_view key, const std::vector<std::string>& values) {
  std::string& to = begin_list(key, kText, values.size());
  for (const std::string& value : values) put_text(to, value);
  return *this;
}
GgufWriter& GgufWriter::vocabulary(std::string_view key, int64_t count, int64_t mean_bytes) {
  std::string& to = begin_list(key, kText, uint64_t(count));
  for (int64_t i = 0; i < count; ++i) {
    // From one byte to twice the mean, evenly.
    const size_t bytes = size_t(1 + (i * 7) % (2 * mean_bytes - 1));
    put_text(to, std::string(bytes, char('a' + i % 26)));
  }
  return *this;
}
GgufWriter& GgufWriter::raw(std::string_view key, uint32_t type, std::string_view bytes) {
  begin(key, type) += bytes;
  return *this;
}

GgufWriter& GgufWriter::tensor(std::string_view name, std::initializer_list<int64_t> extents,
                               std::string_view type) {
  return tensor(name, std::vector<int64_t>(extents), type);
}

GgufWriter& GgufWriter::tensor(std::string_view name, const std::vector<int64_t>& extents,
                               std::string_view type) {
  const formats::GgufType& info = type_of(type);
  int64_t bytes = extents.at(0) / info.block_elements * info.block_bytes;
  for (size_t d = 1; d < extents.size(); ++d) bytes *= extents[d];
  raw_tensor(name, {extents.begin(), extents.end()}, uint32_t(info.id), uint64_t(data_bytes_));
  data_bytes_ += round_up(bytes, alignment_);
  return *this;
}

GgufWriter& GgufWriter::raw_tensor(std::string_view name, const std::vector<uint64_t>& extents,
                                   uint32_t type, uint64_t offset) {
  ++tensors_;
  put_text(table_, name);
  put(table_, uint32_t(extents.size()));
  for (const uint64_t extent : extents) put_length(table_, extent);
  put(table_, type);
  put(table_, offset);
  return *this;
}

GgufWriter& GgufWriter::alignment(uint32_t bytes) {
  alignment_ = bytes;
  return u32("general.alignment", bytes);
}

std::string GgufWriter::header() const {
  std::string bytes = "GGUF";
  put(bytes, version_);
  put_length(bytes, tensors_);
  put_length(bytes, keys_);
  bytes += metadata_;
  bytes += table_;
  if (tensors_ > 0) bytes.resize(size_t(round_up(int64_t(bytes.size()), alignment_)), '\0');
  return bytes;
}

std::string GgufWriter::whole() const {
  std::string bytes = header();
  bytes.resize(bytes.size() + size_t(data_bytes_), '\0');
  return bytes;
}

void GgufWriter::write(const std::string& path) const {
  const std::string bytes = header();
  write_sparse(path, bytes, int64_t(bytes.size()) + data_bytes_);
}

void write_sparse(const std::string& path, std::string_view bytes, int64_t file_bytes) {
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) give_up("cannot write " + path);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) give_up("cannot write " + path);
    bytes.remove_prefix(size_t(n));
  }
  if (::ftruncate(fd, file_bytes) != 0) give_up("cannot stretch " + path);
  ::close(fd);
}

GgufWriter llama_70b_with_tokenizer() {
  constexpr int64_t kLayers = 80;
  constexpr int64_t kHidden = 8192;
  constexpr int64_t kFfn = 28672;
  constexpr int64_t kVocabulary = 128256;
  constexpr int64_t kMerges = 280147;
  GgufWriter file;
  file.text("general.architecture", "llama")
      .text("general.name", "Llama 3.1 70B Instruct")
      .u32("general.file_type", 15)
      .u32("general.quantization_version", 2)
      .u32("llama.block_count", kLayers)
      .u32("llama.context_length", 131072)
      .u32("llama.embedding_length", kHidden)
      .u32("llama.feed_forward_length", kFfn)
      .u32("llama.attention.head_count", 64)
      .u32("llama.attention.head_count_kv", 8)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .f32("llama.rope.freq_base", 500000.F)
      .u32("llama.rope.dimension_count", 128)
      .u32("llama.vocab_size", kVocabulary)
      .text("tokenizer.ggml.model", "gpt2")
      .vocabulary("tokenizer.ggml.tokens", kVocabulary, 7)
      .integers("tokenizer.ggml.token_type", std::vector<int32_t>(size_t(kVocabulary), 1))
      .vocabulary("tokenizer.ggml.merges", kMerges, 7)
      .text("tokenizer.chat_template", std::string(4500, 't'));
  file.tensor("token_embd.weight", {kHidden, kVocabulary}, "Q4_K")
      .tensor("rope_freqs.weight", {64}, "F32");
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    file.tensor(layer + "attn_norm.weight", {kHidden}, "F32")
        .tensor(layer + "attn_q.weight", {kHidden, kHidden}, "Q4_K")
        .tensor(layer + "attn_k.weight", {kHidden, 1024}, "Q4_K")
        .tensor(layer + "attn_v.weight", {kHidden, 1024}, "Q6_K")
        .tensor(layer + "attn_output.weight", {kHidden, kHidden}, "Q4_K")
        .tensor(layer + "ffn_norm.weight", {kHidden}, "F32")
        .tensor(layer + "ffn_gate.weight", {kHidden, kFfn}, "Q4_K")
        .tensor(layer + "ffn_up.weight", {kHidden, kFfn}, "Q4_K")
        .tensor(layer + "ffn_down.weight", {kFfn, kHidden}, "Q6_K");
  }
  file.tensor("output_norm.weight", {kHidden}, "F32")
      .tensor("output.weight", {kHidden, kVocabulary}, "Q6_K");
  return file;
}

}  // namespace vramwise::testing
