#include "engines/launch_command.h"

#include "base/text.h"

namespace vramwise::engines {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/' || c == ':' || c == ',' || c == '=' || c == '+' ||
         c == '%' || c == '@';
}

// The first part is kebab-case; keys below it keep their spelling.
std::string flag_name(std::string_view name) {
  const size_t dot = name.find('.');
  std::string flag = replace_all(std::string(name.substr(0, dot)), "_", "-");
  if (dot != std::string_view::npos) flag += name.substr(dot);
  return flag;
}

std::string value_text(const json::Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_integer()) return format_integer(value.as_integer());
  if (value.is_number()) return format_number(value.as_double());
  return json::dump(value);
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) plain = plain && is_plain(c);
  if (plain) return std::string(text);
  // Text with apostrophes reads better in double quotes, where the shell leaves it alone.
  if (contains(text, "'") && text.find_first_of("\"$`\\!") == std::string_view::npos) {
    return "\"" + std::string(text) + "\"";
  }
  return "'" + replace_all(std::string(text), "'", "'\\''") + "'";
}

std::string launch_command(std::string_view start, std::string_view model, const Options& options,
                           const std::map<std::string, std::string>& env, SwitchStyle style) {
  std::string line;
  for (const auto& [name, value] : env) line += name + "=" + shell_quoted(value) + " ";
  line += start;
  if (!model.empty()) line += " " + shell_quoted(model);
  for (const json::Member& member : options.entries()) {
    const std::string flag = flag_name(member.key);
    const json::Value& value = member.value;
    if (value.is_boolean()) {
      // Keys of a nested object take their truth as a value.
      if (contains(member.key, ".")) {
        line += " --" + flag + (value.as_boolean() ? " true" : " false");
      } else if (value.as_boolean()) {
        line += " --" + flag;
      } else if (style == SwitchStyle::paired) {
        line += " --no-" + flag;
      }
      continue;
    }
    if (value.is_array() && !value.as_array().empty()) {
      line += " --" + flag;
      for (const json::Value& item : value.as_array()) line += " " + shell_quoted(value_text(item));
      continue;
    }
    line += " --" + flag + " " + shell_quoted(value_text(value));
  }
  return line;
}

Options with_objects(const Options& options) {
  Options folded;
  const json::Value nested = options.to_json();
  for (const json::Member& member : nested.as_object()) {
    const bool whole = member.value.is_object();
    folded.set(member.key, whole ? json::Value(json::dump(member.value)) : member.value);
  }
  return folded;
}

}  // namespace vramwise::engines
