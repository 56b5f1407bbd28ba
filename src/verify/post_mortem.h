// Why a start, or a server, died: where, by how much, and which knob moves it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/log.h"

namespace vramwise::verify {

// What the death was, over all engines' words for it.
enum class Cause {
  device_memory,
  fragmentation,
  host_memory,
  cache,
  share_not_free,
  state_slots,
  allocation_limit,
  settings,
  request,
  other
};
std::string_view to_string(Cause cause);

struct Advice {
  std::string knob;       // "gpu_memory_utilization", "mem_fraction_static", "n_gpu_layers"
  std::string direction;  // "raise", "lower", "set"
  std::string text;       // why, in a sentence
};

struct PostMortem {
  Cause cause = Cause::other;
  const Failure* failure = nullptr;         // the root, in the log's failures
  std::optional<Phase> phase;               // nullopt: after loading had begun, no line says when
  std::optional<double> needed, available;  // bytes; a count for state_slots
  std::optional<double> shortfall;
  bool shortfall_is_least = false;  // more may be missing: only this allocation is known
  double others = 0;                // bytes that other processes held
  std::string text;                 // one sentence
  std::vector<Advice> advice;       // best first
};

// nullopt: nothing died. `engine`: as it was asked, for a traceback that does not say whose it is.
std::optional<PostMortem> post_mortem(const Log& log, std::string_view engine = {});

}  // namespace vramwise::verify
