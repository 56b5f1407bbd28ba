// Files of the running system: /proc and /sys, small and made on the spot by the kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::host {

// `path` ("/proc/meminfo") below $VRAMWISE_SYSTEM_ROOT where that is set: in a container the host's
// files may be mounted elsewhere.
std::string system_path(std::string_view path);
// The text, trimmed; nullopt when it cannot be read.
std::optional<std::string> read_system_file(std::string_view path);
std::optional<int64_t> read_system_number(std::string_view path);
// Names in a folder, sorted; empty when there is none.
std::vector<std::string> list_system_folder(std::string_view path);
bool system_has(std::string_view path);

}  // namespace vramwise::host
