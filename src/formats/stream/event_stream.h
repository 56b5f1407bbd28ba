// Server-sent events: "data:" lines until a blank one, as chat servers stream their tokens.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace vramwise::formats {

// Source of the rules: WHATWG HTML, section "Server-sent events". Bytes may come in any pieces.
class EventStream {
 public:
  // An event is dropped, and feed() answers false from then on, once a line or an event has more
  // than `limit` bytes.
  explicit EventStream(size_t limit = size_t{1} << 20) : limit_(limit) {}

  // Calls `take` with the data of every event that is complete.
  bool feed(std::string_view bytes, const std::function<void(std::string_view)>& take);
  // The stream has ended: an event without its blank line still counts, as clients read it.
  void finish(const std::function<void(std::string_view)>& take);

 private:
  void line(const std::function<void(std::string_view)>& take);

  size_t limit_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // the last byte was \r: a \n now belongs to it
  bool overflow_ = false;
};

}  // namespace vramwise::formats
