#include "host/calibration_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/environment.h"
#include "host/files.h"
#include "json/parse.h"

namespace vramwise::host {
namespace {

constexpr int64_t kLargestStore = int64_t{16} << 20;
constexpr const char* kMoveAway =
    "move it away: vramwise verify --save makes a new one; --no-calibration plans without it";

Error unwritable(const std::string& path) {
  Error error(ErrorCode::invalid_input,
              "cannot write '" + path + "': " + std::string(std::strerror(errno)));
  return std::move(error).at(path);
}

bool make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

// Held while the store is read, changed and replaced.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : fd_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      ::close(fd_);
      fd_ = -1;
    }
  }
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(size_t(n));
  }
  return true;
}

Result<bool> replace_file(const std::string& path, std::string_view text) {
  const std::string temporary = path + "." + format_integer(::getpid()) + ".tmp";
  const int fd = ::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return fail(unwritable(temporary));
  const bool written = write_all(fd, text) && ::fsync(fd) == 0;
  const bool closed = ::close(fd) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = unwritable(path);
    ::unlink(temporary.c_str());
    return fail(std::move(error));
  }
  return true;
}

}  // namespace

std::string calibration_path() {
  std::string folder = env("XDG_CONFIG_HOME");
  // The specification has relative paths ignored.
  if (!starts_with(folder, "/")) folder = home().empty() ? "" : home() + "/.config";
  return folder.empty() ? "" : folder + "/vramwise/calibration.json";
}

Result<json::Value> load_calibration() {
  const std::string path = calibration_path();
  if (path.empty() || !exists(path)) return json::Value::array();
  TRY_ASSIGN(const std::string text, read_file(path, kLargestStore));
  auto store = json::parse(text, path);
  if (!store) return fail(std::move(store.error()).hint(kMoveAway));
  const json::Value* runs = store->find("runs");
  if (runs == nullptr || !runs->is_array()) {
    return fail(Error(ErrorCode::invalid_input, "the file of measured runs has no list 'runs'")
                    .at(path)
                    .hint(kMoveAway));
  }
  return *runs;
}

Result<bool> change_calibration(const std::function<Result<bool>(json::Array& runs)>& change) {
  const std::string path = calibration_path();
  if (path.empty()) {
    return fail(Error(ErrorCode::invalid_input, "there is no folder to save measured runs in")
                    .hint("set HOME or XDG_CONFIG_HOME"));
  }
  if (!make_folders(path)) return fail(unwritable(path));
  const Lock lock(path + ".lock");
  if (!lock.held()) return fail(unwritable(path + ".lock"));
  TRY_ASSIGN(json::Value runs, load_calibration());
  TRY(change(runs.as_array()));
  json::Value store = json::Value::object();
  store.set("schema_version", 1);
  store.set("runs", std::move(runs));
  return replace_file(path, json::dump(store, 1) + "\n");
}

}  // namespace vramwise::host
