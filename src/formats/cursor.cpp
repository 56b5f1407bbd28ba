#include "formats/cursor.h"

#include <cstring>

namespace vramwise::formats {

void Cursor::skip(int64_t n) {
  if (n <= filled_ - at_) {
    at_ += n;
    return;
  }
  window_offset_ = position() + n;
  at_ = 0;
  filled_ = 0;
}

Result<void> Cursor::refill(int64_t n) {
  if (n > remaining() || n > capacity_) {
    return fail(beyond_end(name(), position(), n, end_));
  }
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<char[]>(size_t(capacity_));
  // What is left of the window moves to its front; only the rest is read.
  const int64_t left = filled_ - at_;
  if (left > 0) std::memmove(buffer_.get(), buffer_.get() + at_, size_t(left));
  window_offset_ += at_;
  at_ = 0;
  filled_ = left;
  const int64_t more = std::min(capacity_ - left, end_ - window_offset_ - left);
  TRY_ASSIGN(const int64_t got, source_->read_some(window_offset_ + left, n - left,
                                                   {buffer_.get() + left, size_t(more)}));
  filled_ += got;
  return {};
}

}  // namespace vramwise::formats
