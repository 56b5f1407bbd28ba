#include "host/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "host/environment.h"
#include "host/files.h"

namespace vramwise::host {
namespace {

#ifdef __APPLE__
constexpr const char* kOpener = "open";
#else
constexpr const char* kOpener = "xdg-open";
#endif

// The running program's file, links resolved; "" when the system does not tell.
std::string program_file() {
  std::array<char, 4096> buffer{};
#ifdef __APPLE__
  auto size = uint32_t(buffer.size());
  if (::_NSGetExecutablePath(buffer.data(), &size) != 0) return "";
  std::array<char, 4096> resolved{};
  return ::realpath(buffer.data(), resolved.data()) != nullptr ? resolved.data() : buffer.data();
#else
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), size_t(size)) : "";
#endif
}

// "/a/b/c" -> "/a/b"
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// An opener that is still there after this long runs the browser itself.
constexpr auto kPatience = std::chrono::seconds(2);

}  // namespace

Result<std::string> find_page() {
  const std::string folder = folder_of(program_file());
  const std::string prefix = folder_of(folder);
  const std::array<std::string, 2> places = {
      prefix + "/share/vramwise/vramwise.html",   // PREFIX/bin/vramwise
      folder_of(prefix) + "/web/vramwise.html"};  // build/release/bin/vramwise
  for (const std::string& place : places) {
    if (exists(place)) return place;
  }
  return fail(Error(ErrorCode::not_found, "the page is not installed beside this program")
                  .at(places.front())
                  .hint("in the source tree, `./dev web --build` makes it: " + places.back())
                  .hint("`cmake --install` puts it into share/vramwise where it was built before"));
}

Result<bool> open_in_browser(const std::string& path) {
#ifndef __APPLE__
  if (env("DISPLAY").empty() && env("WAYLAND_DISPLAY").empty()) {
    return fail(Error(ErrorCode::not_found, "there is no desktop here to open a browser on"));
  }
#endif
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // A browser that the opener starts outlives this program and its terminal.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string name = kOpener, argument = path;
  std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, kOpener, &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return fail(Error(ErrorCode::not_found, name + " is not on this machine"));
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
      return fail(Error(ErrorCode::unsupported, name + " could not open it"));
    }
    if (ended < 0 && errno != EINTR) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace vramwise::host
