#include "host/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::host {
namespace {

constexpr int64_t kConfigLimit = int64_t{64} << 20;

// Closes the descriptor on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd > 2) ::close(fd);
  }
};

Result<json::Value> parse_file(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_file(path, kConfigLimit));
  return json::parse(text, path);
}

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

Result<json::Value> model_from_path(const std::string& path) {
  json::Value model = json::Value::object();
  if (!is_directory(path)) {
    if (ends_with(path, ".gguf") || ends_with(path, ".safetensors")) {
      return fail(Error(ErrorCode::unsupported,
                        "'" + path + "' is a weight file; only config.json is read so far")
                      .at(path)
                      .hint("give the model's config.json or its folder, and the format with "
                            "--weights"));
    }
    TRY_ASSIGN(json::Value config, parse_file(path));
    model.set("config", std::move(config));
    model.set("ref", path);
    return model;
  }
  const std::string config_path = path + "/config.json";
  if (!exists(config_path)) {
    return fail(Error(ErrorCode::not_found, "there is no config.json in '" + path + "'")
                    .at(path)
                    .hint("give the folder of a Hugging Face checkpoint, or a config.json"));
  }
  TRY_ASSIGN(json::Value config, parse_file(config_path));
  model.set("config", std::move(config));
  const std::string quant_path = path + "/hf_quant_config.json";
  if (exists(quant_path)) {
    TRY_ASSIGN(json::Value quant, parse_file(quant_path));
    model.set("quantization_config", std::move(quant));
  }
  model.set("ref", path);
  return model;
}

}  // namespace vramwise::host
