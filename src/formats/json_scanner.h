// JSON read from front to back through a window, for headers and indexes with a hundred thousand
// entries of which only numbers and names are kept. Strict where it matters (structure, numbers,
// escapes); a document with values of any kind is json::parse's business.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "formats/cursor.h"

namespace vramwise::formats {

class JsonScanner {
 public:
  // Reads the bytes of `source` from `begin` to `end`.
  JsonScanner(ByteSource& source, int64_t begin, int64_t end) : cursor_(source, end) {
    cursor_.skip(begin);
  }

  int64_t position() const { return cursor_.position(); }

  // The next character that is no blank, not taken; '\0' at the end.
  Result<char> peek();
  Result<void> expect(char c);
  // Text between quotes, escapes resolved.
  Result<std::string> string(int64_t limit);
  // A whole number >= 0.
  Result<int64_t> integer();
  Result<void> skip_value(int depth = 0);
  // Nothing but blanks may follow.
  Result<void> finish();

  // `on_member(key)` reads the member's value.
  template <class F>
  Result<void> object(int64_t key_limit, F on_member) {
    TRY(expect('{'));
    TRY_ASSIGN(char next, peek());
    if (next == '}') return expect('}');
    while (true) {
      TRY_ASSIGN(std::string key, string(key_limit));
      TRY(expect(':'));
      TRY(on_member(std::move(key)));
      TRY_ASSIGN(next, peek());
      if (next == '}') return expect('}');
      TRY(expect(','));
    }
  }
  // `on_item(index)` reads the element.
  template <class F>
  Result<void> array(F on_item) {
    TRY(expect('['));
    TRY_ASSIGN(char next, peek());
    if (next == ']') return expect(']');
    for (int64_t i = 0;; ++i) {
      TRY(on_item(i));
      TRY_ASSIGN(next, peek());
      if (next == ']') return expect(']');
      TRY(expect(','));
    }
  }

  // An error about the bytes at hand; `offset` -1: where the scanner stands.
  Failure broken(std::string message, int64_t offset = -1) const;

 private:
  Result<void> append_escape(std::string& text);
  Result<char> take();

  Cursor cursor_;
};

}  // namespace vramwise::formats
