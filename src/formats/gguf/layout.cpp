#include "formats/gguf/layout.h"

#include <bit>
#include <numeric>

#include "base/checked.h"
#include "base/sort.h"
#include "base/text.h"
#include "formats/names.h"

namespace vramwise::formats {
namespace {

Failure refuse(const GgufFile& file, int64_t header_end, std::string about, std::string message) {
  return fail(Error(ErrorCode::invalid_input, std::move(message))
                  .at(Where{file.name, std::move(about), 0, 0, header_end}));
}

Result<void> check_names(const GgufFile& file, int64_t header_end) {
  if (const GgufKey* twice = first_duplicate(file.metadata)) {
    return refuse(file, header_end, "", "key '" + shown(twice->name) + "' is given twice");
  }
  if (const GgufTensorEntry* twice = first_duplicate(file.tensors)) {
    return refuse(file, header_end, "", "tensor '" + shown(twice->name) + "' is given twice");
  }
  return {};
}

Result<void> read_alignment(GgufFile& file, int64_t header_end) {
  const GgufValue* given = file.find("general.alignment");
  if (given == nullptr) return {};
  const int64_t* value = std::get_if<int64_t>(given);
  if (value == nullptr || *value <= 0 || *value > (int64_t{1} << 31) ||
      !std::has_single_bit(uint64_t(*value))) {
    return refuse(file, header_end, "general.alignment",
                  "general.alignment must be a power of two" +
                      (value != nullptr ? ", it is " + format_integer(*value) : std::string()));
  }
  file.alignment = *value;
  return {};
}

// Where each tensor lies: no overlap, in the file; gaps are said.
Result<void> place_tensors(GgufFile& file, int64_t header_end) {
  file.data_offset = file.tensors.empty() ? header_end : round_up(header_end, file.alignment);
  std::vector<uint32_t> order(file.tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_stable(order, [&](uint32_t a, uint32_t b) {
    return file.tensors[a].offset < file.tensors[b].offset;
  });
  int64_t end = 0;
  const GgufTensorEntry* before = nullptr;
  int64_t gaps = 0;
  for (const uint32_t index : order) {
    const GgufTensorEntry& tensor = file.tensors[index];
    const std::string about = shown(tensor.name);
    if (tensor.offset % file.alignment != 0) {
      return refuse(file, header_end, about,
                    "tensor '" + about + "' starts at " + format_grouped(tensor.offset) +
                        ", no multiple of the alignment " + format_integer(file.alignment));
    }
    if (tensor.offset < end && tensor.bytes > 0) {
      return refuse(file, header_end, about,
                    "tensors '" + shown(before->name) + "' and '" + about + "' overlap at " +
                        format_grouped(tensor.offset) + " of the data");
    }
    const int64_t padded = round_up(end, file.alignment);
    if (tensor.offset > padded) gaps += tensor.offset - padded;
    if (tensor.bytes > 0) {
      end = tensor.offset + tensor.bytes;
      before = &tensor;
    }
  }
  file.expected_bytes = file.data_offset + round_up(end, file.alignment);
  if (gaps > 0) {
    file.notes.warn("gguf_gaps", file.name + " leaves " + format_grouped(gaps) +
                                     " bytes unused between tensors: llama.cpp refuses such a "
                                     "file");
  }
  if (file.file_bytes < file.data_offset + end) {
    file.notes.warn("incomplete_file",
                    file.name + " is incomplete: " + format_grouped(file.file_bytes) + " of " +
                        format_grouped(file.data_offset + end) +
                        " bytes are there; the numbers are those of the complete file");
  }
  return {};
}

}  // namespace

Result<void> check_gguf(GgufFile& file, int64_t header_end) {
  TRY(check_names(file, header_end));
  TRY(read_alignment(file, header_end));
  return place_tensors(file, header_end);
}

}  // namespace vramwise::formats
