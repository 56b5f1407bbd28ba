// What was measured on this user's machine, as differences from the plan: how far a term of the
// budget lay off when the same engine ran there. Made by plan/calibration.h, applied by engines
// that know such terms.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/units.h"

namespace vramwise::engines {

struct MeasuredTerm {
  Bytes shift;   // measured less planned; the mean of the runs
  Bytes spread;  // largest less smallest of the runs
  int runs = 0;
};

struct Calibration {
  std::optional<MeasuredTerm> weights, activations, non_torch, graphs;
  std::string words;  // "2 runs of Qwen/Qwen3-8B on this machine"

  bool empty() const { return !weights && !activations && !non_torch && !graphs; }
};

// The bar of a planned term once it is measured. One run says where the term lies, not how far it
// moves: half the bar stays, and all of it where runs differ from boot to boot (unified memory).
// More runs give their own spread, and never less than a quarter of the bar.
inline ByteRange measured_range(const ByteRange& planned, const MeasuredTerm& term, bool unified) {
  const Bytes up = planned.high - planned.likely, down = planned.likely - planned.low;
  if (term.runs < 2) {
    if (unified) return planned;
    return {planned.likely - down / 2, planned.likely, planned.likely + up / 2};
  }
  const auto bar = [&](Bytes whole) { return std::max(whole / 4, term.spread); };
  return {planned.likely - bar(down), planned.likely, planned.likely + bar(up)};
}

}  // namespace vramwise::engines
