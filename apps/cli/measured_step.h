// `--measured`: what a server of one's own did, as figures or as reports of `loadtest --json`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

// "itl=12ms,ttft=62ms,users=8,tokens=540,prompt=512,output=256", or a report: that of one user
// gives the time to the first token and between tokens, that of several users their tokens a
// second. Or two texts of its /metrics, "before=a.prom,after=b.prom,users=8".
Result<bool> apply_measured(json::Value& request, const std::string& value, std::string_view flag);

}  // namespace vramwise::cli
