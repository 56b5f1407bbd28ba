#include "engines/options.h"

#include <cmath>

#include "base/text.h"

namespace vramwise::engines {
namespace {

void flatten(const json::Value& object, const std::string& prefix, json::Object& out) {
  for (const json::Member& member : object.as_object()) {
    const std::string name = prefix.empty() ? member.key : prefix + "." + member.key;
    if (member.value.is_object() && !member.value.as_object().empty()) {
      flatten(member.value, name, out);
    } else if (!member.value.is_null()) {
      out.push_back({name, member.value});
    }
  }
}

Error bad_value(std::string_view name, const json::Value& value, std::string_view expected) {
  std::string shown = json::dump(value);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  return Error(ErrorCode::invalid_input, "option '" + std::string(name) + "' is " + shown +
                                             ", expected " + std::string(expected))
      .at("engine.options." + std::string(name));
}

}  // namespace

Options Options::from_json(const json::Value& object) {
  Options options;
  json::Object flat;
  flatten(object, "", flat);
  for (json::Member& member : flat) options.set(member.key, std::move(member.value));
  return options;
}

const json::Value* Options::find(std::string_view name) const {
  for (const json::Member& member : entries_) {
    if (member.key == name) return &member.value;
  }
  return nullptr;
}

void Options::set(std::string_view name, json::Value value) {
  for (json::Member& member : entries_) {
    if (member.key == name) {
      member.value = std::move(value);
      return;
    }
  }
  entries_.push_back({std::string(name), std::move(value)});
}

void Options::erase(std::string_view name) {
  std::erase_if(entries_, [&](const json::Member& m) { return m.key == name; });
}

json::Value Options::to_json() const {
  json::Value root = json::Value::object();
  for (const json::Member& member : entries_) {
    json::Value* at = &root;
    const std::vector<std::string_view> steps = split(member.key, '.');
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      json::Value* next = at->find(steps[i]);
      if (next == nullptr || !next->is_object()) next = &at->set(steps[i], json::Value::object());
      at = next;
    }
    at->set(steps.back(), member.value);
  }
  return root;
}

Result<std::optional<int64_t>> Options::integer(std::string_view name, int64_t min,
                                                int64_t max) const {
  const json::Value* value = find(name);
  if (value == nullptr) return std::optional<int64_t>();
  std::optional<int64_t> n;
  if (value->is_integer()) {
    n = value->as_integer();
  } else if (value->is_number() && value->as_double() == std::floor(value->as_double()) &&
             std::fabs(value->as_double()) <= double(kLargestExactInteger)) {
    n = int64_t(value->as_double());
  } else if (value->is_number() && std::fabs(value->as_double()) > double(kLargestExactInteger)) {
    return fail(Error(ErrorCode::too_large, "option '" + std::string(name) + "' is too large")
                    .at("engine.options." + std::string(name)));
  } else if (value->is_string()) {
    n = parse_integer(value->as_string());
  }
  if (!n) return fail(bad_value(name, *value, "a whole number"));
  if (*n > max) {
    return fail(Error(ErrorCode::too_large, "option '" + std::string(name) + "' is " +
                                                format_integer(*n) + ", the largest accepted is " +
                                                format_integer(max))
                    .at("engine.options." + std::string(name)));
  }
  if (*n < min) {
    return fail(bad_value(name, *value, "at least " + format_integer(min)));
  }
  return n;
}

Result<std::optional<double>> Options::number(std::string_view name, double min, double max) const {
  const json::Value* value = find(name);
  if (value == nullptr) return std::optional<double>();
  std::optional<double> d;
  if (value->is_number()) d = value->as_double();
  if (value->is_string()) d = parse_number(value->as_string());
  if (!d || !(*d >= min && *d <= max)) {
    return fail(bad_value(name, *value,
                          "a number from " + format_number(min) + " to " + format_number(max)));
  }
  return d;
}

