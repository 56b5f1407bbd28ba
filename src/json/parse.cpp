#include "json/parse.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace vramwise::json {
namespace {

// A character iterator that counts what the library has taken, so that every value can remember
// where it ended: the library's events carry no positions.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int64_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  int64_t* taken_;
};

// Builds Values from the library's events; stops at a limit.
class Builder {
 public:
  Builder(const int64_t* taken, ParseLimits limits) : taken_(taken), limits_(limits) {}

  bool null() { return add(Value()); }
  bool boolean(bool b) { return add(Value(b)); }
  bool number_integer(int64_t n) { return add(Value(n)); }
  bool number_unsigned(uint64_t n) {
    return add(n <= uint64_t(kInt64Max) ? Value(int64_t(n)) : Value(double(n)));
  }
  bool number_float(double, const std::string& token) {
    // Read again by our own rule: the library uses strtod, which follows the locale.
    const auto value = parse_number(token);
    if (!value)
      return stop(ErrorCode::too_large, "number '" + token.substr(0, 40) + "' is too large");
    return add(Value(*value));
  }
  bool string(std::string& text) { return add(Value(std::move(text))); }
  bool binary(std::vector<uint8_t>&) { return false; }
  bool start_object(size_t) { return open(Value::object()); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(Value::array()); }
  bool end_array() { return close(); }

  // Takes the library's exception as a template so that its type is never named: it is built with
  // exceptions off and only hands over a message.
  template <class Exception>
  bool parse_error(size_t position, const std::string& token, const Exception& exception) {
    std::string reason = exception.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    const size_t colon = reason.find(": ");
    if (colon != std::string::npos) reason.erase(0, colon + 2);
    const size_t last_read = reason.find("; last read");
    if (last_read != std::string::npos) reason.erase(last_read);
    (void)token;
    failed_ = true;
    error_ = Error(ErrorCode::invalid_input, "not valid JSON: " + reason);
    error_offset_ = std::max<int64_t>(0, int64_t(position) - 1);
    return false;
  }

  bool failed() const { return failed_; }
  Error take_error() { return std::move(error_); }
  int64_t error_offset() const { return error_offset_; }
  Value take() { return std::move(root_); }

 private:
  bool stop(ErrorCode code, std::string message) {
    failed_ = true;
    error_ = Error(code, std::move(message));
    error_offset_ = *taken_;
    return false;
  }

  bool add(Value value) {
    if (++values_ > limits_.values) {
      return stop(ErrorCode::too_large, "more than " + format_grouped(limits_.values) + " values");
    }
    value.set_end_offset(*taken_);
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Value& parent = open_.back().value;
    if (parent.is_object()) {
      parent.as_object().push_back({std::move(key_), std::move(value)});
    } else {
      parent.as_array().push_back(std::move(value));
    }
    return true;
  }

  bool open(Value value) {
    if (int(open_.size()) >= limits_.depth) {
      return stop(ErrorCode::too_large, "nested deeper than " + format_integer(limits_.depth));
    }
    open_.push_back({std::move(key_), std::move(value)});
    key_.clear();
    return true;
  }

  bool close() {
    Member done = std::move(open_.back());
    open_.pop_back();
    key_ = std::move(done.key);
    return add(std::move(done.value));
  }

  const int64_t* taken_;
  ParseLimits limits_;
  std::vector<Member> open_;  // containers under construction, with the key they will go under
  std::string key_;
  Value root_;
  int64_t values_ = 0;
  bool failed_ = false;
  Error error_;
  int64_t error_offset_ = 0;
};

// The library's SAX interface wants this exact type list.
struct SaxAdapter {
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  Builder& builder;

  bool null() { return builder.null(); }
  bool boolean(bool b) { return builder.boolean(b); }
  bool number_integer(int64_t n) { return builder.number_integer(n); }
  bool number_unsigned(uint64_t n) { return builder.number_unsigned(n); }
  bool number_float(double d, const std::string& s) { return builder.number_float(d, s); }
  bool string(std::string& s) { return builder.string(s); }
  bool binary(binary_t&) { return false; }
  bool start_object(size_t n) { return builder.start_object(n); }
  bool key(std::string& s) { return builder.key(s); }
  bool end_object() { return builder.end_object(); }
  bool start_array(size_t n) { return builder.start_array(n); }
  bool end_array() { return builder.end_array(); }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& exception) {
    return builder.parse_error(position, token, exception);
  }
};

}  // namespace

Where locate(std::string_view text, std::string_view source, int64_t offset) {
  Where where;
  where.source = std::string(source);
  if (offset < 0) return where;
  const std::string_view before = text.substr(0, size_t(offset));
  where.offset = offset;
  where.line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  where.column = int64_t(before.size() - (newline == std::string_view::npos ? 0 : newline + 1)) + 1;
  return where;
}

namespace {

// Python's json module writes infinite numbers by name, and published configs hold some
// ("time_step_limit": [0.0, Infinity]). They are read as huge numbers whose text is as long, so
// that offsets stay; whoever takes one for a count or a size still gets an error.
std::string with_finite_numbers(std::string_view text) {
  constexpr std::string_view kName = "Infinity", kNumber = "1.7e+308";
  std::string patched(text);
  bool quoted = false;
  for (size_t i = 0; i < patched.size(); ++i) {
    if (patched[i] == '"') quoted = !quoted;
    if (quoted && patched[i] == '\\') ++i;
    if (!quoted && patched.compare(i, kName.size(), kName) == 0) {
      patched.replace(i, kNumber.size(), kNumber);
    }
  }
  return patched;
}

}  // namespace

Result<Value> parse(std::string_view text, std::string_view source, ParseLimits limits) {
  if (int64_t(text.size()) > limits.bytes) {
    return fail(Error(ErrorCode::too_large,
                      std::string(source) + " has " + format_grouped(int64_t(text.size())) +
                          " bytes, more than the " + format_grouped(limits.bytes) + " accepted")
                    .at(std::string(source)));
  }
  if (trim(text).empty()) {
    return fail(Error(ErrorCode::invalid_input, std::string(source) + " is empty")
                    .at(std::string(source))
                    .hint("give a JSON object"));
  }
  std::string patched;
  if (contains(text, "Infinity")) {
    patched = with_finite_numbers(text);
    text = patched;
  }
  int64_t taken = 0;
  Builder builder(&taken, limits);
  SaxAdapter adapter{builder};
  const bool ok =
      nlohmann::json::sax_parse(CountingIterator(text.data(), &taken),
                                CountingIterator(text.data() + text.size(), &taken), &adapter);
  if (!ok || builder.failed()) {
    if (!builder.failed()) return fail(ErrorCode::internal, "JSON reader stopped without a reason");
    const int64_t offset = std::min<int64_t>(builder.error_offset(), int64_t(text.size()));
    return fail(builder.take_error().at(locate(text, source, offset)));
  }
  return builder.take();
}

}  // namespace vramwise::json
