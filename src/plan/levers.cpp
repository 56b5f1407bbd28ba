#include "plan/levers.h"

#include <algorithm>

#include "base/sort.h"
#include "base/text.h"
#include "plan/cards.h"
#include "plan/grid.h"
#include "plan/lever_trial.h"
#include "plan/outcome_rank.h"

namespace vramwise::plan {
namespace {

using engines::LeverCandidate;

// Re-plans are cheap but not free (a llama.cpp graph is simulated in each), so the search is
// capped.
constexpr size_t kMaxCandidates = 16;
constexpr int kMaxReplans = 120;
constexpr size_t kMaxCombined = 3;  // sets shown
constexpr int kNever = 1 << 30;     // dearer than any set

// Sets of two and three helpful changes, cheapest first; `below` leaves out the dearer ones.
std::vector<Changes> sets_of(const Changes& helpful, int below) {
  std::vector<Changes> sets;
  const auto add = [&](Changes set) {
    if (cost_of(set) < below) sets.push_back(std::move(set));
  };
  for (size_t i = 0; i < helpful.size(); ++i) {
    for (size_t j = i + 1; j < helpful.size(); ++j) {
      if (helpful[i]->id == helpful[j]->id) continue;
      add({helpful[i], helpful[j]});
      for (size_t k = j + 1; k < helpful.size(); ++k) {
        if (helpful[k]->id == helpful[i]->id || helpful[k]->id == helpful[j]->id) continue;
        add({helpful[i], helpful[j], helpful[k]});
      }
    }
  }
  sort_stable(sets, [](const Changes& a, const Changes& b) {
    return cost_of(a) != cost_of(b) ? cost_of(a) < cost_of(b) : a.size() < b.size();
  });
  return sets;
}

// More changes than a set that suffices cost more for nothing.
bool exceeds(const Changes& set, const Lever& enough) {
  return std::all_of(enough.ids.begin(), enough.ids.end(), [&](const std::string& id) {
    return std::any_of(set.begin(), set.end(),
                       [&](const LeverCandidate* c) { return c->id == id; });
  });
}

// To hold less than was asked for, whatever the engine: as many users as fit, as long as fits.
void add_lesser_workloads(const Resolved& resolved, const engines::Assessment& before,
                          std::vector<LeverCandidate>& candidates) {
  constexpr int kLength = 50, kUsers = 55;
  const auto proposed = [&](auto part) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const LeverCandidate& c) {
      return c.changes_workload && part(c.workload) < part(resolved.workload);
    });
  };
  const auto users = [](const engines::Workload& w) { return w.concurrency.count(); };
  const auto length = [](const engines::Workload& w) { return w.sequence_tokens.count(); };
  const auto add = [&](std::string id, int order, std::string change, std::string cost) {
    LeverCandidate c;
    c.id = std::move(id);
    c.order = order;
    c.change = std::move(change);
    c.cost = std::move(cost);
    c.changes_workload = true;
    c.workload = resolved.workload;
    candidates.push_back(std::move(c));
  };
  if (before.users > 0 && before.users < users(resolved.workload) && !proposed(users)) {
    add("users", kUsers,
        "serve " + format_grouped(before.users) + (before.users == 1 ? " user" : " users") +
            " at a time",
        "fewer users");
    candidates.back().workload.concurrency = Sequences(before.users);
  }
  const int64_t longest = before.longest_sequence / 256 * 256;
  if (longest > 0 && longest < length(resolved.workload) && !proposed(length)) {
    add("length", kLength, "sequences of at most " + format_grouped(longest) + " tokens",
        "shorter sequences");
    candidates.back().workload.sequence_tokens = Tokens(longest);
  }
}

// Usual cards and counts of them, by the memory that they have together.
struct Size {
  catalog::Gpu gpu;
  int count = 1;
  Bytes total() const { return gpu.total * count; }
};
std::vector<Size> usual_sizes(const engines::Engine& engine) {
  constexpr int kMostCards = 8;
  std::vector<Size> sizes;
  for (const catalog::Gpu& gpu : usual_cards(engine)) {
    for (int count = 1; count <= std::min(kMostCards, std::max(1, gpu.max_per_node)); count *= 2) {
      sizes.push_back({gpu, count});
    }
  }
  sort_stable(sizes, [](const Size& a, const Size& b) {
    return a.total() != b.total() ? a.total() < b.total() : a.count < b.count;
  });
  return sizes;
}

}  // namespace

