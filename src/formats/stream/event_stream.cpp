#include "formats/stream/event_stream.h"

#include "base/text.h"

namespace vramwise::formats {

void EventStream::line(const std::function<void(std::string_view)>& take) {
  if (line_.empty()) {
    if (has_data_) take(data_);
    data_.clear();
    has_data_ = false;
    return;
  }
  std::string_view text = line_;
  const size_t colon = text.find(':');
  // A line that begins with a colon is a comment; other fields (event, id, retry) say nothing here.
  if (text.substr(0, colon) == "data") {
    std::string_view value = colon == text.npos ? std::string_view() : text.substr(colon + 1);
    if (starts_with(value, " ")) value.remove_prefix(1);
    if (has_data_) data_ += '\n';
    has_data_ = true;
    data_ += value;
    if (data_.size() > limit_) overflow_ = true;
  }
  line_.clear();
}

bool EventStream::feed(std::string_view bytes, const std::function<void(std::string_view)>& take) {
  while (!overflow_ && !bytes.empty()) {
    if (after_return_) {
      after_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() > limit_) overflow_ = true;
    if (end == bytes.npos || overflow_) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    line(take);
  }
  return !overflow_;
}

void EventStream::finish(const std::function<void(std::string_view)>& take) {
  if (overflow_) return;
  if (!line_.empty()) line(take);
  if (has_data_) take(data_);
  has_data_ = false;
  data_.clear();
}

}  // namespace vramwise::formats
