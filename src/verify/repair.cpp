#include "verify/repair.h"

#include <algorithm>

#include "base/sort.h"
#include "base/text.h"
#include "plan/calibration.h"
#include "plan/lever_trial.h"
#include "plan/levers.h"
#include "verify/measured.h"

namespace vramwise::verify {
namespace {

using engines::Device;
using engines::LeverCandidate;
using json::Value;
using plan::Lever;

constexpr int kMostPlans = 160;
constexpr size_t kMostChanges = 3;  // taken together

// Whether planning the start with other settings says anything about this death.
std::string no_search_because(const PostMortem& m) {
  if (m.cause == Cause::host_memory) {
    return "the host ran out of memory, not the card: nothing that a plan of the card changes "
           "would "
           "have helped";
  }
  if (m.cause == Cause::other) {
    return "it died of something that is not memory: no change of memory would have helped";
  }
  return {};
}

// Memory of the cards that was not this server's when it started.
void set_neighbours(const PostMortem& m, const plan::Plan& planned, engines::Hardware& hardware) {
  const Failure& f = *m.failure;
  for (const engines::Requirement& r : planned.assessment.requirements) {
    if (r.what != "utilisation" || !f.has("free_at_start")) continue;
    const double missing = double(r.available.likely.count()) - f.number("free_at_start");
    if (missing <= 0) break;
    for (Device& device : hardware.devices) {
      device.used = std::min(device.total, device.used + Bytes(int64_t(missing)));
    }
    break;
  }
  for (Device& device : hardware.devices) {
    device.used = std::max(device.used, std::min(device.total, Bytes(int64_t(m.others))));
  }
}

Value device_of(const Device& device) {
  Value out = Value::object();
  const bool known = device.gpu.id != "custom";
  out.set("gpu", known ? Value(device.gpu.id) : Value());
  // The catalog's own total keeps its bar.
  const bool own = known && device.total == device.gpu.total;
  out.set("total_bytes", own ? Value() : Value(device.total));
  out.set("used_bytes", device.used);
  return out;
}

// The cards as a merge patch of a request's hardware, whichever of its two forms that has.
Value hardware_patch(const std::vector<Device>& devices) {
  Value out = Value::object();
  const auto differs = [&](const Device& d) {
    const Device& first = devices.front();
    return d.gpu.id != first.gpu.id || d.total != first.total || d.used != first.used;
  };
  if (!std::any_of(devices.begin(), devices.end(), differs)) {
    out = device_of(devices.front());
    out.set("count", int64_t(devices.size()));
    out.set("devices", Value());
    return out;
  }
  Value list = Value::array();
  for (const Device& device : devices) {
    Value one = device_of(device);
    for (const std::string_view key : {"gpu", "total_bytes"}) {
      if (one.find(key)->is_null()) one.erase(key);
    }
    list.push(std::move(one));
  }
  out.set("devices", std::move(list));
  for (const std::string_view key : {"gpu", "count", "total_bytes", "used_bytes"}) {
    out.set(key, Value());
  }
  return out;
}

// Changes on the cards of the start, alone and together. After each the engine is asked anew what
// helps, since a smaller share needs a shorter length.
class Search {
 public:
  // `reach`: options, or options with other weights.
  Search(const plan::Resolved& start, ChangeKind reach)
      : start_(start), died_(start.engine->assess(start.question())), reach_(reach) {
    if (!died_) return;
    trial_.emplace(start_, *died_);
    run(start_, *died_, {});
    sort_stable(found_, [](const auto& a, const auto& b) {
      return a.ids.size() != b.ids.size() ? a.ids.size() < b.ids.size() : a.order < b.order;
    });
  }

  std::vector<Lever> take() { return std::move(found_); }

 private:
  void run(const plan::Resolved& now, const engines::Assessment& at, const plan::Changes& before) {
    std::vector<LeverCandidate> candidates = now.engine->levers(now.question(), at);
    sort_stable(candidates, [](const auto& a, const auto& b) { return a.order < b.order; });
    std::vector<std::pair<plan::Changes, plan::Trial::Outcome>> open;
    for (const LeverCandidate& c : candidates) {
      if (!c.gpu.empty() || c.devices > 0) continue;
      if (!c.weights_format.empty() && reach_ == ChangeKind::options) continue;
      const auto same = [&](const LeverCandidate* b) { return b->id == c.id; };
      if (std::any_of(before.begin(), before.end(), same)) continue;
      if (++plans_ > kMostPlans) return;
      plan::Changes changes = before;
      changes.push_back(&c);
      auto outcome = trial_->run(changes, engines::Detail::full);
      if (!outcome) continue;
      if (outcome->lever.after.outcome == plan::Outcome::fits) {
        keep(outcome->lever);
      } else if (changes.size() < kMostChanges) {
        open.emplace_back(std::move(changes), std::move(*outcome));
      }
    }
    for (const auto& [changes, outcome] : open) run(outcome.changed, outcome.assessment, changes);
  }

