#include "engines/launch/yaml_write.h"

#include "base/text.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {
namespace {

// Letters, digits and what has no meaning anywhere in a plain scalar, colons and blanks excepted.
bool is_plain(std::string_view text) {
  if (text.empty() || !yaml_scalar(text).is_string()) return false;
  constexpr std::string_view kInside =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+@=";
  if (text.find_first_not_of(kInside) != std::string_view::npos) return false;
  // A sign in front is an indicator or a number's; YAML 1.1 also reads "1_000" and "1e3" as
  // numbers.
  const char first = text.front();
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  return letter || first == '/' || (first == '-' && text.size() > 2 && text[1] == '-');
}

bool is_literal_block(std::string_view text) {
  if (!contains(text, "\n") || text.back() != '\n' || ends_with(text, "\n\n")) return false;
  if (text.front() == ' ' || text.front() == '\n') return false;
  for (const char c : text) {
    if (c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) return false;
  }
  return true;
}

bool is_block(const json::Value& value) {
  return (value.is_object() && !value.as_object().empty()) ||
         (value.is_array() && !value.as_array().empty());
}

std::string scalar(const json::Value& value, const std::string& indent) {
  if (!value.is_string()) return json::dump(value);
  const std::string& text = value.as_string();
  if (is_plain(text)) return text;
  if (!is_literal_block(text)) return json::dump(value);
  std::string block = "|";
  for (const std::string_view line :
       split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    block += "\n" + (line.empty() ? std::string() : indent + std::string(line));
  }
  return block;
}

void write(const json::Value& value, const std::string& indent, std::string& out) {
  if (value.is_object()) {
    for (const json::Member& member : value.as_object()) {
      out += indent + scalar(json::Value(member.key), indent) + ":";
      if (is_block(member.value)) {
        out += "\n";
        write(member.value, indent + "  ", out);
      } else {
        out += " " + scalar(member.value, indent + "  ") + "\n";
      }
    }
    return;
  }
  for (const json::Value& item : value.as_array()) {
    if (!is_block(item)) {
      out += indent + "- " + scalar(item, indent + "  ") + "\n";
      continue;
    }
    // The first line of the item stands behind its dash.
    std::string inner;
    write(item, indent + "  ", inner);
    inner.replace(0, indent.size() + 2, indent + "- ");
    out += inner;
  }
}

}  // namespace

std::string write_yaml(const json::Value& value) {
  if (!is_block(value)) return scalar(value, "  ") + "\n";
  std::string out;
  write(value, "", out);
  return out;
}

}  // namespace vramwise::engines::launch
