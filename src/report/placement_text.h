// The placement that the program's fit chooses, and a better one where there is one: what a token
// reads from each memory.
#pragma once

#include <string>

#include "json/value.h"
#include "report/style.h"

namespace vramwise::report {

// Adds nothing where the answer has no better placement.
void add_placement(std::string& out, const json::Value& answer, const Style& style);

}  // namespace vramwise::report
