// The changes that would help, as a plan's answer lists them, and the cards that would hold it.
#pragma once

#include <string>

#include "json/value.h"
#include "report/style.h"

namespace vramwise::report {

// Whether a change reaches all that was asked for.
bool reaches(const json::Value& lever);

// Groups with headings: what reaches it, what holds less, what is not enough alone.
std::string lever_lines(const json::Value& answer, const Style& style);

}  // namespace vramwise::report
