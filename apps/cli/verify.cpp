#include "apps/cli/verify.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "host/calibration_store.h"

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

VerifyCommand::VerifyCommand(const Program& program)
    : Command(
          program.app.add_subcommand("verify", "a server's log beside its plan, or why it died")),
      output_(program.output) {
  if (!program.needs("verify")) return;
  command_->add_option("LOG", log_, "the server's log or traceback; - reads a pipe")->required();
  command_->add_flag("--follow", follow_, "wait until the server is up or has died, then answer")
      ->group("Question");
  command_->add_flag("--save", save_, "keep what was measured: later plans on this card use it")
      ->group("Question");
  question_.ask = "verify";
  add_question_options(*command_, question_, output_);
}

int VerifyCommand::run(const std::string& launch_line) {
  question_.line = launch_line;
  const auto request = build_request(question_);
  if (!request) return show_error(request.error(), output_);
  if (output_.print_request) {
    std::cout << json::dump(*request, 2) << "\n";
    return 0;
  }
  auto session = read_log();
  if (!session) return show_error(session.error(), output_);
  json::Value answer = session->answer(*request);
  if (json::Value better = answer_with_its_model(*session, answer); !better.is_null()) {
    answer = std::move(better);
  }
  const int status = show(answer, output_, false);
  if (!save_ || answer.find("error") != nullptr) return status;
  const int saved = save(answer);
  return saved != 0 ? saved : status;
}

json::Value VerifyCommand::answer_with_its_model(api::LogSession& session,
                                                 const json::Value& answer) {
  const json::Value* verify = answer.find("verify");
  const json::Value* lacking = verify == nullptr ? nullptr : verify->find("lacking");
  const json::Value* model = verify == nullptr ? nullptr : verify->find("model");
  if (lacking == nullptr || model == nullptr || !question_.model.empty()) return {};
  const auto& parts = lacking->as_array();
  const auto is_model = [](const json::Value& part) { return part == json::Value("model"); };
  if (std::none_of(parts.begin(), parts.end(), is_model)) return {};
  const std::string& name = model->as_string();
  struct stat info{};
  const bool folder = name.starts_with('/');
  if (folder ? ::stat((name + "/config.json").c_str(), &info) != 0
             : std::count(name.begin(), name.end(), '/') != 1) {
    return {};
  }
  Question again = question_;
  again.model = folder ? name : "hf:" + name;
  const auto request = build_request(again);
  if (!request) return {};
  json::Value better = session.answer(*request);
  return better.find("error") == nullptr ? std::move(better) : json::Value();
}

int VerifyCommand::save(const json::Value& answer) const {
  const json::Value* verify = answer.find("verify");
  const json::Value* measured = verify == nullptr ? nullptr : verify->find("measured");
  if (measured == nullptr) {
    return show_error(
        Error(ErrorCode::unsupported, "the log measures nothing that a plan could use")
            .at(log_)
            .hint("it must be of a server that started, with its model and card "
                  "known (MODEL, --gpu)"),
        output_);
  }
  json::Value run = *measured;
  run.set("source", log_ == "-" ? "standard input" : log_);
  const auto changed = host::change_calibration([&](json::Array& runs) -> Result<bool> {
    // The same log saved again is one run, not two.
    for (const json::Value& known : runs) {
      if (known == run) return true;
    }
    runs.push_back(std::move(run));
    return true;
  });
  if (!changed) return show_error(changed.error(), output_);
  std::cerr << "saved to " << host::calibration_path() << "\n";
  return 0;
}

Result<api::LogSession> VerifyCommand::read_log() const {
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
  return session;
}

}  // namespace vramwise::cli