Result<std::optional<bool>> Options::boolean(std::string_view name) const {
  const json::Value* value = find(name);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_boolean()) return std::optional<bool>(value->as_boolean());
  if (value->is_integer() && (value->as_integer() == 0 || value->as_integer() == 1)) {
    return std::optional<bool>(value->as_integer() == 1);
  }
  if (value->is_string()) {
    const std::string text = to_lower(value->as_string());
    if (text == "true" || text == "1" || text == "on" || text == "yes") {
      return std::optional<bool>(true);
    }
    if (text == "false" || text == "0" || text == "off" || text == "no") {
      return std::optional<bool>(false);
    }
  }
  return fail(bad_value(name, *value, "true or false"));
}

Result<std::optional<std::string>> Options::string(std::string_view name) const {
  const json::Value* value = find(name);
  if (value == nullptr) return std::optional<std::string>();
  if (value->is_string()) return std::optional<std::string>(value->as_string());
  // A bare word that looks like a number or boolean ("-fa 1") arrives typed.
  if (value->is_integer()) return std::optional<std::string>(format_integer(value->as_integer()));
  if (value->is_boolean()) {
    return std::optional<std::string>(value->as_boolean() ? "true" : "false");
  }
  return fail(bad_value(name, *value, "text"));
}

Result<std::optional<std::vector<double>>> Options::numbers(std::string_view name) const {
  const json::Value* value = find(name);
  if (value == nullptr) return std::optional<std::vector<double>>();
  std::vector<double> list;
  if (value->is_array()) {
    for (const json::Value& item : value->as_array()) {
      if (!item.is_number()) return fail(bad_value(name, *value, "a list of numbers"));
      list.push_back(item.as_double());
    }
  } else if (value->is_number()) {
    list.push_back(value->as_double());
  } else if (value->is_string()) {
    for (const std::string_view part : split(replace_all(value->as_string(), "/", ","), ',')) {
      const auto d = parse_number(trim(part));
      if (!d) return fail(bad_value(name, *value, "a list of numbers"));
      list.push_back(*d);
    }
  } else {
    return fail(bad_value(name, *value, "a list of numbers"));
  }
  return std::optional<std::vector<double>>(std::move(list));
}

Result<Version> Version::parse(std::string_view text) {
  Version version;
  version.text = std::string(text);
  if (text.empty()) return version;
  version.given = true;
  const auto bad = [&] {
    return fail(Error(ErrorCode::invalid_input,
                      "version '" + std::string(text.substr(0, 60)) + "' is not understood")
                    .at("engine.version")
                    .hint("write it as the engine prints it: 0.15.2rc1, 1.2.0.post2, b9200, 0.18"));
  };
  if (text[0] == 'b' || text[0] == 'B') {
    const auto build = parse_integer(text.substr(1));
    if (!build || *build < 1 || *build > 1'000'000) return bad();
    version.build = int(*build);
    return version;
  }
  if (text[0] == 'v' || text[0] == 'V') text.remove_prefix(1);
  int* const parts[] = {&version.major, &version.minor, &version.patch};
  size_t count = 0;
  size_t i = 0;
  while (count < 3 && i < text.size() && text[i] >= '0' && text[i] <= '9') {
    int64_t n = 0;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      n = n * 10 + (text[i++] - '0');
      if (n > 1'000'000) return bad();
    }
    *parts[count++] = int(n);
    if (i < text.size() && text[i] == '.' && i + 1 < text.size() && text[i + 1] >= '0' &&
        text[i + 1] <= '9') {
      ++i;
    } else {
      break;
    }
  }
  if (count == 0) return bad();
  // What may follow the numbers: rc1, .post2, .dev123, +cu128, -beta.
  if (i < text.size() && text[i] != 'r' && text[i] != '.' && text[i] != '+' && text[i] != '-' &&
      text[i] != 'd' && text[i] != 'a' && text[i] != 'b') {
    return bad();
  }
  version.two_numbers = count == 2 && i == text.size();
  // What setuptools-scm writes where it sees no tag.
  version.unnumbered = version.major == 0 && version.minor <= 1 && text.substr(i, 4) == ".dev";
  version.unnumbered |= count == 3 && version.major + version.minor + version.patch == 0;
  return version;
}

}  // namespace vramwise::engines
