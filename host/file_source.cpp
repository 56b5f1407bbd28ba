#include "host/file_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace vramwise::host {
namespace {

class FileSource final : public formats::ByteSource {
 public:
  FileSource(int fd, int64_t size, std::string path)
      : fd_(fd), size_(size), path_(std::move(path)) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(fd_); }

  const std::string& name() const override { return path_; }
  Result<int64_t> size() override { return size_; }

  Result<void> read(int64_t offset, std::span<char> out) override {
    if (offset < 0 || offset > size_ || int64_t(out.size()) > size_ - offset) {
      return fail(formats::beyond_end(path_, offset, int64_t(out.size()), size_));
    }
    while (!out.empty()) {
      const ssize_t n = ::pread(fd_, out.data(), out.size(), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        return fail(
            Error(ErrorCode::invalid_input, "cannot read '" + path_ + "': " + std::strerror(errno))
                .at(path_));
      }
      if (n == 0) {
        return fail(
            Error(ErrorCode::invalid_input, "'" + path_ + "' became shorter while it was read")
                .at(path_));
      }
      out = out.subspan(size_t(n));
      offset += n;
    }
    return {};
  }

 private:
  int fd_;
  int64_t size_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<formats::ByteSource>> open_file(const std::string& path) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(Error(code, "cannot open '" + path + "': " + why).at(path));
  };
  // Not blocking: a pipe under a model's name would hang the program.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return refuse(
        errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::invalid_input,
        std::strerror(errno));
  }
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    const bool folder = S_ISDIR(status.st_mode);
    ::close(fd);
    return refuse(ErrorCode::invalid_input, folder ? "it is a folder" : "it is no regular file");
  }
  return std::make_unique<FileSource>(fd, int64_t(status.st_size), path);
}

Result<std::vector<std::string>> list_files(const std::string& folder) {
  DIR* handle = ::opendir(folder.c_str());
  if (handle == nullptr) {
    return fail(Error(errno == ENOENT ? ErrorCode::not_found : ErrorCode::invalid_input,
                      "cannot open '" + folder + "': " + std::strerror(errno))
                    .at(folder));
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    if (name.empty() || name[0] == '.') continue;
    struct stat status{};
    // Links are followed: hub caches consist of them.
    if (::stat((folder + "/" + name).c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      names.push_back(name);
    }
  }
  ::closedir(handle);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace vramwise::host
