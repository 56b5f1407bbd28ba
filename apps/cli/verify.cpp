#include "apps/cli/verify.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "api/verify.h"

namespace vramwise::cli {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr auto kPoll = std::chrono::milliseconds(100);
// After the server says that it is up, or died, more of the same burst of lines is waited for.
constexpr int kQuietPolls = 10;

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

class File {
 public:
  explicit File(int fd, bool own) : fd_(fd), own_(own) {}
  ~File() {
    if (own_ && fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
  bool own_;
};

Error unreadable(const std::string& path) {
  Error error(errno == ENOENT ? ErrorCode::not_found : ErrorCode::invalid_input,
              "cannot read '" + path + "': " + std::strerror(errno));
  return std::move(error).at(path);
}

}  // namespace

VerifyCommand::VerifyCommand(CLI::App& app, Output& output) : output_(output) {
  command_ = app.add_subcommand("verify", "a server's log beside its plan, or why it died");
  command_->add_option("LOG", log_, "the server's log or traceback; - reads a pipe")->required();
  command_->add_flag("--follow", follow_, "wait until the server is up or has died, then answer")
      ->group("Question");
  question_.ask = "verify";
  add_question_options(*command_, question_, output);
}

bool VerifyCommand::parsed() const { return command_->parsed(); }

int VerifyCommand::run(const std::string& line) {
  question_.line = line;
  const auto request = build_request(question_);
  if (!request) return show_error(request.error(), output_);
  if (output_.print_request) {
    std::cout << json::dump(*request, 2) << "\n";
    return 0;
  }
  const auto answer = read_log(*request);
  return answer ? show(*answer, output_, false) : show_error(answer.error(), output_);
}

Result<json::Value> VerifyCommand::read_log(const json::Value& request) const {
  const bool standard = log_ == "-";
  File file(standard ? STDIN_FILENO : ::open(log_.c_str(), O_RDONLY | O_CLOEXEC), !standard);
  if (file.fd() < 0) return fail(unreadable(log_));
  struct stat info{};
  if (::fstat(file.fd(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return fail(Error(ErrorCode::invalid_input, "'" + log_ + "' is a folder, not a log")
                    .at(log_)
                    .hint("give the file that the server's output went to"));
  }
  struct sigaction action{};
  struct sigaction before{};
  if (follow_) {
    // Ctrl-C ends the waiting, and what is known is shown.
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &before);
  }
  api::LogSession session;
  std::vector<char> piece(kPiece);
  int quiet = 0;
  while (interrupted == 0) {
    const ssize_t n = ::read(file.fd(), piece.data(), piece.size());
    if (n > 0) {
      session.feed({piece.data(), size_t(n)});
      quiet = 0;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(unreadable(log_));
    if (!follow_ || standard) break;
    if (session.settled() && ++quiet >= kQuietPolls) break;
    std::this_thread::sleep_for(kPoll);
  }
  if (follow_) sigaction(SIGINT, &before, nullptr);
  return session.answer(request);
}

}  // namespace vramwise::cli
