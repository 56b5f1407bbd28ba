#include "formats/gguf/reader.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/text.h"
#include "formats/cursor.h"
#include "formats/gguf/layout.h"
#include "formats/gguf/value_bytes.h"
#include "formats/names.h"

namespace vramwise::formats {
namespace {

// Where a tensor may end and how long it may be: sums with headers and padding stay below 2^53,
// which every answer can carry.
constexpr int64_t kFurthest = int64_t{1} << 52;

class HeaderReader {
 public:
  HeaderReader(ByteSource& source, int64_t size, const GgufLimits& limits)
      : cursor_(source, size), size_(size), limits_(limits) {}

  Result<GgufFile> read();

 private:
  Result<void> read_start();
  Result<void> read_metadata(int64_t count);
  Result<GgufValue> read_value(GgufValueType type);
  Result<GgufValue> read_array();
  Result<void> skip_strings(int64_t count);
  Result<void> read_tensors(int64_t count);
  Result<void> read_extents(GgufTensorEntry& tensor);

  template <class T>
  Result<T> number() {
    TRY(within(int64_t(sizeof(T))));
    TRY(cursor_.need(int64_t(sizeof(T))));
    const T value = load<T>(cursor_.window().data(), file_.big_endian);
    cursor_.advance(int64_t(sizeof(T)));
    return value;
  }
  // Counts and lengths are 32 bits wide in version 1.
  Result<int64_t> length() {
    if (file_.version == 1) {
      TRY_ASSIGN(const uint32_t n, number<uint32_t>());
      return int64_t(n);
    }
    TRY_ASSIGN(const uint64_t n, number<uint64_t>());
    return to_count(n);
  }
  int64_t length_bytes() const { return file_.version == 1 ? 4 : 8; }
  Result<std::string> string(int64_t limit, std::string_view what);

  Result<void> within(int64_t bytes);
  Result<void> keep(int64_t bytes);
  Failure broken(ErrorCode code, std::string message, int64_t offset = -1) const;

