// A measured speed from two saved texts of a server's /metrics, one before a load and one after it:
// the server counts by itself, so nothing has to stand beside the requests with a watch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

struct MeasuredMetrics {
  std::string before, after;      // files
  std::optional<int64_t> users;   // kept busy meanwhile
  std::optional<double> seconds;  // between the two
  std::optional<int64_t> prompt,
      output;  // tokens of a request, where the server does not count them
};

// What they say of one user alone (first token, between tokens, lengths) or, of several, their
// tokens a second.
struct MeasuredPoint {
  int64_t users = 1;
  double inter_token_seconds = 0, ttft_seconds = 0;  // of one user
  double tokens_per_second = 0;                      // of several
  int64_t prompt = 0, output = 0;                    // 0: not known
};

// Errors: invalid_input (no metrics in a file), inconsistent (two servers, or one that was started
// in between), missing_field (neither users nor seconds, lengths that nobody says).
Result<MeasuredPoint> measured_point(const MeasuredMetrics& given, std::string_view flag);

}  // namespace vramwise::cli
