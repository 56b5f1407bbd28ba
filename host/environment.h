// Environment variables, read in one place.
#pragma once

#include <string>
#include <string_view>

namespace vramwise::host {

// "" when unset.
std::string env(const char* name);
// Set to something that means yes: 1, true, yes, on.
bool env_flag(const char* name);
// The user's folder for regenerable files: $XDG_CACHE_HOME, else ~/.cache; "" when neither is
// known.
std::string cache_home();
std::string home();

}  // namespace vramwise::host