  Cursor cursor_;
  int64_t size_;
  const GgufLimits& limits_;
  GgufFile file_;
  std::string about_;  // the key or tensor being read
  int64_t kept_ = 0;
};

Failure HeaderReader::broken(ErrorCode code, std::string message, int64_t offset) const {
  return fail(Error(code, std::move(message))
                  .at(Where{file_.name, about_, 0, 0, offset < 0 ? cursor_.position() : offset}));
}

// The next bytes lie inside the file and inside what a header may take.
Result<void> HeaderReader::within(int64_t bytes) {
  if (bytes > cursor_.remaining()) {
    return fail(Error(ErrorCode::invalid_input,
                      "the file ends inside its header: " + format_grouped(size_) + " bytes, " +
                          format_grouped(bytes) + " more from byte " +
                          format_grouped(cursor_.position()) + " on were expected")
                    .at(Where{file_.name, about_, 0, 0, cursor_.position()})
                    .hint("the download may be incomplete, or this is not a GGUF file"));
  }
  if (cursor_.position() + bytes > limits_.header_bytes) {
    return broken(ErrorCode::too_large, "the header takes more than the " +
                                            format_bytes(Bytes(limits_.header_bytes)) +
                                            " accepted");
  }
  return {};
}

Result<void> HeaderReader::keep(int64_t bytes) {
  kept_ += bytes;
  if (kept_ <= limits_.kept_bytes) return {};
  return broken(ErrorCode::too_large, "the header describes more than " +
                                          format_bytes(Bytes(limits_.kept_bytes)) +
                                          " of keys and tensors");
}

Result<std::string> HeaderReader::string(int64_t limit, std::string_view what) {
  const int64_t start = cursor_.position();
  TRY_ASSIGN(const int64_t n, length());
  if (n > limit) {
    return broken(ErrorCode::invalid_input,
                  std::string(what) + " of " + format_grouped(n) + " bytes, at most " +
                      format_grouped(limit) + " are allowed",
                  start);
  }
  TRY(within(n));
  TRY(cursor_.need(n));
  std::string text(cursor_.window().substr(0, size_t(n)));
  cursor_.advance(n);
  return text;
}

Result<void> HeaderReader::read_start() {
  if (size_ < 4) return broken(ErrorCode::invalid_input, "too short for a GGUF file");
  TRY(cursor_.need(4));
  const std::string magic(cursor_.window().substr(0, 4));
  if (magic != "GGUF") {
    return fail(Error(ErrorCode::invalid_input,
                      "not a GGUF file: it starts with '" + shown(magic) + "', not 'GGUF'")
                    .at(Where{file_.name, "", 0, 0, 0}));
  }
  cursor_.advance(4);
  TRY_ASSIGN(uint32_t version, number<uint32_t>());
  // A file of the other byte order says so only by a version that is far too high.
  if (version != 0 && (version & 0xFFFFU) == 0) {
    file_.big_endian = true;
    version = (version >> 24U) | ((version >> 8U) & 0xFF00U);
  }
  if (version < 1 || version > 3) {
    return fail(Error(ErrorCode::unsupported,
                      "GGUF version " + format_integer(version) + " is not known, 1 to 3 are")
                    .at(Where{file_.name, "", 0, 0, 4}));
  }
  file_.version = version;
  return {};
}

Result<void> HeaderReader::read_metadata(int64_t count) {
  file_.metadata.reserve(size_t(std::min<int64_t>(count, 256)));
  for (int64_t i = 0; i < count; ++i) {
    about_ = "key " + format_integer(i);
    const int64_t start = cursor_.position();
    GgufKey key;
    TRY_ASSIGN(key.name, string(limits_.key_bytes, "a key"));
    if (key.name.empty()) return broken(ErrorCode::invalid_input, "a key without a name", start);
    about_ = shown(key.name);
    TRY_ASSIGN(const uint32_t type, number<uint32_t>());
    TRY_ASSIGN(key.value, read_value(GgufValueType(type)));
    TRY(keep(int64_t(sizeof(GgufKey) + key.name.size())));
    file_.metadata.push_back(std::move(key));
  }
  about_.clear();
  return {};
}

Result<GgufValue> HeaderReader::read_value(GgufValueType type) {
  if (!is_known(type)) {
    return broken(
        ErrorCode::invalid_input,
        "'" + about_ + "' has value type " + format_integer(uint32_t(type)) + ", 0 to 12 exist",
        cursor_.position() - 4);
  }
  switch (type) {
    case GgufValueType::array: return read_array();
    case GgufValueType::string: {
      TRY_ASSIGN(const int64_t n, length());
      TRY(within(n));
      const int64_t kept = std::min(n, limits_.kept_text);
      TRY(cursor_.need(kept));
      GgufText text{std::string(cursor_.window().substr(0, size_t(kept))), n};
      cursor_.skip(n);
      TRY(keep(kept));
      return GgufValue(std::move(text));
    }
    case GgufValueType::f32: {
      TRY_ASSIGN(const float value, number<float>());
      return GgufValue(double(value));
    }
    case GgufValueType::f64: {
      TRY_ASSIGN(const double value, number<double>());
      return GgufValue(value);
    }
    default: break;
  }
  const int64_t bytes = value_bytes(type);
  TRY(within(bytes));
  TRY(cursor_.need(bytes));
  const int64_t value = load_integer(cursor_.window().data(), type, file_.big_endian);
  cursor_.advance(bytes);
  if (type == GgufValueType::boolean) return GgufValue(value != 0);
  return GgufValue(value);
}

Result<GgufValue> HeaderReader::read_array() {
  const int64_t start = cursor_.position();
  GgufArray list;
  TRY_ASSIGN(const uint32_t type, number<uint32_t>());
  list.element = GgufValueType(type);
  if (list.element == GgufValueType::array) {
    return broken(ErrorCode::invalid_input, "'" + about_ + "' is a list of lists", start);
  }
  if (!is_known(list.element)) {
    return broken(
        ErrorCode::invalid_input,
        "'" + about_ + "' is a list of value type " + format_integer(type) + ", 0 to 12 exist",
        start);
  }
  TRY_ASSIGN(list.count, length());
  const bool text = list.element == GgufValueType::string;
  const int64_t each = text ? length_bytes() : value_bytes(list.element);
  if (list.count > limits_.array_elements) {
    return broken(ErrorCode::too_large,
                  "'" + about_ + "' has " + format_grouped(list.count) + " elements, at most " +
                      format_grouped(limits_.array_elements) + " are allowed",
                  start);
  }
  TRY(within(saturating_multiply(list.count, each)));
  if (text) {
    TRY(skip_strings(list.count));
    return GgufValue(std::move(list));
  }
  if (is_kept(list.element) && list.count <= limits_.kept_elements) {
    TRY(cursor_.need(list.count * each));
    TRY(keep(list.count * 8));
    list.values.resize(size_t(list.count));
    const char* at = cursor_.window().data();
    for (int64_t& value : list.values) {
      value = load_integer(at, list.element, file_.big_endian);
      at += each;
    }
  }
  cursor_.skip(list.count * each);
  return GgufValue(std::move(list));
}

// Token lists: hundreds of thousands of short strings of which only the count matters. The inner
// loop hops from length to length inside the window.
Result<void> HeaderReader::skip_strings(int64_t count) {
  while (count > 0) {
    if (file_.version != 1 && !file_.big_endian) {
      const std::string_view window = cursor_.window();
      const char* at = window.data();
      const char* const end = at + window.size();
      while (count > 0 && end - at >= 8) {
        uint64_t n = 0;
        std::memcpy(&n, at, 8);
        if (n > uint64_t(end - at - 8)) break;
        at += 8 + n;
        --count;
      }
      cursor_.advance(at - window.data());
      if (count == 0) break;
    }
    // The next one crosses the window's end.
    TRY_ASSIGN(const int64_t n, length());
    TRY(within(n));
    cursor_.skip(n);
    --count;
    if (cursor_.remaining() > 0) TRY(cursor_.need(1));
  }
  return {};
}

Result<void> HeaderReader::read_extents(GgufTensorEntry& tensor) {
  TRY_ASSIGN(const uint32_t rank, number<uint32_t>());
  if (rank > 4) {
    return broken(ErrorCode::invalid_input,
                  "tensor '" + about_ + "' has " + format_integer(rank) +
                      " dimensions, at most 4 are allowed",
                  cursor_.position() - 4);
  }
  tensor.rank = int32_t(rank);
  int64_t elements = 1;
  bool overflow = false;
  for (uint32_t d = 0; d < rank; ++d) {
    uint64_t extent = 0;
    if (file_.version == 1) {
      TRY_ASSIGN(extent, number<uint32_t>());
    } else {
      TRY_ASSIGN(extent, number<uint64_t>());
    }
    tensor.extent[d] = to_count(extent);
    if (extent > uint64_t(kInt64Max)) {
      return broken(ErrorCode::invalid_input, "tensor '" + about_ + "' has a negative extent",
                    cursor_.position() - 8);
    }
    overflow = overflow || tensor.extent[d] > kFurthest ||
               __builtin_mul_overflow(elements, tensor.extent[d], &elements);
  }
  if (overflow) {
    return broken(ErrorCode::too_large,
                  "tensor '" + about_ + "' has more elements than 64 bits can count");
  }
  return {};
}

Result<void> HeaderReader::read_tensors(int64_t count) {
  file_.tensors.reserve(size_t(std::min<int64_t>(count, 4096)));
  for (int64_t i = 0; i < count; ++i) {
    about_ = "tensor " + format_integer(i);
    GgufTensorEntry tensor;
    TRY_ASSIGN(tensor.name, string(limits_.name_bytes, "a tensor's name"));
    about_ = shown(tensor.name);
    TRY(read_extents(tensor));
    const int64_t type_at = cursor_.position();
    TRY_ASSIGN(const int32_t type, number<int32_t>());
    tensor.type = gguf_type(type);
    if (tensor.type == nullptr) {
      return fail(Error(ErrorCode::unsupported,
                        "tensor '" + about_ + "' has type " + format_integer(type) +
                            (is_removed_gguf_type(type) ? ", which was removed from the format"
                                                        : ", which is not known"))
                      .at(Where{file_.name, about_, 0, 0, type_at})
                      .hint("forks of llama.cpp add types of their own; quantise with upstream "
                            "llama.cpp to get a size"));
    }
    if (tensor.extent[0] % tensor.type->block_elements != 0) {
      return broken(ErrorCode::invalid_input,
                    "tensor '" + about_ + "' has rows of " + format_integer(tensor.extent[0]) +
                        " elements, " + std::string(tensor.type->name) + " needs a multiple of " +
                        format_integer(tensor.type->block_elements),
                    type_at);
    }
    TRY_ASSIGN(const uint64_t offset, number<uint64_t>());
    tensor.offset = to_count(offset);
    int64_t bytes = tensor.extent[0] / tensor.type->block_elements;
    const bool too_large = __builtin_mul_overflow(bytes, tensor.type->block_bytes, &bytes) ||
                           __builtin_mul_overflow(bytes, tensor.extent[1], &bytes) ||
                           __builtin_mul_overflow(bytes, tensor.extent[2], &bytes) ||
                           __builtin_mul_overflow(bytes, tensor.extent[3], &bytes);
    if (too_large || tensor.offset > kFurthest || bytes > kFurthest - tensor.offset) {
      return broken(ErrorCode::too_large,
                    "tensor '" + about_ + "' lies or reaches beyond 2^52 bytes", type_at);
    }
    tensor.bytes = bytes;
    TRY(keep(int64_t(sizeof(GgufTensorEntry) + tensor.name.size())));
    file_.tensors.push_back(std::move(tensor));
  }
  about_.clear();
  return {};
}

Result<GgufFile> HeaderReader::read() {
  file_.name = cursor_.name();
  file_.file_bytes = size_;
  TRY(read_start());
  TRY_ASSIGN(const int64_t tensors, length());
  TRY_ASSIGN(const int64_t keys, length());
  const auto too_many = [&](int64_t count, int64_t limit, int64_t least_bytes,
                            std::string_view what) -> Result<void> {
    if (count <= limit && saturating_multiply(count, least_bytes) <= cursor_.remaining()) return {};
    return broken(count > limit ? ErrorCode::too_large : ErrorCode::invalid_input,
                  "the header announces " + format_grouped(count) + " " + std::string(what) +
                      (count > limit ? ", at most " + format_grouped(limit) + " are accepted"
                                     : ", more than the file could hold"),
                  8);
  };
  TRY(too_many(tensors, limits_.tensors, 2 * length_bytes() + 8, "tensors"));
  TRY(too_many(keys, limits_.keys, length_bytes() + 5, "keys"));
  TRY(read_metadata(keys));
  TRY(read_tensors(tensors));
  TRY(check_gguf(file_, cursor_.position()));
  return std::move(file_);
}

}  // namespace

Result<GgufFile> read_gguf(ByteSource& source, const GgufLimits& limits) {
  TRY_ASSIGN(const int64_t size, source.size());
  return HeaderReader(source, size, limits).read();
}

}  // namespace vramwise::formats
