#include "host/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "base/text.h"
#include "host/environment.h"

namespace vramwise::host {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLogLine = std::chrono::seconds(5);

size_t columns() {
  winsize size{};
  return ::ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), start_(Clock::now()), last_(start_) {
  const std::string term = env("TERM");
  terminal_ = ::isatty(2) == 1 && !term.empty() && term != "dumb";
}

void Progress::begin(std::string what) {
  what_ = std::move(what);
  bytes_ = 0;
  update(0);
}

void Progress::update(int64_t bytes) {
  bytes_ += bytes;
  if (quiet_) return;
  const auto now = Clock::now();
  if (now - start_ < kPatience) return;
  if (drawn_ && now - last_ < (terminal_ ? kRedraw : kLogLine)) return;
  std::string line = what_;
  if (bytes_ > 0) line += ", " + format_bytes(Bytes(bytes_), 1);
  if (terminal_) {
    line = line.substr(0, columns() - 1);
    std::cerr << "\r" << line << "\x1b[K" << std::flush;
  } else {
    std::cerr << line << "\n";
  }
  drawn_ = true;
  last_ = now;
}

void Progress::clear() {
  if (drawn_ && terminal_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace vramwise::host
