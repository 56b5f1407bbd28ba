// A JSON value of our own. nlohmann-json does the parsing (json/parse.cpp) and stays out of here,
// so that the rest of the core compiles fast and never meets its types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.h"

namespace vramwise::json {

class Value;

struct Member;
using Array = std::vector<Value>;
// Members keep the order of the text. A key given twice: the last one counts, as in Python.
using Object = std::vector<Member>;

enum class Kind { null, boolean, integer, number, string, array, object };

std::string_view to_string(Kind kind);

class Value {
 public:
  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();
  Value(std::nullptr_t);
  Value(bool b);
  Value(int n);
  Value(int64_t n);
  Value(double d);
  Value(const char* s);
  Value(std::string s);
  Value(std::string_view s);
  Value(Array a);
  Value(Object o);
  // A size is written as its number of bytes.
  Value(Bytes b);
  Value(Tokens t);

  static Value object();
  static Value array();

  Kind kind() const { return Kind(data_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_boolean() const { return kind() == Kind::boolean; }
  bool is_integer() const { return kind() == Kind::integer; }
  bool is_number() const { return kind() == Kind::integer || kind() == Kind::number; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::object; }

  // Unchecked in release, so callers look at kind() first; a wrong kind answers the empty value.
  bool as_boolean() const;
  int64_t as_integer() const;
  double as_double() const;
  const std::string& as_string() const;
  const Array& as_array() const;
  const Object& as_object() const;
  Array& as_array();
  Object& as_object();

  // nullptr when this is no object or has no such key.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  // Replaces or appends; makes a null value an object first.
  Value& set(std::string_view key, Value value);
  // Appends; makes a null value an array first.
  Value& push(Value value);
  void erase(std::string_view key);

  // Byte offset just behind the value in the text it was parsed from; -1 when built by hand.
  int64_t end_offset() const { return end_offset_; }
  void set_end_offset(int64_t offset) { end_offset_ = offset; }

  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> data_;
  int64_t end_offset_ = -1;
};

struct Member {
  std::string key;
  Value value;
};

inline bool operator==(const Member& a, const Member& b) {
  return a.key == b.key && a.value == b.value;
}

// Compact when indent < 0, else pretty with that many blanks a level. Bad UTF-8 is replaced by
// U+FFFD, so the text is always valid JSON.
std::string dump(const Value& value, int indent = -1);
// The text with JSON quotes and escapes.
std::string quote(std::string_view text);

}  // namespace vramwise::json
