// Changes tried one by one and in combination, each a full re-plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace vramwise::plan {

// The goal is the question itself: that it starts, and holds the users and the context asked for.
// Single changes in the engine's order of cost, and the sets of two or three that reach the goal at
// less cost than the cheapest single. First those that reach it, cheapest first; then those that
// fit because they ask for less; then the rest.
std::vector<Lever> find_levers(const Resolved& resolved, const engines::Assessment& before,
                               const Verdict& verdict);

// Holds fewer users or a shorter context than was asked for.
bool asks_less(const Lever& lever);
// Fits, with all that was asked for.
bool reaches(const Lever& lever);
// Reaches the goal without other or further cards.
bool reaches_here(const Lever& lever);

// The smallest usual card that holds the question as it is, one of them or 2, 4, 8, in a layout of
// the engine's. Empty: none.
std::optional<Cards> smallest_cards(const Resolved& resolved);

}  // namespace vramwise::plan
