// Typed reading of JSON with the place of every fault.
//
// A Reader is a value, the way to it and the text it came from. It never aborts: a wrong kind, a
// number out of range or a missing key is an Error that names the JSON pointer, line and column.
// null counts as absent everywhere.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::json {

// Widest range accepted for counts and extents unless a reader says otherwise.
inline constexpr int64_t kMaxCount = kLargestExactInteger;

class Reader {
 public:
  // `text` may be empty when the value was built by hand; then faults have no line and column.
  Reader(const Value& value, std::string_view source, std::string_view text = {})
      : value_(&value), source_(source), text_(text) {}

  const Value& value() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  bool is_object() const { return value_->is_object(); }

  // The member under the first of `keys` that is present and not null.
  std::optional<Reader> find(std::initializer_list<std::string_view> keys) const;
  std::optional<Reader> find(std::string_view key) const { return find({key}); }
  bool has(std::string_view key) const { return find(key).has_value(); }
  // Elements of a list (or one element for a single value when `scalar_ok`).
  Result<std::vector<Reader>> items() const;
  // Members of an object, in order.
  Result<std::vector<std::pair<std::string, Reader>>> members() const;

  // This value itself as a type.
  Result<int64_t> integer(int64_t min = 0, int64_t max = kMaxCount) const;
  Result<double> number(double min, double max) const;
  Result<bool> boolean() const;
  Result<std::string> string() const;

  // A member that must be there: error missing_field names the first key.
  Result<Reader> require(std::initializer_list<std::string_view> keys) const;
  Result<int64_t> require_integer(std::initializer_list<std::string_view> keys, int64_t min = 0,
                                  int64_t max = kMaxCount) const;
  Result<std::string> require_string(std::initializer_list<std::string_view> keys) const;

  // A member that may be absent or null.
  Result<std::optional<int64_t>> optional_integer(std::initializer_list<std::string_view> keys,
                                                  int64_t min = 0, int64_t max = kMaxCount) const;
  Result<int64_t> integer_or(std::initializer_list<std::string_view> keys, int64_t fallback,
                             int64_t min = 0, int64_t max = kMaxCount) const;
  Result<std::optional<double>> optional_number(std::initializer_list<std::string_view> keys,
                                                double min, double max) const;
  Result<bool> boolean_or(std::initializer_list<std::string_view> keys, bool fallback) const;
  Result<std::optional<std::string>> optional_string(
      std::initializer_list<std::string_view> keys) const;

  // An error about this value, with its place filled in.
  Error error(ErrorCode code, std::string message) const;
  Where where() const;

 private:
  Reader child(const Value& value, std::string step) const;
  Error wrong_kind(std::string_view expected) const;

  const Value* value_;
  std::string source_;
  std::string_view text_;
  std::string pointer_;
};

}  // namespace vramwise::json
