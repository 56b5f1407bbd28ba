// Lines that hold a configuration: command lines, argument dumps, GGUF keys.
#pragma once

#include <string_view>
#include <vector>

#include "verify/log.h"
#include "verify/pattern.h"

namespace vramwise::verify {

// `id` as in the template, `text` from the anchor on, `captures` of the pattern.
void read_config_line(std::string_view id, std::string_view text,
                      const std::vector<Capture>& captures, LogConfig& config);

// What the readings say about the configuration, once all is read (contexts, cache types, totals).
void complete_config(const Log& log, LogConfig& config);

}  // namespace vramwise::verify