  // Not the same changes in another order.
  void keep(const Lever& lever) {
    for (const Lever& known : found_) {
      const bool within = std::all_of(known.ids.begin(), known.ids.end(), [&](const auto& id) {
        return std::find(lever.ids.begin(), lever.ids.end(), id) != lever.ids.end();
      });
      if (within) return;
    }
    found_.push_back(lever);
  }

  const plan::Resolved& start_;
  Result<engines::Assessment> died_;
  ChangeKind reach_;
  std::optional<plan::Trial> trial_;
  std::vector<Lever> found_;
  int plans_ = 0;
};

// The cards to itself: what others hold is given back, and with it what else it takes.
std::vector<Lever> without_neighbours(const plan::Resolved& start) {
  plan::Resolved alone = start;
  Bytes most;
  for (Device& device : alone.hardware.devices) {
    most = std::max(most, device.used);
    device.used = Bytes();
  }
  if (most <= MiB(64)) return {};
  Lever stop;
  stop.ids = {"neighbours"};
  stop.change = "stop what else holds " + format_bytes(most) + " of the card";
  stop.option = "(nvidia-smi lists the processes)";
  stop.cost = "the other processes need another card";
  const Value hardware = hardware_patch(alone.hardware.devices);
  stop.set = Value::object();
  stop.set.set("hardware", hardware);
  const auto sketch = plan::sketch_plan(alone, engines::Detail::lever);
  if (!sketch) return {};
  if (sketch->verdict.outcome == plan::Outcome::fits) {
    stop.after = sketch->verdict;
    stop.users = sketch->assessment.users;
    return {std::move(stop)};
  }
  std::vector<Lever> found = Search(alone, ChangeKind::options).take();
  for (Lever& lever : found) {
    lever.ids.insert(lever.ids.begin(), stop.ids.front());
    lever.change = stop.change + ", and " + lever.change;
    lever.cost = stop.cost + (lever.cost.empty() ? "" : "; ") + lever.cost;
    lever.set.set("hardware", hardware);
  }
  return found;
}

// The smallest cards of all, as a change.
Lever on_other_cards(const plan::Cards& cards) {
  Lever lever;
  lever.ids = {"smallest"};
  const auto gpu = catalog::find_gpu(cards.gpu);
  const std::string name(gpu ? gpu->name : cards.gpu);
  lever.change = "use " + (cards.count > 1 ? format_integer(cards.count) + " x " : "") + name;
  if (!cards.layout.label.empty()) lever.change += " as " + cards.layout.label;
  lever.option = "(other cards)";
  lever.cost = "another machine";
  lever.after.outcome = plan::Outcome::fits;
  lever.after.starts = true;
  Value hardware = Value::object();
  hardware.set("gpu", cards.gpu);
  hardware.set("count", int64_t(cards.count));
  for (const std::string_view key : {"total_bytes", "used_bytes", "devices"}) {
    hardware.set(key, Value());
  }
  lever.set = Value::object();
  lever.set.set("hardware", std::move(hardware));
  Value options = Value::object();
  for (const auto& [option, value] : cards.layout.options) options.set(option, value);
  if (!options.as_object().empty()) {
    Value engine = Value::object();
    engine.set("options", std::move(options));
    lever.set.set("engine", std::move(engine));
  }
  return lever;
}

// What was measured on the start's own cards is not known of others; where these are the same, it
// died on them.
bool same_cards(const plan::Cards& cards, const plan::Resolved& start) {
  const auto& own = start.hardware.devices;
  return size_t(cards.count) <= own.size() &&
         std::all_of(own.begin(), own.end(),
                     [&](const Device& device) { return device.gpu.id == cards.gpu; });
}

ChangeKind kind_of(const Lever& lever) {
  if (lever.set.find("hardware") != nullptr) return ChangeKind::cards;
  return lever.set.find("weights") != nullptr ? ChangeKind::weights : ChangeKind::options;
}

// Why the plan has a dead start alive, as far as its numbers tell.
std::string would_have_started(const PostMortem& m, const engines::Assessment& a) {
  std::string text = "planned again with what this log shows, it would have started";
  const bool allocation = m.cause == Cause::device_memory || m.cause == Cause::allocation_limit;
  if (!allocation || !m.needed) {
    return text + ": what was missing is not printed here, so no change can be shown to be enough";
  }
  Bytes left = Bytes(INT64_MAX);
  for (const engines::Requirement& r : a.requirements) {
    if (r.kind != engines::Requirement::Kind::out_of_memory || r.unit != "bytes") continue;
    left = std::min(left, r.available.likely - r.needed.likely);
  }
  if (left.count() < INT64_MAX) text += " with " + format_bytes(left) + " to spare";
  text += ", yet " + format_bytes(Bytes(int64_t(*m.needed))) + " in one piece were refused";
  if (m.available) text += " with " + format_bytes(Bytes(int64_t(*m.available))) + " free";
  return text +
         ": others held the card, the program took more than is planned, or the driver "
         "allows no piece of that size; no change can be shown to be enough";
}

// The start with what the log says of it, and the patch that says so.
plan::Resolved as_it_was(const Log& log, const PostMortem& m, const plan::Resolved& start,
                         const plan::Plan& planned, Value& patch) {
  plan::Resolved was = start;
  patch = Value::object();
  set_neighbours(m, planned, was.hardware);
  if (!was.hardware.devices.empty()) patch.set("hardware", hardware_patch(was.hardware.devices));
  Value run = measured_run(log, planned);
  if (run.is_null()) return was;
  // Of this very start, so it holds whatever is changed; twice, since it moves as far as it moved.
  run.erase("options");
  Value runs = Value::array();
  runs.push(run);
  runs.push(std::move(run));
  if (plan::calibrate(runs, was)) patch.set("calibration", std::move(runs));
  return was;
}

}  // namespace

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::options: return "options";
    case ChangeKind::neighbours: return "neighbours";
    case ChangeKind::weights: return "weights";
    case ChangeKind::cards: return "cards";
  }
  return "";
}

