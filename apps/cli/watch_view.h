// The picture of `watch`: from the state to lines, without a terminal in sight.
#pragma once

#include <string>
#include <vector>

#include "host/live/watch_state.h"
#include "report/style.h"

namespace vramwise::cli {

// Lines of at most `style.width` columns (0: any).
std::vector<std::string> watch_view(const host::WatchState& state, const report::Style& style);
// One sample in one line, for pipes and logs.
std::string watch_line(const host::WatchState& state, const report::Style& style);
// The last values as a row of small bars from 0 to `top`, the newest at the right.
std::string sparkline(const std::vector<double>& values, double top, int columns,
                      const report::Style& style);

}  // namespace vramwise::cli
