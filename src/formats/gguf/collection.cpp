#include "formats/gguf/collection.h"

#include <map>
#include <tuple>

#include "base/sort.h"
#include "base/text.h"
#include "formats/gguf/reader.h"

namespace vramwise::formats {
namespace {

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  }
  return upper;
}

// "Q4_K_M", "IQ2_XXS", "BF16", "MXFP4_MOE", "TQ1_0".
bool is_label(std::string_view upper) {
  for (const std::string_view whole : {"BF16", "F16", "FP16", "F32", "FP32"}) {
    if (upper == whole) return true;
  }
  if (starts_with(upper, "MXFP4") || starts_with(upper, "NVFP4")) return true;
  for (const std::string_view start : {"IQ", "TQ", "Q"}) {
    if (!starts_with(upper, start)) continue;
    const std::string_view rest = upper.substr(start.size());
    return rest.size() >= 2 && rest[0] >= '1' && rest[0] <= '8' && rest[1] == '_';
  }
  return false;
}

}  // namespace

std::string gguf_label(std::string_view file_name) {
  std::string name(base_name(file_name));
  if (const auto part = parse_gguf_part_name(name)) name = part->prefix;
  if (ends_with(to_lower(name), ".gguf")) name.resize(name.size() - 5);
  // Tokens between '-' and '.', from the end: the label stands last, but for a few endings.
  std::vector<std::string> tokens;
  std::string token;
  for (const char c : name + "-") {
    if (c != '-' && c != '.') {
      token += c;
    } else {
      tokens.push_back(to_upper(token));
      token.clear();
    }
  }
  for (size_t i = tokens.size(); i-- > 0;) {
    if (!is_label(tokens[i])) continue;
    return i > 0 && tokens[i - 1] == "UD" ? "UD-" + tokens[i] : tokens[i];
  }
  return {};
}

bool is_gguf_companion(std::string_view file_name) {
  const std::string name = to_lower(base_name(file_name));
  return contains(name, "mmproj") || contains(name, "imatrix") || contains(name, "adapter") ||
         contains(name, "lora");
}

std::vector<GgufChoice> gguf_choices(const std::vector<std::string>& names) {
  struct Group {
    int64_t count = 1;
    std::vector<std::pair<int64_t, std::string>> parts;
  };
  std::map<std::string, Group> groups;
  for (const std::string& name : names) {
    if (!ends_with(to_lower(name), ".gguf") || is_gguf_companion(name)) continue;
    if (const auto part = parse_gguf_part_name(name)) {
      Group& group = groups[part->prefix + "/" + format_integer(part->count)];
      group.count = part->count;
      group.parts.emplace_back(part->index, name);
    } else {
      groups[name].parts.emplace_back(1, name);
    }
  }
  std::vector<GgufChoice> choices;
  for (auto& [key, group] : groups) {
    sort_stable(group.parts);
    GgufChoice choice;
    choice.complete = int64_t(group.parts.size()) == group.count;
    for (auto& [index, name] : group.parts) choice.parts.push_back(std::move(name));
    choice.label = gguf_label(choice.parts.front());
    choices.push_back(std::move(choice));
  }
  sort_stable(choices, [](const GgufChoice& a, const GgufChoice& b) {
    return std::tie(a.label, a.parts) < std::tie(b.label, b.parts);
  });
  return choices;
}

}  // namespace vramwise::formats
