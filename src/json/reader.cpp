#include "json/reader.h"

#include <cmath>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::json {
namespace {

// "num_hidden_layers" for messages: the last step of the pointer.
std::string_view last_step(std::string_view pointer) {
  const size_t slash = pointer.rfind('/');
  return slash == std::string_view::npos ? pointer : pointer.substr(slash + 1);
}

std::string escape_step(std::string_view key) {
  return replace_all(replace_all(std::string(key), "~", "~0"), "/", "~1");
}

std::string shown(const Value& value) {
  std::string text = dump(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

Reader Reader::child(const Value& value, std::string step) const {
  Reader reader(value, source_, text_);
  reader.pointer_ = pointer_ + "/" + step;
  return reader;
}

Where Reader::where() const {
  Where where = locate(text_, source_, text_.empty() ? -1 : value_->end_offset());
  where.pointer = pointer_;
  return where;
}

Error Reader::error(ErrorCode code, std::string message) const {
  return Error(code, std::move(message)).at(where());
}

Error Reader::wrong_kind(std::string_view expected) const {
  const std::string_view name = last_step(pointer_);
  return error(ErrorCode::invalid_input,
               (name.empty() ? std::string(source_) : "'" + std::string(name) + "'") + " is " +
                   std::string(to_string(value_->kind())) +
                   (value_->is_null() || value_->is_array() || value_->is_object()
                        ? ""
                        : " (" + shown(*value_) + ")") +
                   ", expected " + std::string(expected));
}

std::optional<Reader> Reader::find(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    const Value* member = value_->find(key);
    if (member != nullptr && !member->is_null()) return child(*member, escape_step(key));
  }
  return std::nullopt;
}

Result<std::vector<Reader>> Reader::items() const {
  if (!value_->is_array()) return fail(wrong_kind("a list"));
  std::vector<Reader> readers;
  const Array& array = value_->as_array();
  readers.reserve(array.size());
  for (size_t i = 0; i < array.size(); ++i) {
    readers.push_back(child(array[i], format_integer(int64_t(i))));
  }
  return readers;
}

Result<std::vector<std::pair<std::string, Reader>>> Reader::members() const {
  if (!value_->is_object()) return fail(wrong_kind("an object"));
  std::vector<std::pair<std::string, Reader>> readers;
  for (const Member& member : value_->as_object()) {
    readers.emplace_back(member.key, child(member.value, escape_step(member.key)));
  }
  return readers;
}

Result<int64_t> Reader::integer(int64_t min, int64_t max) const {
  int64_t n = 0;
  if (value_->is_integer()) {
    n = value_->as_integer();
  } else if (value_->is_number()) {
    // 4096.0 is a whole number; Python writers produce it.
    const double d = value_->as_double();
    if (std::fabs(d) > double(kLargestExactInteger)) {
      return fail(error(ErrorCode::too_large, "'" + std::string(last_step(pointer_)) + "' is " +
                                                  shown(*value_) + ", larger than any real one"));
    }
    if (d != std::floor(d)) return fail(wrong_kind("a whole number"));
    n = int64_t(d);
  } else {
    return fail(wrong_kind("a whole number"));
  }
  if (n > max) {
    return fail(error(ErrorCode::too_large, "'" + std::string(last_step(pointer_)) + "' is " +
                                                format_integer(n) + ", the largest accepted is " +
                                                format_integer(max)));
  }
  if (n < min) {
    return fail(error(ErrorCode::invalid_input,
                      "'" + std::string(last_step(pointer_)) + "' is " + format_integer(n) +
                          ", the smallest accepted is " + format_integer(min)));
  }
  return n;
}

Result<double> Reader::number(double min, double max) const {
  if (!value_->is_number()) return fail(wrong_kind("a number"));
  const double d = value_->as_double();
  if (!(d >= min && d <= max)) {
    return fail(error(d > max ? ErrorCode::too_large : ErrorCode::invalid_input,
                      "'" + std::string(last_step(pointer_)) + "' is " + shown(*value_) +
                          ", accepted are " + format_number(min) + " to " + format_number(max)));
  }
  return d;
}

Result<bool> Reader::boolean() const {
  if (!value_->is_boolean()) return fail(wrong_kind("true or false"));
  return value_->as_boolean();
}

Result<std::string> Reader::string() const {
  if (!value_->is_string()) return fail(wrong_kind("a string"));
  return value_->as_string();
}

Result<Reader> Reader::require(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) return fail(wrong_kind("an object"));
  if (auto member = find(keys)) return *member;
  const std::string name(*keys.begin());
  std::string message = "field '" + name + "' is missing";
  if (keys.size() > 1) {
    message += " (also accepted:";
    for (auto it = keys.begin() + 1; it != keys.end(); ++it) message += " " + std::string(*it);
    message += ")";
  }
  return fail(error(ErrorCode::missing_field, std::move(message)));
}

Result<int64_t> Reader::require_integer(std::initializer_list<std::string_view> keys, int64_t min,
                                        int64_t max) const {
  TRY_ASSIGN(const Reader member, require(keys));
  return member.integer(min, max);
}

Result<std::string> Reader::require_string(std::initializer_list<std::string_view> keys) const {
  TRY_ASSIGN(const Reader member, require(keys));
  return member.string();
}

Result<std::optional<int64_t>> Reader::optional_integer(
    std::initializer_list<std::string_view> keys, int64_t min, int64_t max) const {
  const auto member = find(keys);
  if (!member) return std::optional<int64_t>();
  TRY_ASSIGN(const int64_t n, member->integer(min, max));
  return std::optional<int64_t>(n);
}

Result<int64_t> Reader::integer_or(std::initializer_list<std::string_view> keys, int64_t fallback,
                                   int64_t min, int64_t max) const {
  TRY_ASSIGN(const std::optional<int64_t> n, optional_integer(keys, min, max));
  return n.value_or(fallback);
}

Result<std::optional<double>> Reader::optional_number(std::initializer_list<std::string_view> keys,
                                                      double min, double max) const {
  const auto member = find(keys);
  if (!member) return std::optional<double>();
  TRY_ASSIGN(const double d, member->number(min, max));
  return std::optional<double>(d);
}

Result<bool> Reader::boolean_or(std::initializer_list<std::string_view> keys, bool fallback) const {
  const auto member = find(keys);
  if (!member) return fallback;
  return member->boolean();
}

Result<std::optional<std::string>> Reader::optional_string(
    std::initializer_list<std::string_view> keys) const {
  const auto member = find(keys);
  if (!member) return std::optional<std::string>();
  TRY_ASSIGN(std::string s, member->string());
  return std::optional<std::string>(std::move(s));
}

}  // namespace vramwise::json
