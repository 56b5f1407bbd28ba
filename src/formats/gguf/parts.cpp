// Split models: the names of their parts, and one table made of all.
#include "base/checked.h"
#include "base/text.h"
#include "formats/gguf/reader.h"
#include "formats/names.h"

namespace vramwise::formats {

std::string GgufPartName::of(int64_t other_index) const {
  const auto five = [](int64_t n) {
    std::string digits = format_integer(n);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  };
  return prefix + "-" + five(other_index) + "-of-" + five(count) + ".gguf";
}

std::optional<GgufPartName> parse_gguf_part_name(std::string_view name) {
  constexpr std::string_view kEnding = ".gguf";
  constexpr size_t kTail = sizeof("-00001-of-00002") - 1;
  if (!ends_with(name, kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  if (name.size() <= kTail) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - kTail);
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-") return std::nullopt;
  const auto digits = [](std::string_view text) -> std::optional<int64_t> {
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
    }
    return parse_integer(text);
  };
  const auto index = digits(tail.substr(1, 5));
  const auto count = digits(tail.substr(10, 5));
  if (!index || !count || *index < 1 || *index > *count) return std::nullopt;
  return GgufPartName{std::string(name.substr(0, name.size() - kTail)), *index, *count};
}

Result<GgufFile> join_gguf_parts(std::vector<GgufFile> parts) {
  if (parts.empty()) return fail(ErrorCode::internal, "no parts to join");
  const int64_t declared = parts[0].integer("split.count").value_or(1);
  if (declared != int64_t(parts.size())) {
    return fail(Error(ErrorCode::inconsistent,
                      "the model is split into " + format_integer(declared) + " parts, " +
                          format_integer(int64_t(parts.size())) + " are there")
                    .at(Where{parts[0].name, "split.count", 0, 0, -1})
                    .hint("every part <name>-0000N-of-0000M.gguf is needed"));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t number = parts[i].integer("split.no").value_or(0);
    if (number != int64_t(i)) {
      return fail(Error(ErrorCode::inconsistent,
                        parts[i].name + " says it is part " + format_integer(number + 1) +
                            ", it stands in place " + format_integer(int64_t(i) + 1))
                      .at(Where{parts[i].name, "split.no", 0, 0, -1}));
    }
  }
  const auto total = parts[0].integer("split.tensors.count");
  GgufFile whole = std::move(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    GgufFile& part = parts[i];
    for (GgufTensorEntry& tensor : part.tensors) {
      tensor.part = int32_t(i);
      whole.tensors.push_back(std::move(tensor));
    }
    whole.expected_bytes = saturating_add(whole.expected_bytes, part.expected_bytes);
    whole.file_bytes = saturating_add(whole.file_bytes, part.file_bytes);
    whole.notes.append(part.notes);
  }
  if (const GgufTensorEntry* twice = first_duplicate(whole.tensors)) {
    return fail(Error(ErrorCode::inconsistent,
                      "tensor '" + shown(twice->name) + "' stands in two parts of the model")
                    .at(Where{whole.name, shown(twice->name), 0, 0, -1}));
  }
  if (total && *total != int64_t(whole.tensors.size())) {
    return fail(Error(ErrorCode::inconsistent,
                      "the parts hold " + format_integer(int64_t(whole.tensors.size())) +
                          " tensors, the first announces " + format_integer(*total))
                    .at(Where{whole.name, "split.tensors.count", 0, 0, -1}));
  }
  return whole;
}

}  // namespace vramwise::formats
