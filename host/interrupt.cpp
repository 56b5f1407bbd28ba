#include "host/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>

namespace vramwise::host {
namespace {

volatile sig_atomic_t caught = 0;
volatile sig_atomic_t cursor_hidden = 0;
int wake[2] = {-1, -1};

// Async-signal-safe calls only.
void on_signal(int signal) {
  if (caught != 0) {
    constexpr char kShowCursor[] = "\x1b[?25h";
    if (cursor_hidden != 0 && ::write(1, kShowCursor, sizeof kShowCursor - 1) < 0) {
    }
    ::_exit(128 + signal);
  }
  caught = signal;
  if (::write(wake[1], "x", 1) < 0) {
  }
}

}  // namespace

void catch_interrupts() {
  if (wake[0] >= 0 || ::pipe(wake) != 0) return;
  for (const int fd : wake) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  struct sigaction action{};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  // A reader that goes away is seen as a failed write.
  ::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return caught != 0; }
int interrupt_descriptor() { return wake[0]; }
void set_cursor_hidden(bool hidden) { cursor_hidden = hidden ? 1 : 0; }

}  // namespace vramwise::host
