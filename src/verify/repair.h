// The smallest change after which a start that died would have come up, planned again with what its
// log shows.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "plan/plan.h"
#include "verify/post_mortem.h"

namespace vramwise::verify {

// What a proposal asks of people, cheapest kind first.
enum class ChangeKind {
  options,     // of the engine, or a smaller workload
  neighbours,  // other processes off the card
  weights,     // a checkpoint in another format
  cards,       // more of them, or others
};
std::string_view to_string(ChangeKind kind);

struct Proposal {
  ChangeKind kind = ChangeKind::options;
  plan::Lever lever;  // `set` applies behind Repair::as_it_was
};

struct Repair {
  // The plan, with this log's terms, dies as the log did. Where it does not, no change can be shown
  // to help, and none is proposed.
  bool reproduced = false;
  std::vector<Proposal> changes;  // all fit at the pessimistic end of their bars
  std::string none_because;       // a sentence; empty where there are changes
  // Merge patch of the request: the start as it was, with what others held on the cards and the
  // log's own terms as a measured run.
  json::Value as_it_was;
};

// `start`: the failed start as it was asked for.
Repair repair(const Log& log, const PostMortem& mortem, const plan::Resolved& start);

// Whether a change that would have started turns this knob the other way. `was`: the options of
// the start, with the engine's defaults.
bool turned_back(const Repair& repair, const engines::Options& was, const Advice& advice);

}  // namespace vramwise::verify
