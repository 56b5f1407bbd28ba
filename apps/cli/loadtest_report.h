// A load test's document as text for people and as a page of one file. Both read the JSON alone, so
// that a saved one can be drawn again.
#pragma once

#include <string>

#include "json/value.h"
#include "report/style.h"

namespace vramwise::cli {

std::string loadtest_text(const json::Value& document, const report::Style& style);
// Complete HTML with its pictures inside and a policy that forbids every request.
std::string loadtest_html(const json::Value& document);

}  // namespace vramwise::cli
