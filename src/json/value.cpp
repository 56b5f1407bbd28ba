#include "json/value.h"

#include "base/text.h"

namespace vramwise::json {
namespace {

const std::string kEmptyString;
const Array kEmptyArray;
const Object kEmptyObject;

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
      ++i;
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else if (c == '\t') {
      out += "\\t";
      ++i;
    } else if (c < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
      ++i;
    } else if (c < 0x80) {
      out += char(c);
      ++i;
    } else {
      // Length and validity of one UTF-8 sequence (no overlong forms, no surrogates).
      const size_t length = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
      bool valid = length > 0 && c <= 0xf4 && i + length <= text.size();
      for (size_t k = 1; valid && k < length; ++k) {
        valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
      }
      if (valid) {
        const auto second = static_cast<unsigned char>(text[i + 1]);
        if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
            (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f)) {
          valid = false;
        }
      }
      if (valid) {
        out += text.substr(i, length);
        i += length;
      } else {
        out += "\xef\xbf\xbd";
        ++i;
      }
    }
  }
  out += '"';
}

void append_break(std::string& out, int indent, int depth) {
  if (indent < 0) return;
  out += '\n';
  out.append(size_t(indent) * size_t(depth), ' ');
}

void append_value(std::string& out, const Value& value, int indent, int depth) {
  switch (value.kind()) {
    case Kind::null: out += "null"; return;
    case Kind::boolean: out += value.as_boolean() ? "true" : "false"; return;
    case Kind::integer: out += format_integer(value.as_integer()); return;
    case Kind::number: out += format_number(value.as_double()); return;
    case Kind::string: append_quoted(out, value.as_string()); return;
    case Kind::array: {
      const Array& items = value.as_array();
      out += '[';
      for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ',';
        append_break(out, indent, depth + 1);
        append_value(out, items[i], indent, depth + 1);
      }
      if (!items.empty()) append_break(out, indent, depth);
      out += ']';
      return;
    }
    case Kind::object: {
      const Object& members = value.as_object();
      out += '{';
      for (size_t i = 0; i < members.size(); ++i) {
        if (i > 0) out += ',';
        append_break(out, indent, depth + 1);
        append_quoted(out, members[i].key);
        out += indent < 0 ? ":" : ": ";
        append_value(out, members[i].value, indent, depth + 1);
      }
      if (!members.empty()) append_break(out, indent, depth);
      out += '}';
      return;
    }
  }
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::boolean: return "a boolean";
    case Kind::integer: return "an integer";
    case Kind::number: return "a number";
    case Kind::string: return "a string";
    case Kind::array: return "a list";
    case Kind::object: return "an object";
  }
  return "null";
}

// Out of line all of them: they stand wherever an answer is written.
Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;
Value::Value(std::nullptr_t) {}
Value::Value(bool b) : data_(b) {}
Value::Value(int n) : data_(int64_t{n}) {}
Value::Value(int64_t n) : data_(n) {}
Value::Value(double d) : data_(d) {}
Value::Value(const char* s) : data_(std::string(s)) {}
Value::Value(std::string s) : data_(std::move(s)) {}
Value::Value(std::string_view s) : data_(std::string(s)) {}
Value::Value(Array a) : data_(std::move(a)) {}
Value::Value(Object o) : data_(std::move(o)) {}
Value::Value(Bytes b) : data_(b.count()) {}
Value::Value(Tokens t) : data_(t.count()) {}
Value Value::array() { return Value(Array{}); }

Value Value::object() { return Value(Object{}); }

bool Value::as_boolean() const {
  const bool* b = std::get_if<bool>(&data_);
  return b != nullptr && *b;
}

int64_t Value::as_integer() const {
  const int64_t* n = std::get_if<int64_t>(&data_);
  return n != nullptr ? *n : 0;
}

double Value::as_double() const {
  if (const double* d = std::get_if<double>(&data_)) return *d;
  return double(as_integer());
}

const std::string& Value::as_string() const {
  const std::string* s = std::get_if<std::string>(&data_);
  return s != nullptr ? *s : kEmptyString;
}

const Array& Value::as_array() const {
  const Array* a = std::get_if<Array>(&data_);
  return a != nullptr ? *a : kEmptyArray;
}

const Object& Value::as_object() const {
  const Object* o = std::get_if<Object>(&data_);
  return o != nullptr ? *o : kEmptyObject;
}

Array& Value::as_array() {
  if (!is_array()) data_ = Array{};
  return std::get<Array>(data_);
}

Object& Value::as_object() {
  if (!is_object()) data_ = Object{};
  return std::get<Object>(data_);
}

const Value* Value::find(std::string_view key) const {
  const Object& members = as_object();
  for (auto it = members.rbegin(); it != members.rend(); ++it) {
    if (it->key == key) return &it->value;
  }
  return nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::set(std::string_view key, Value value) {
  Object& members = as_object();
  if (Value* existing = find(key)) return *existing = std::move(value);
  members.push_back({std::string(key), std::move(value)});
  return members.back().value;
}

Value& Value::push(Value value) {
  Array& items = as_array();
  items.push_back(std::move(value));
  return items.back();
}

void Value::erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(as_object(), [&](const Member& m) { return m.key == key; });
}

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

std::string dump(const Value& value, int indent) {
  std::string out;
  append_value(out, value, indent, 0);
  return out;
}

std::string quote(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace vramwise::json
