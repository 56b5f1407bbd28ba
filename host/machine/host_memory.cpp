#include "host/machine/host_memory.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text.h"
#include "host/machine/system_files.h"
#ifdef __APPLE__
#include "host/machine/apple.h"
#endif

namespace vramwise::host {
namespace {

// "MemAvailable:   1234 kB" of /proc/meminfo.
Bytes meminfo(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!starts_with(line, key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    std::string_view number = trim(line.substr(key.size() + 1));
    number = number.substr(0, number.find(' '));
    const auto kilobytes = parse_integer(number);
    if (kilobytes && *kilobytes >= 0 && *kilobytes < (int64_t{1} << 42)) {
      return Bytes(*kilobytes * 1024);
    }
  }
  return Bytes();
}

// The lowest limit on the way from a group up to the root of its hierarchy: a group may not have
// more than the ones around it.
void apply_limits(HostMemory& memory, std::string_view mount, std::string group,
                  std::string_view limit_file, std::string_view usage_file) {
  if (!starts_with(group, "/")) group.clear();
  while (true) {
    const std::string folder = std::string(mount) + (group == "/" ? "" : group);
    const auto limit = read_system_number(folder + "/" + std::string(limit_file));
    // "max" (version 2) is no number; version 1 says "no limit" with one beyond any memory.
    if (limit && *limit > 0 && Bytes(*limit) < memory.total &&
        (!memory.limit || Bytes(*limit) < *memory.limit)) {
      memory.limit = Bytes(*limit);
      memory.limit_source = folder + "/" + std::string(limit_file);
      memory.limit_used =
          Bytes(read_system_number(folder + "/" + std::string(usage_file)).value_or(0));
    }
    if (group.empty() || group == "/") return;
    group.resize(group.rfind('/'));
  }
}

void read_limits(HostMemory& memory) {
  const std::string groups = read_system_file("/proc/self/cgroup").value_or("");
  std::string unified;
  std::string v1;
  for (const std::string_view line : split(groups, '\n')) {
    // "0::/user.slice" (version 2) or "4:memory:/docker/abc" (version 1).
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) unified = path;
    for (const std::string_view name : split(controllers, ',')) {
      if (name == "memory") v1 = path;
    }
  }
  // Inside a container the path may be the host's and lead nowhere; the walk up then ends at the
  // mount itself, which is the container's own group.
  apply_limits(memory, "/sys/fs/cgroup", unified, "memory.max", "memory.current");
  apply_limits(memory, "/sys/fs/cgroup/memory", v1, "memory.limit_in_bytes",
               "memory.usage_in_bytes");
}

}  // namespace

HostMemory read_host_memory() {
  HostMemory memory;
#ifdef __APPLE__
  memory.total = apple_memory();
  memory.available = memory.total;
#else
  const std::string text = read_system_file("/proc/meminfo").value_or("");
  memory.total = meminfo(text, "MemTotal");
  memory.available = meminfo(text, "MemAvailable");
  read_limits(memory);
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) memory.processors = CPU_COUNT(&mask);
#endif
  if (memory.processors == 0) memory.processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  struct statvfs shared{};
  if (::statvfs(system_path("/dev/shm").c_str(), &shared) == 0) {
    memory.shared_memory = Bytes(int64_t(shared.f_blocks) * int64_t(shared.f_frsize));
  }
  return memory;
}

}  // namespace vramwise::host
