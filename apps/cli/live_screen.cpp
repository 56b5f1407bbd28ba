#include "apps/cli/live_screen.h"

#include <unistd.h>

#include <cerrno>

#include "host/interrupt.h"

namespace vramwise::cli {

bool write_all(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += size_t(n);
  }
  return true;
}

LiveScreen::LiveScreen() {
  host::set_cursor_hidden(true);
  write_all(1, "\x1b[?25l");
}

LiveScreen::~LiveScreen() {
  write_all(1, "\x1b[?25h");
  host::set_cursor_hidden(false);
}

bool LiveScreen::draw(const std::vector<std::string>& lines) {
  // Up to the first line of the last frame, then line by line over it; what a shorter frame leaves
  // below is cleared.
  std::string frame = drawn_ > 0 ? "\x1b[" + std::to_string(drawn_) + "A\r" : "";
  for (const std::string& line : lines) frame += line + "\x1b[K\n";
  frame += "\x1b[J";
  drawn_ = lines.size();
  return write_all(1, frame);
}

}  // namespace vramwise::cli
