#include "plan/node.h"

#include <algorithm>

#include "base/text.h"
#include "plan/held.h"
#include "plan/outcome_rank.h"

namespace vramwise::plan {
namespace {

using engines::kHost;

constexpr ByteRange kNothing = ByteRange::exactly(Bytes());

// What has been taken so far.
struct Taken {
  std::vector<ByteRange> devices;
  ByteRange host = kNothing;
};

enum class Level { low, likely, high };
Bytes at(const ByteRange& range, Level level) {
  return level == Level::low ? range.low : level == Level::high ? range.high : range.likely;
}

// The node as a program finds it.
engines::Hardware left_of(const engines::Hardware& node, const NodeProcess& process,
                          const engines::Hardware& own, const Taken& taken, Level level) {
  engines::Hardware left = own;
  left.devices.clear();
  for (const size_t d : process.devices) {
    engines::Device device = node.devices[d];
    device.used = std::min(device.total, device.used + at(taken.devices[d], level));
    left.devices.push_back(std::move(device));
  }
  // 0 would mean that host memory is not known.
  if (node.ram.count() > 0) left.ram = std::max(Bytes(1), node.ram - at(taken.host, level));
  return left;
}

ByteRange less(Bytes from, ByteRange taken) {
  const auto left = [&](Bytes t) { return std::max(Bytes(), from - t); };
  return {left(taken.high), left(taken.likely), left(taken.low)};
}

class Planner {
 public:
  Planner(const NodeQuestion& question, engines::Detail detail)
      : question_(question), detail_(detail) {
    taken_.devices.assign(question.hardware.devices.size(), kNothing);
  }

  Result<NodeStart> start(const NodeProcess& process) {
    NodeStart start;
    for (const size_t d : process.devices) {
      start.found.push_back(less(question_.hardware.devices[d].free(), taken_.devices[d]));
    }
    start.takes.assign(process.devices.size(), kNothing);
    start.needs.assign(process.devices.size(), Bytes());
    start.host = kNothing;
    if (process.server) {
      TRY(serve(process, start));
    } else {
      occupy(process, start);
    }
    const Bytes host_before = taken_.host.likely;
    highest_host_ = std::max(highest_host_, host_before + start.host_peak);
    if (start.verdict.starts) {
      for (size_t i = 0; i < process.devices.size(); ++i) {
        taken_.devices[process.devices[i]] += start.takes[i];
      }
      taken_.host += start.host;
    }
    return start;
  }

  const Taken& taken() const { return taken_; }
  Bytes highest_host() const { return highest_host_; }

 private:
  // The verdict on what is left at one end of the bars of what started before.
  Result<Sketch> sketch(const NodeProcess& process, Level level, engines::Detail detail) const {
    Resolved resolved = *process.server;
    resolved.hardware = left_of(question_.hardware, process, resolved.hardware, taken_, level);
    return sketch_plan(resolved, detail);
  }

  Result<bool> serve(const NodeProcess& process, NodeStart& start) {
    TRY_ASSIGN(Sketch sketched, sketch(process, Level::likely, detail_));
    host_requirement(sketched.assessment);
    start.verdict = judge(sketched.assessment);
    const bool bars = std::any_of(start.found.begin(), start.found.end(),
                                  [](const ByteRange& r) { return !r.is_exact(); });
    if (bars) {
      TRY(widen(process, start.verdict));
    }
    const engines::Assessment& a = sketched.assessment;
    const engines::Ledger& held = held_ledger(a);
    for (size_t i = 0; i < process.devices.size(); ++i) {
      start.takes[i] = held.total(int(i));
      start.needs[i] = a.need.rows.empty() ? start.takes[i].likely : a.need.total(int(i)).likely;
    }
    start.host = held.total(kHost);
    start.host_peak = std::max(start.host.likely, a.peak.total(kHost).likely);
    if (detail_ == engines::Detail::full) {
      Plan plan;
      plan.resolved = *process.server;
      plan.resolved.hardware =
          left_of(question_.hardware, process, plan.resolved.hardware, taken_, Level::likely);
      plan.assessment = std::move(sketched.assessment);
      plan.verdict = start.verdict;
      start.plan = std::move(plan);
    }
    return true;
  }

  // What started before has bars of its own: a verdict that differs inside them is tight.
  Result<bool> widen(const NodeProcess& process, Verdict& verdict) const {
    if (verdict.outcome == Outcome::fits) {
      TRY_ASSIGN(const Sketch worst, sketch(process, Level::high, engines::Detail::verdict));
      if (worst.verdict.outcome == Outcome::fits) return true;
      const bool starts = verdict.starts;
      verdict = worst.verdict;
      verdict.outcome = Outcome::tight;
      verdict.starts = starts;
    } else if (rank(verdict.outcome) >= rank(Outcome::does_not_fit)) {
      TRY_ASSIGN(const Sketch best, sketch(process, Level::low, engines::Detail::verdict));
      if (rank(best.verdict.outcome) < rank(Outcome::does_not_fit))
        verdict.outcome = Outcome::tight;
    }
    return true;
  }

