#include "formats/safetensors/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "base/sort.h"
#include "base/text.h"
#include "formats/json_scanner.h"
#include "formats/names.h"

namespace vramwise::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "the length is read as little-endian");

// Source: huggingface/safetensors safetensors/src/tensor.rs, enum Dtype.
constexpr SafetensorsType kTypes[] = {
    {"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16},        {"F16", 16},        {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32},        {"C64", 64},        {"F64", 64},    {"I64", 64},    {"U64", 64},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
};

const SafetensorsType* find_type(std::string_view name) {
  for (const SafetensorsType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

class HeaderReader {
 public:
  HeaderReader(ByteSource& source, int64_t size, int64_t header_end,
               const SafetensorsLimits& limits)
      : scanner_(source, 8, header_end), limits_(limits) {
    file_.name = source.name();
    file_.file_bytes = size;
    file_.data_offset = header_end;
  }

  Result<SafetensorsFile> read();

 private:
  Result<void> read_metadata();
  Result<void> read_entry(std::string name);
  Result<void> check_sizes(SafetensorsEntry& entry, int64_t at);
  Result<void> check_layout();
  Failure broken(ErrorCode code, std::string message, const std::string& tensor,
                 int64_t offset) const {
    return fail(Error(code, std::move(message)).at(Where{file_.name, shown(tensor), 0, 0, offset}));
  }

  JsonScanner scanner_;
  const SafetensorsLimits& limits_;
  SafetensorsFile file_;
  int64_t kept_ = 0;
};

Result<void> HeaderReader::read_metadata() {
  return scanner_.object(limits_.name_bytes, [&](const std::string& key) -> Result<void> {
    if (key != "format") return scanner_.skip_value();
    TRY_ASSIGN(file_.format, scanner_.string(limits_.name_bytes));
    return {};
  });
}

Result<void> HeaderReader::read_entry(std::string name) {
  SafetensorsEntry entry;
  entry.name = std::move(name);
  const int64_t at = scanner_.position();
  bool has_type = false;
  bool has_shape = false;
  bool has_offsets = false;
  const auto once = [&](bool& seen, std::string_view what) -> Result<void> {
    if (seen) {
      return broken(ErrorCode::invalid_input,
                    "tensor '" + shown(entry.name) + "' states its " + std::string(what) + " twice",
                    entry.name, at);
    }
    seen = true;
    return {};
  };
  TRY(scanner_.object(limits_.name_bytes, [&](const std::string& key) -> Result<void> {
    if (key == "dtype") {
      TRY(once(has_type, "dtype"));
      TRY_ASSIGN(const std::string type, scanner_.string(64));
      entry.type = find_type(type);
      if (entry.type == nullptr) {
        return broken(ErrorCode::unsupported,
                      "tensor '" + shown(entry.name) + "' has dtype '" + shown(type) +
                          "', which is not known",
                      entry.name, at);
      }
      return {};
    }
    if (key == "shape") {
      TRY(once(has_shape, "shape"));
      return scanner_.array([&](int64_t i) -> Result<void> {
        if (i >= int64_t(entry.extent.size())) {
          return broken(ErrorCode::unsupported,
                        "tensor '" + shown(entry.name) + "' has more than " +
                            format_integer(int64_t(entry.extent.size())) + " dimensions",
                        entry.name, at);
        }
        TRY_ASSIGN(entry.extent[size_t(i)], scanner_.integer());
        entry.rank = int32_t(i) + 1;
        return {};
      });
    }
    if (key == "data_offsets") {
      TRY(once(has_offsets, "data_offsets"));
      int64_t count = 0;
      TRY(scanner_.array([&](int64_t i) -> Result<void> {
        TRY_ASSIGN(const int64_t offset, scanner_.integer());
        (i == 0 ? entry.begin : entry.end) = offset;
        count = i + 1;
        return {};
      }));
      if (count != 2) {
        return broken(ErrorCode::invalid_input,
                      "tensor '" + shown(entry.name) + "' has " + format_integer(count) +
                          " data_offsets, two are needed",
                      entry.name, at);
      }
      return {};
    }
    return scanner_.skip_value();
  }));
  if (!has_type || !has_shape || !has_offsets) {
    return broken(ErrorCode::missing_field,
                  "tensor '" + shown(entry.name) + "' lacks its " +
                      (!has_type    ? "dtype"
                       : !has_shape ? "shape"
                                    : "data_offsets"),
                  entry.name, at);
  }
  TRY(check_sizes(entry, at));
  kept_ += int64_t(sizeof(SafetensorsEntry) + entry.name.size());
  if (int64_t(file_.tensors.size()) >= limits_.tensors || kept_ > limits_.kept_bytes) {
    return broken(
        ErrorCode::too_large,
        "more than " + format_grouped(int64_t(file_.tensors.size())) + " tensors in " + "one file",
        entry.name, at);
  }
  file_.tensors.push_back(std::move(entry));
  return {};
}

Result<void> HeaderReader::check_sizes(SafetensorsEntry& entry, int64_t at) {
  // Sums with a header stay below 2^53, which every answer can carry.
  constexpr int64_t kFurthest = int64_t{1} << 52;
  const bool plausible = std::all_of(entry.extent.begin(), entry.extent.begin() + entry.rank,
                                     [](int64_t extent) { return extent <= kFurthest; });
  if (entry.begin > entry.end || entry.end > kFurthest || !plausible) {
    return broken(ErrorCode::invalid_input,
                  "tensor '" + shown(entry.name) + "' lies from " + format_grouped(entry.begin) +
                      " to " + format_grouped(entry.end) +
                      (plausible ? "" : ", or is far too wide"),
                  entry.name, at);
  }
  int64_t bits = entry.type->bits;
  bool overflow = false;
  for (int32_t d = 0; d < entry.rank; ++d) {
    overflow = overflow || __builtin_mul_overflow(bits, entry.extent[size_t(d)], &bits);
  }
  if (entry.elements() == 0) {
    bits = 0;
    overflow = false;
  }
  if (overflow || bits % 8 != 0 || bits / 8 != entry.bytes()) {
    return broken(
        ErrorCode::inconsistent,
        "tensor '" + shown(entry.name) + "' has " + format_grouped(entry.bytes()) +
            " bytes, its shape and dtype need " +
            (overflow ? "more than 64 bits can count" : format_grouped(ceil_div(bits, 8))),
        entry.name, at);
  }
  return {};
}

Result<void> HeaderReader::check_layout() {
  if (const SafetensorsEntry* twice = first_duplicate(file_.tensors)) {
    return broken(ErrorCode::invalid_input, "tensor '" + shown(twice->name) + "' is given twice",
                  twice->name, -1);
  }
  std::vector<uint32_t> order(file_.tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_stable(order, [&](uint32_t a, uint32_t b) {
    return std::pair(file_.tensors[a].begin, file_.tensors[a].end) <
           std::pair(file_.tensors[b].begin, file_.tensors[b].end);
  });
  int64_t end = 0;
  int64_t gaps = 0;
  const SafetensorsEntry* before = nullptr;
  for (const uint32_t index : order) {
    const SafetensorsEntry& tensor = file_.tensors[index];
    if (tensor.begin < end && tensor.bytes() > 0) {
      return broken(ErrorCode::invalid_input,
                    "tensors '" + shown(before->name) + "' and '" + shown(tensor.name) +
                        "' overlap at " + format_grouped(tensor.begin) + " of the data",
                    tensor.name, -1);
    }
    if (tensor.begin > end) gaps += tensor.begin - end;
    if (tensor.end > end) {
      end = tensor.end;
      before = &tensor;
    }
  }
  file_.expected_bytes = file_.data_offset + end;
  if (gaps > 0) {
    file_.notes.warn("safetensors_gaps",
                     file_.name + " leaves " + format_grouped(gaps) +
                         " bytes unused between tensors: the reference reader refuses such a file");
  }
  if (!file_.is_complete()) {
    file_.notes.warn("incomplete_file",
                     file_.name + " is incomplete: " + format_grouped(file_.file_bytes) + " of " +
                         format_grouped(file_.expected_bytes) +
                         " bytes are there; the numbers are those of the complete file");
  }
  return {};
}

Result<SafetensorsFile> HeaderReader::read() {
  bool has_metadata = false;
  TRY(scanner_.object(limits_.name_bytes, [&](std::string name) -> Result<void> {
    if (name != "__metadata__") return read_entry(std::move(name));
    if (has_metadata) return scanner_.broken("__metadata__ is given twice");
    has_metadata = true;
    return read_metadata();
  }));
  TRY(scanner_.finish());
  TRY(check_layout());
  return std::move(file_);
}

}  // namespace

std::span<const SafetensorsType> safetensors_types() { return kTypes; }

int64_t SafetensorsEntry::elements() const {
  int64_t n = 1;
  for (int32_t d = 0; d < rank; ++d) n = saturating_multiply(n, extent[size_t(d)]);
  // A zero anywhere wins over a product that left the range before it.
  for (int32_t d = 0; d < rank; ++d) {
    if (extent[size_t(d)] == 0) return 0;
  }
  return n;
}

int64_t SafetensorsFile::tensor_bytes() const {
  int64_t sum = 0;
  for (const SafetensorsEntry& tensor : tensors) sum = saturating_add(sum, tensor.bytes());
  return sum;
}

Result<SafetensorsFile> read_safetensors(ByteSource& source, const SafetensorsLimits& limits) {
  TRY_ASSIGN(const int64_t size, source.size());
  const auto broken = [&](ErrorCode code, std::string message) {
    return fail(Error(code, std::move(message)).at(Where{source.name(), "", 0, 0, 0}));
  };
  if (size < 8) return broken(ErrorCode::invalid_input, "too short for a safetensors file");
  std::array<char, 8> bytes;
  TRY(source.read(0, bytes));
  const auto length = std::bit_cast<uint64_t>(bytes);
  if (length > uint64_t(limits.header_bytes)) {
    return broken(length > uint64_t(size) ? ErrorCode::invalid_input : ErrorCode::too_large,
                  "the header of a safetensors file takes " +
                      (length > uint64_t(kInt64Max) ? std::string("more than 2^63")
                                                    : format_grouped(int64_t(length))) +
                      " bytes, at most " + format_grouped(limits.header_bytes) + " are accepted");
  }
  if (int64_t(length) > size - 8) {
    return fail(beyond_end(source.name(), 8, int64_t(length), size)
                    .hint("the download may be incomplete, or this is not a safetensors file"));
  }
  return HeaderReader(source, size, 8 + int64_t(length), limits).read();
}

}  // namespace vramwise::formats
