// Lines that hold a configuration: command lines, argument dumps, GGUF keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/option_table.h"
#include "verify/log.h"
#include "verify/pattern.h"

namespace vramwise::verify {

class ConfigReader {
 public:
  // `id` as in the template, `text` from the anchor on, `captures` of the pattern.
  void line(std::string_view id, std::string_view text, const std::vector<Capture>& captures,
            LogConfig& config);

  // The configuration begins anew.
  void forget() { last_arguments_.clear(); }

 private:
  // A server that is started again and again prints the same arguments each time.
  std::string last_arguments_;
  engines::launch::OptionTables tables_;
};

// What the readings say about the configuration, once all is read (contexts, cache types, totals).
void complete_config(const Log& log, LogConfig& config);

}  // namespace vramwise::verify