  // Engines that know when host memory kills them say so; for the rest it has to suffice.
  void host_requirement(engines::Assessment& a) const {
    if (question_.hardware.ram.count() <= 0) return;
    for (const engines::Requirement& r : a.requirements) {
      if (r.device == kHost) return;
    }
    const Bytes needed = std::max(held_ledger(a).total(kHost).likely, a.peak.total(kHost).likely);
    if (needed.count() == 0) return;
    engines::Requirement r;
    r.kind = engines::Requirement::Kind::out_of_memory;
    r.device = kHost;
    r.what = "host_memory";
    r.phase = "load";
    r.needed = ByteRange::exactly(needed);
    r.available = less(question_.hardware.ram, taken_.host);
    r.explanation = "the host needs " + format_bytes(needed) + " while it loads and has " +
                    format_bytes(r.available.likely) + " left";
    a.requirements.push_back(std::move(r));
  }

  void occupy(const NodeProcess& process, NodeStart& start) const {
    for (size_t i = 0; i < process.devices.size(); ++i) {
      start.takes[i] = ByteRange::exactly(process.takes);
      start.needs[i] = process.takes;
      if (process.takes <= start.found[i].low) continue;
      const bool surely = process.takes > start.found[i].high;
      refuse(start, surely, "memory",
             "it holds " + format_bytes(process.takes) + " of card " +
                 format_integer(int64_t(process.devices[i])) + ", where " +
                 format_bytes(start.found[i].likely) + " are free",
             process.takes - std::min(process.takes, start.found[i].likely));
    }
    start.host = ByteRange::exactly(process.host);
    start.host_peak = process.host;
    const Bytes ram = question_.hardware.ram;
    if (ram.count() > 0 && process.host > ram - taken_.host.likely) {
      refuse(start, true, "host_memory",
             "it holds " + format_bytes(process.host) + " of host memory, where " +
                 format_bytes(less(ram, taken_.host).likely) + " are free",
             process.host - less(ram, taken_.host).likely);
    }
  }

  static void refuse(NodeStart& start, bool surely, std::string what, std::string why,
                     Bytes shortfall) {
    if (rank(start.verdict.outcome) >= rank(Outcome::does_not_fit)) return;
    start.verdict.outcome = surely ? Outcome::does_not_fit : Outcome::tight;
    start.verdict.starts = !surely;
    start.verdict.binding = std::move(what);
    start.verdict.explanation = std::move(why);
    start.verdict.shortfall = shortfall;
  }

  const NodeQuestion& question_;
  engines::Detail detail_;
  Taken taken_;
  Bytes highest_host_;
};

// Verdicts of all, the worst deciding; of equally bad ones the first.
template <class Each>
Result<bool> run(const NodeQuestion& question, Planner& planner, const std::vector<size_t>& order,
                 Verdict& verdict, size_t& decides, const Each& each) {
  bool first = true;
  for (const size_t index : order) {
    auto start = planner.start(question.processes[index]);
    if (!start) {
      Error error = std::move(start.error());
      const std::string place = "processes[" + format_integer(int64_t(index)) + "]";
      error.where.source = error.where.source.empty() ? place : place + "." + error.where.source;
      return fail(std::move(error));
    }
    if (first || rank(start->verdict.outcome) > rank(verdict.outcome)) {
      verdict = start->verdict;
      decides = index;
      first = false;
    }
    each(std::move(*start));
  }
  return true;
}

std::vector<size_t> as_asked(const NodeQuestion& question) {
  std::vector<size_t> order(question.processes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

}  // namespace

Result<NodePlan> plan_node(const NodeQuestion& question) {
  NodePlan plan;
  Planner planner(question, engines::Detail::full);
  TRY(run(question, planner, as_asked(question), plan.verdict, plan.decides,
          [&](NodeStart start) { plan.starts.push_back(std::move(start)); }));
  plan.taken = planner.taken().devices;
  plan.host = planner.taken().host;
  plan.host_peak = planner.highest_host();
  if (plan.verdict.outcome != Outcome::fits) plan.changes = find_node_changes(question);
  return plan;
}

Result<Verdict> judge_node(const NodeQuestion& question, const NodeChange& change) {
  NodeQuestion changed = question;
  for (const NodeChange::Option& option : change.options) {
    NodeProcess& process = changed.processes[option.process];
    if (process.server) process.server->settings.options.set(option.name, option.value);
  }
  Verdict verdict;
  size_t decides = 0;
  Planner planner(changed, engines::Detail::verdict);
  TRY(run(changed, planner, change.order.empty() ? as_asked(changed) : change.order, verdict,
          decides, [](const NodeStart&) {}));
  return verdict;
}

}  // namespace vramwise::plan
