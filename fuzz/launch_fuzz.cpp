// Any bytes as a pasted launch line: reading never crashes, the answer is JSON, and what was read
// can be written and read again. Pastes are cut at 64 KiB: longer ones only repeat what shorter
// ones do.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "engines/launch/read_launch.h"
#include "engines/launch/write_line.h"
#include "engines/launch/yaml.h"
#include "json/parse.h"

using namespace vramwise;
using namespace vramwise::engines;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data),
                              std::min<size_t>(size, size_t{1} << 16));
  static launch::OptionTables tables;  // loading them would take most of the time
  (void)launch::parse_yaml(text, "fuzz");
  const auto reading = launch::read_launch(text, tables);
  if (!reading) std::abort();  // content is never an error
  const std::string answer = json::dump(launch::to_json(*reading));
  if (!json::parse(answer, "answer")) std::abort();
  const std::map<std::string, std::string> env(reading->env.begin(), reading->env.end());
  const std::string line =
      launch::write_line(tables, reading->engine, reading->model, reading->options, env);
  if (!launch::read_launch(std::string_view(line).substr(0, launch::kMaxPaste), tables))
    std::abort();
  return 0;
}