Repair repair(const Log& log, const PostMortem& mortem, const plan::Resolved& start) {
  Repair out;
  out.none_because = no_search_because(mortem);
  if (!out.none_because.empty()) return out;
  const auto planned = plan::make_plan(start, plan::Levers::skip);
  if (!planned) {
    out.none_because = "the start cannot be planned: " + planned.error().message;
    return out;
  }
  const plan::Resolved was = as_it_was(log, mortem, start, *planned, out.as_it_was);
  auto died = plan::make_plan(was, plan::Levers::search);
  if (!died) return out;
  out.reproduced = !died->verdict.starts;
  if (!out.reproduced) {
    out.none_because = would_have_started(mortem, died->assessment);
    return out;
  }
  const auto add = [&](ChangeKind kind, Lever lever) {
    const bool known = std::any_of(out.changes.begin(), out.changes.end(),
                                   [&](const Proposal& p) { return p.lever.ids == lever.ids; });
    if (!known) out.changes.push_back({kind, std::move(lever)});
  };
  for (Lever& lever : Search(was, ChangeKind::options).take()) {
    add(ChangeKind::options, std::move(lever));
  }
  for (Lever& lever : died->levers) {
    if (lever.after.outcome != plan::Outcome::fits) continue;
    const ChangeKind kind = kind_of(lever);
    add(kind, std::move(lever));
  }
  const auto on_these_cards = [](const Proposal& p) { return p.kind < ChangeKind::cards; };
  if (std::none_of(out.changes.begin(), out.changes.end(), on_these_cards)) {
    for (Lever& lever : Search(was, ChangeKind::weights).take()) {
      add(ChangeKind::weights, std::move(lever));
    }
  }
  for (Lever& lever : without_neighbours(was)) {
    add(ChangeKind::neighbours, std::move(lever));
  }
  if (died->smallest && !same_cards(*died->smallest, was)) {
    add(ChangeKind::cards, on_other_cards(*died->smallest));
  }
  sort_stable(out.changes, [](const auto& a, const auto& b) { return a.kind < b.kind; });
  if (out.changes.empty()) {
    out.none_because = "no option, format of the weights or usual card that was tried is enough";
  }
  return out;
}

bool turned_back(const Repair& repair, const engines::Options& was, const Advice& advice) {
  const Value* old = was.find(advice.knob);
  if (old == nullptr || !old->is_number() || advice.direction == "set") return false;
  const bool raise = advice.direction == "raise";
  return std::any_of(repair.changes.begin(), repair.changes.end(), [&](const Proposal& change) {
    const Value* engine = change.lever.set.find("engine");
    const Value* options = engine != nullptr ? engine->find("options") : nullptr;
    const Value* now = options != nullptr ? options->find(advice.knob) : nullptr;
    if (now == nullptr || !now->is_number()) return false;
    return raise ? now->as_double() < old->as_double() : now->as_double() > old->as_double();
  });
}

}  // namespace vramwise::verify
