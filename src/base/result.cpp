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
