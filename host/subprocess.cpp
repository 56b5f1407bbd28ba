#include "host/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "host/interrupt.h"

extern char** environ;

namespace vramwise::host {
namespace {

constexpr size_t kMostOutput = size_t{4} << 20;

struct Pipe {
  int ends[2] = {-1, -1};
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  bool open() {
    if (::pipe(ends) != 0) return false;
    for (const int fd : ends) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
  }
  void close_end(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
};

// Reads what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  std::array<char, 1 << 14> buffer;
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR;
  into.append(buffer.data(), size_t(n));
  return n > 0;
}

}  // namespace

Result<ProgramResult> run_program(const std::vector<std::string>& words,
                                  std::chrono::milliseconds limit) {
  const std::string& name = words.front();
  Pipe output;
  Pipe errors;
  if (!output.open() || !errors.open()) {
    return fail(ErrorCode::invalid_input,
                "cannot run '" + name + "': " + std::string(std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.ends[1], 2);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int code =
      ::posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  output.close_end(1);
  errors.close_end(1);
  if (code != 0) {
    return fail(ErrorCode::not_found, "cannot run '" + name + "': " + std::strerror(code));
  }

  ProgramResult result;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool late = false;
  while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    late = left.count() <= 0 || interrupted();
    if (late || result.output.size() + result.errors.size() > kMostOutput) break;
    // A closed end is -1, which poll leaves alone.
    pollfd waiting[2] = {{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}};
    // In short turns: an interrupt may come before poll begins.
    if (::poll(waiting, 2, int(std::min<int64_t>(left.count(), 100))) < 0 && errno != EINTR) break;
    if (waiting[0].revents != 0 && !drain(output.ends[0], result.output)) output.close_end(0);
    if (waiting[1].revents != 0 && !drain(errors.ends[0], result.errors)) errors.close_end(0);
  }
  const bool flooded = result.output.size() + result.errors.size() > kMostOutput;
  int status = 0;
  // Both streams may be closed before the program ends.
  while (!late && !flooded) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) break;
    late = std::chrono::steady_clock::now() > deadline || interrupted();
    if (!late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (late || flooded) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    if (flooded) return fail(ErrorCode::too_large, "'" + name + "' prints without end");
    return fail(ErrorCode::invalid_input,
                "'" + name + "' did not end within " + std::to_string(limit.count() / 1000) + " s");
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace vramwise::host
