#include "apps/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace vramwise::cli {
namespace {

std::string_view env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = to_lower(env(name));
    if (!value.empty()) return contains(value, "utf-8") || contains(value, "utf8");
  }
  return false;
}

}  // namespace

report::Style detect_style(const std::string& color, int width, bool ascii, bool for_stderr) {
  report::Style style;
  const int fd = for_stderr ? 2 : 1;
  const bool tty = ::isatty(fd) == 1;
  if (color == "always") {
    style.color = true;
  } else if (color != "never") {
    const std::string_view force = env("FORCE_COLOR");
    const std::string_view clicolor = env("CLICOLOR_FORCE");
    if (!env("NO_COLOR").empty()) {
      style.color = false;
    } else if ((!force.empty() && force != "0") || (!clicolor.empty() && clicolor != "0")) {
      style.color = true;
    } else {
      style.color = tty && env("TERM") != "dumb" && !env("TERM").empty();
    }
  }
  if (width > 0) {
    style.width = width;
  } else {
    winsize size{};
    const auto columns = parse_integer(env("COLUMNS"));
    if (tty && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
      style.width = size.ws_col;
    } else if (columns && *columns > 0 && *columns < 10'000) {
      style.width = int(*columns);
    } else {
      style.width = tty ? 80 : 0;  // a pipe is not wrapped
    }
  }
  // A pipe gets UTF-8 only where the locale says so, too: what reads it may be a terminal later.
  style.unicode = !ascii && utf8_locale();
  return style;
}

}  // namespace vramwise::cli
