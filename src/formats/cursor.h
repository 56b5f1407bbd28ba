// Reading a source from front to back through a window of fixed size: headers of any length cost
// the same memory.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "formats/byte_source.h"

namespace vramwise::formats {

class Cursor {
 public:
  // Reads `source` up to `end` (its size, or where a header says it stops).
  Cursor(ByteSource& source, int64_t end)
      : source_(&source),
        end_(end),
        capacity_(std::max<int64_t>(source.window_bytes(), kSmallest)) {}

  int64_t position() const { return window_offset_ + at_; }
  int64_t end() const { return end_; }
  int64_t remaining() const { return end_ - position(); }
  const std::string& name() const { return source_->name(); }

  // Bytes of the window from the position on; empty before the first need().
  std::string_view window() const { return {buffer_.get() + at_, size_t(filled_ - at_)}; }
  // Makes at least n bytes visible; n <= remaining() and n <= kSmallest, which callers check.
  Result<void> need(int64_t n) { return filled_ - at_ >= n ? Result<void>() : refill(n); }
  // Forward within the window.
  void advance(int64_t n) { at_ += n; }
  // Forward by any number of bytes; n <= remaining(), which callers check. Nothing is read.
  void skip(int64_t n);

  // A window always holds this much: the longest thing that is looked at in one piece.
  static constexpr int64_t kSmallest = int64_t{128} << 10;

 private:
  Result<void> refill(int64_t n);

  ByteSource* source_;
  int64_t end_;
  int64_t capacity_;
  std::unique_ptr<char[]> buffer_;
  int64_t window_offset_ = 0;  // of buffer_[0] in the source
  int64_t at_ = 0;
  int64_t filled_ = 0;
};

}  // namespace vramwise::formats
