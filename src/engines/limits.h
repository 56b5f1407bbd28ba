// Limits of an engine's own on what it serves: the longest request, requests at a time. They stand
// beside memory as requirements of the workload, and raising them is a change like any other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace vramwise::engines {

// Adds the requirement `what` where `needed` (tokens or a count, by `unit`) passes `available`.
void require_limit(std::vector<Requirement>& list, int device, std::string what, std::string unit,
                   int64_t needed, int64_t available, std::string why);

// The option behind a requirement of that name.
struct LimitOption {
  std::string_view what;    // the requirement's name: "max_num_seqs"
  std::string_view option;  // canonical: "max_num_seqs"
  std::string_view flag;    // as on the command line: "--max-num-seqs "
};

// All limits that the workload passes, raised together as far as it needs; empty: it passes none.
std::optional<LeverCandidate> raised_limits(const Assessment& assessment,
                                            std::span<const LimitOption> known);

// Whether the environment says yes: "1", "true", "yes", "y".
bool switched_on(const Settings& settings, std::string_view variable);

}  // namespace vramwise::engines
