// Pieces of YAML text; only the YAML reader includes this.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace vramwise::engines::launch::yaml {

inline constexpr size_t kNone = std::string_view::npos;

// "- item"
bool is_item(std::string_view text);
// End of a quoted scalar that begins at `from`: its closing quote.
size_t quote_end(std::string_view text, size_t from);
// Where the key of "key: value" ends: its colon.
size_t key_colon(std::string_view text);
std::string_view without_comment(std::string_view text);
// The text of a scalar with its quotes.
std::string unquote(std::string_view text);

// The text of a flow value, and how far it was read.
struct FlowText {
  std::string text;
  size_t at = 0;

  // Every bracket and quote is closed.
  static bool is_complete(std::string_view text);
  void skip_blank();
  char current() const { return at < text.size() ? text[at] : '\0'; }
  // One scalar; plain ones end at , : ] }. Keys stay text.
  json::Value scalar(bool is_key);
};

}  // namespace vramwise::engines::launch::yaml