bool asks_less(const Lever& lever) { return lever.set.find("workload") != nullptr; }

bool reaches(const Lever& lever) {
  return lever.after.outcome == Outcome::fits && !asks_less(lever);
}

bool reaches_here(const Lever& lever) {
  return reaches(lever) && lever.set.find("hardware") == nullptr;
}

std::optional<Cards> smallest_cards(const Resolved& resolved) {
  Resolved asked = resolved;
  asked.settings.calibration = nullptr;
  for (const Size& size : usual_sizes(*resolved.engine)) {
    Resolved there = on_cards(asked, size.gpu, size_t(size.count));
    for (const engines::Layout& layout : there.engine->layouts(there.question(), size.count)) {
      Resolved laid_out = there;
      for (const auto& [name, value] : layout.options) laid_out.settings.options.set(name, value);
      const auto sketch = sketch_plan(laid_out, engines::Detail::verdict);
      if (sketch && sketch->verdict.outcome == Outcome::fits) {
        return Cards{size.gpu.id, size.count, layout};
      }
    }
  }
  return std::nullopt;
}

std::vector<Lever> find_levers(const Resolved& resolved, const engines::Assessment& before,
                               const Verdict& verdict) {
  std::vector<LeverCandidate> candidates = resolved.engine->levers(resolved.question(), before);
  add_lesser_workloads(resolved, before, candidates);
  sort_stable(candidates,
              [](const LeverCandidate& a, const LeverCandidate& b) { return a.order < b.order; });
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  Trial trial(resolved, before);

  std::vector<Lever> found;
  Changes helpful;        // candidates that can take part in a set
  int cheapest = kNever;  // cost of the cheapest single that reaches the goal
  for (const LeverCandidate& candidate : candidates) {
    auto lever = trial.attempt({&candidate});
    if (!lever) continue;
    // A change that neither improves the verdict nor adds users is noise once everything fits;
    // before that, one that frees memory may still take part in a set.
    const bool better = rank(lever->after.outcome) < rank(verdict.outcome);
    const bool more_users = lever->users > before.users;
    if (verdict.outcome == Outcome::fits && !more_users) continue;
    if (lever->freed.count() <= 0 && !better && !more_users) continue;
    if (reaches(*lever)) cheapest = std::min(cheapest, lever->order);
    helpful.push_back(&candidate);
    // What the engine refuses whatever the memory, memory does not help against.
    if (!before.refusals.empty() && lever->after.outcome == Outcome::refuses_to_start &&
        lever->after.binding == verdict.binding) {
      continue;
    }
    found.push_back(std::move(*lever));
  }

  // Several cheap changes together may cost less than the one that suffices alone.
  if (verdict.outcome != Outcome::fits) {
    int replans = 0;
    size_t combined = 0;
    for (const Changes& set : sets_of(helpful, cheapest)) {
      if (combined >= kMaxCombined || replans >= kMaxReplans) break;
      // With less asked for, a set is worth showing only where nothing holds all of it.
      const bool less = std::any_of(set.begin(), set.end(),
                                    [](const LeverCandidate* c) { return c->changes_workload; });
      if (less || std::any_of(found.begin(), found.end(), [&](const Lever& other) {
            return reaches(other) && exceeds(set, other);
          })) {
        continue;
      }
      ++replans;
      auto lever = trial.attempt(set);
      if (!lever || !reaches(*lever)) continue;
      found.push_back(std::move(*lever));
      ++combined;
    }
  }

  // Those that reach the goal first, then those that hold less than was asked, each in order of
  // cost.
  sort_stable(found, [](const Lever& a, const Lever& b) {
    const auto part = [](const Lever& lever) {
      return reaches(lever) ? 0 : lever.after.outcome == Outcome::fits ? 1 : 2;
    };
    if (part(a) != part(b)) return part(a) < part(b);
    return a.order < b.order;
  });
  return found;
}

}  // namespace vramwise::plan
