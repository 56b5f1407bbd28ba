// Answers of the launch-line reader for tests: one field as JSON text.
#pragma once

#include <string>
#include <string_view>

#include "engines/launch/read_launch.h"
#include "json/value.h"

namespace vramwise::testing {

inline json::Value launch_answer(std::string_view line) {
  const auto reading = engines::launch::read_launch(line);
  return reading ? engines::launch::to_json(*reading) : json::Value();
}

// Compact JSON of a field, "" where the answer has none.
inline std::string launch_field(std::string_view line, std::string_view field) {
  const json::Value answer = launch_answer(line);
  const json::Value* value = answer.find(field);
  return value == nullptr ? std::string() : json::dump(*value);
}

struct LaunchCase {
  std::string_view line;
  std::string_view field;
  std::string_view json;
};

}  // namespace vramwise::testing

// Each row of a table of LaunchCase.
#define EXPECT_LAUNCH(cases)                                                         \
  for (const ::vramwise::testing::LaunchCase& c : cases) {                           \
    EXPECT_EQ(::vramwise::testing::launch_field(c.line, c.field), c.json) << c.line; \
  }
