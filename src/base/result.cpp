#include "base/result.h"

#include "base/text.h"

namespace vramwise {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input: return "invalid_input";
    case ErrorCode::missing_field: return "missing_field";
    case ErrorCode::inconsistent: return "inconsistent";
    case ErrorCode::too_large: return "too_large";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return 4;
    case ErrorCode::internal: return 70;
    default: return 3;
  }
}

// Out of line all of them: they are rarely run and stand in every function that can fail.
Error::Error() = default;
Error::Error(ErrorCode c, std::string text) : code(c), message(std::move(text)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error&& Error::at(Where place) && {
  where = std::move(place);
  return std::move(*this);
}

Error&& Error::at(std::string source) && {
  where.source = std::move(source);
  return std::move(*this);
}

Error&& Error::hint(std::string text) && {
  hints.push_back(std::move(text));
  return std::move(*this);
}

BoxedError::BoxedError(Error error) : error_(new Error(std::move(error))) {}
BoxedError::BoxedError(const BoxedError& other)
    : error_(other.error_ == nullptr ? nullptr : new Error(*other.error_)) {}
void BoxedError::drop() noexcept { delete error_; }

Failure fail(Error error) { return Failure(BoxedError(std::move(error))); }
Failure fail(ErrorCode code, std::string message) { return fail(Error(code, std::move(message))); }

std::string Where::to_text() const {
  std::string text = source;
  if (line > 0) {
    text += ":" + format_integer(line);
    if (column > 0) text += ":" + format_integer(column);
  } else if (offset >= 0) {
    text += (text.empty() ? "byte " : " at byte ") + format_integer(offset);
  }
  if (!pointer.empty()) {
    if (!text.empty()) text += " ";
    text += "(" + pointer + ")";
  }
  return text;
}

}  // namespace vramwise
