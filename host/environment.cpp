#include "host/environment.h"

#include <cstdlib>

#include "base/text.h"

namespace vramwise::host {

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool env_flag(const char* name) {
  const std::string value = to_lower(env(name));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

std::string home() { return env("HOME"); }

std::string cache_home() {
  std::string folder = env("XDG_CACHE_HOME");
  // The specification has relative paths ignored.
  if (!starts_with(folder, "/")) folder = home().empty() ? "" : home() + "/.cache";
  return folder;
}

}  // namespace vramwise::host
