#include "host/machine/system_files.h"

#include <dirent.h>

#include <algorithm>

#include "base/text.h"
#include "host/environment.h"
#include "host/files.h"

namespace vramwise::host {
namespace {

constexpr int64_t kMostText = int64_t{1} << 20;

}  // namespace

std::string system_path(std::string_view path) {
  return env("VRAMWISE_SYSTEM_ROOT") + std::string(path);
}

std::optional<std::string> read_system_file(std::string_view path) {
  const auto text = read_file(system_path(path), kMostText);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<int64_t> read_system_number(std::string_view path) {
  const auto text = read_system_file(path);
  return text ? parse_integer(*text) : std::nullopt;
}

std::vector<std::string> list_system_folder(std::string_view path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(system_path(path).c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

bool system_has(std::string_view path) { return exists(system_path(path)); }

}  // namespace vramwise::host
