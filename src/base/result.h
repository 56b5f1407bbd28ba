// Errors are values. A function that can fail returns Result<T>; nothing in the core throws.
//
// TRY(expr) returns the error of a Result to the caller; TRY_ASSIGN(lhs, expr) also unpacks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace vramwise {

enum class ErrorCode {
  invalid_input,  // the bytes or a value are not what the format or the field allows
  missing_field,  // a field that the answer depends on is absent
  inconsistent,   // two given facts contradict each other
  too_large,      // a number beyond what is accepted, or an answer beyond 2^53 - 1
  unsupported,    // understood, but outside of what is modelled
  not_found,      // an unknown id: model, GPU, engine, format, file
  internal,       // a bug of ours
};

// The name used in JSON answers.
std::string_view to_string(ErrorCode code);

// Process exit status of an error (see docs/architecture.md): 3 input, 4 unknown id, 70 our bug.
int exit_status(ErrorCode code);

// Where a fault lies. Empty parts are unknown.
struct Where {
  std::string source;   // file, option or request part
  std::string pointer;  // JSON pointer inside it, or the key
  int64_t line = 0;     // 1-based; 0 = unknown
  int64_t column = 0;   // 1-based; 0 = unknown
  int64_t offset = -1;  // byte offset; -1 = unknown

  std::string to_text() const;
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one sentence, lower case, no full stop
  Where where;
  std::vector<std::string> hints;  // each a next step that the person can take

  Error();
  Error(ErrorCode c, std::string text);
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  Error&& at(Where place) &&;
  Error&& at(std::string source) &&;
  Error&& hint(std::string text) &&;
};

// An Error behind one pointer. A Result is made, moved and destroyed at every step of an answer and
// hardly ever fails: with the Error inside it, the code that moves texts nobody wrote was a tenth
// of the page's download.
class BoxedError {
 public:
  explicit BoxedError(Error error);
  BoxedError(const BoxedError& other);
  BoxedError(BoxedError&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  BoxedError& operator=(BoxedError other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~BoxedError() {
    if (error_ != nullptr) drop();
  }

  Error& operator*() { return *error_; }
  const Error& operator*() const { return *error_; }

 private:
  void drop() noexcept;

  Error* error_;  // null only after a move
};

// What a function that failed returns, whatever its Result holds.
using Failure = tl::unexpected<BoxedError>;

template <class T>
class [[nodiscard]] Result : public tl::expected<T, BoxedError> {
  using Base = tl::expected<T, BoxedError>;

 public:
  using Base::Base;

  // Only when there is no value.
  Error& error() { return *Base::error(); }
  const Error& error() const { return *Base::error(); }
  // The error for the caller to return in its turn; nothing is left here.
  Failure failure() && { return Failure(std::move(Base::error())); }
};

// `return fail(ErrorCode::not_found, "...")`, or `return fail(Error(...).hint(...))`.
Failure fail(Error error);
Failure fail(ErrorCode code, std::string message);

}  // namespace vramwise

#define VRAMWISE_CONCAT_INNER(a, b) a##b
#define VRAMWISE_CONCAT(a, b) VRAMWISE_CONCAT_INNER(a, b)

#define TRY(expr)                                                              \
  do {                                                                         \
    auto vramwise_try_result = (expr);                                         \
    if (!vramwise_try_result) return std::move(vramwise_try_result).failure(); \
  } while (false)

#define TRY_ASSIGN_INNER(tmp, lhs, expr)     \
  auto tmp = (expr);                         \
  if (!tmp) return std::move(tmp).failure(); \
  lhs = std::move(*tmp)

// `lhs` may declare: TRY_ASSIGN(const int64_t layers, reader.integer("num_hidden_layers"));
#define TRY_ASSIGN(lhs, ...) \
  TRY_ASSIGN_INNER(VRAMWISE_CONCAT(vramwise_result_, __COUNTER__), lhs, (__VA_ARGS__))
