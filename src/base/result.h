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

  Error() = default;
  Error(ErrorCode c, std::string text) : code(c), message(std::move(text)) {}

  Error&& at(Where place) && {
    where = std::move(place);
    return std::move(*this);
  }
  Error&& at(std::string source) && {
    where.source = std::move(source);
    return std::move(*this);
  }
  Error&& hint(std::string text) && {
    hints.push_back(std::move(text));
    return std::move(*this);
  }
};

template <class T>
using Result = tl::expected<T, Error>;

// `return fail(ErrorCode::not_found, "...")`, or `return fail(Error(...).hint(...))`.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return fail(Error(code, std::move(message)));
}

}  // namespace vramwise

#define VRAMWISE_CONCAT_INNER(a, b) a##b
#define VRAMWISE_CONCAT(a, b) VRAMWISE_CONCAT_INNER(a, b)

#define TRY(expr)                                                                         \
  do {                                                                                    \
    auto vramwise_try_result = (expr);                                                    \
    if (!vramwise_try_result)                                                             \
      return ::tl::unexpected<::vramwise::Error>(std::move(vramwise_try_result.error())); \
  } while (false)

#define TRY_ASSIGN_INNER(tmp, lhs, expr)                                        \
  auto tmp = (expr);                                                            \
  if (!tmp) return ::tl::unexpected<::vramwise::Error>(std::move(tmp.error())); \
  lhs = std::move(*tmp)

// `lhs` may declare: TRY_ASSIGN(const int64_t layers, reader.integer("num_hidden_layers"));
#define TRY_ASSIGN(lhs, ...) \
  TRY_ASSIGN_INNER(VRAMWISE_CONCAT(vramwise_result_, __COUNTER__), lhs, (__VA_ARGS__))
