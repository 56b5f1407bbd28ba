#include "host/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace vramwise::host {
namespace {

// Closes the descriptor on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd > 2) ::close(fd);
  }
};

}  // namespace

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<std::string> read_file(const std::string& path, int64_t limit_bytes) {
  Descriptor file;
  file.fd = path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.fd < 0) {
    return fail(Error(errno == ENOENT ? ErrorCode::not_found : ErrorCode::invalid_input,
                      "cannot open '" + path + "': " + std::strerror(errno))
                    .at(path));
  }
  if (path != "-" && is_directory(path)) {
    return fail(
        Error(ErrorCode::invalid_input, "'" + path + "' is a folder, a file is needed").at(path));
  }
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t n = ::read(file.fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail(
          Error(ErrorCode::invalid_input, "cannot read '" + path + "': " + std::strerror(errno))
              .at(path));
    }
    if (n == 0) break;
    if (int64_t(text.size()) + n > limit_bytes) {
      return fail(Error(ErrorCode::too_large, "'" + path + "' has more than the " +
                                                  format_bytes(Bytes(limit_bytes)) + " accepted")
                      .at(path));
    }
    text.append(buffer.data(), size_t(n));
  }
  return text;
}

}  // namespace vramwise::host
