#include "workload/run.h"

#include <algorithm>

#include "workload/numbers.h"
#include "workload/step_engine.h"

namespace vramwise::workload {
namespace {

// Two-sided 95 % quantile of Student's t: the expansion of the normal's in powers of 1/degrees.
double student(double degrees) {
  constexpr double z = 1.959963984540054;
  constexpr double z3 = z * z * z;
  constexpr double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

// Mean of the repetitions and the half width of its 95 % interval.
Figure figure(const std::vector<double>& values) {
  Figure f;
  if (values.empty()) return f;
  for (const double v : values) f.value += v;
  f.value /= double(values.size());
  if (values.size() < 2) return f;
  double square = 0;
  for (const double v : values) square += (v - f.value) * (v - f.value);
  const double degrees = double(values.size() - 1);
  f.half_width = student(degrees) * square_root(square / degrees / double(values.size()));
  return f;
}

// A tenth of a run warms the server, and no more than this: who stops a long run sees what it
// knows.
constexpr int64_t kMostWarmRequests = 200'000;

int64_t warm_steps(const Lengths& lengths) {
  double o = 0;
  double square = 0;
  for (const Pair& pair : lengths.sample()) {
    o += pair.output;
    square += double(pair.output) * pair.output;
  }
  return int64_t(4 * square / std::max(o, 1.0));
}

}  // namespace

double Run::uncertainty() const {
  double most = 0;
  for (const Figure& f : {occupancy_p99, ttft_p99, throughput}) {
    if (f.value > 0) most = std::max(most, f.half_width / f.value);
  }
  return most;
}

namespace {

// People and conversations stay with their server: each server runs its part of the load.
Result<Totals> run_parts(const Setup& setup, const Arrivals& arrivals, int64_t requests,
                         uint64_t repetition, std::vector<Meter>& meters) {
  const int64_t servers = int64_t(meters.size());
  Totals sum;
  for (int64_t k = 0; k < servers; ++k) {
    Arrivals part = arrivals;
    part.rate = arrivals.rate / double(servers);
    part.users = arrivals.users / servers + (k < arrivals.users % servers ? 1 : 0);
    const bool recorded = arrivals.kind == Arrivals::Kind::trace;
    LoadSource source(*setup.lengths, part, setup.trace,
                      recorded ? requests : std::max<int64_t>(1, requests / servers), setup.seed,
                      repetition * uint64_t(servers) + uint64_t(k), {k, servers});
    TRY_ASSIGN(const Totals totals, run_engine(setup.scheduler, setup.time, source,
                                               &meters[size_t(k)], nullptr, setup.limits));
    sum.add(totals);
    if (totals.stopped) break;
  }
  return sum;
}

Result<Totals> run_once(const Setup& setup, const Arrivals& arrivals, int64_t requests,
                        uint64_t repetition, std::vector<Meter>& meters) {
  if (meters.size() > 1 && follows_answers(arrivals, setup.trace)) {
    return run_parts(setup, arrivals, requests, repetition, meters);
  }
  LoadSource source(*setup.lengths, arrivals, setup.trace, requests, setup.seed, repetition);
  if (meters.size() == 1) {
    return run_engine(setup.scheduler, setup.time, source, &meters[0], nullptr, setup.limits);
  }
  return run_replicas(setup.scheduler, setup.time, source, setup.router, meters, setup.limits);
}

}  // namespace

Result<Run> run_load(const Setup& setup, const Arrivals& arrivals) {
  const Scheduler& s = setup.scheduler;
  int64_t requests = setup.requests;
  int64_t replications = std::max<int64_t>(1, setup.replications);
  const bool resamples = arrivals.kind == Arrivals::Kind::trace && arrivals.block_seconds > 0;
  if (arrivals.kind == Arrivals::Kind::trace && !resamples) {
    // A recording is what it is.
    requests = std::min<int64_t>(requests, int64_t(setup.trace->rows.size()));
    replications = 1;
  }
  if (arrivals.kind == Arrivals::Kind::closed) {
    requests = std::max(requests, 4 * arrivals.users);
  }
  int64_t steps = std::min<int64_t>(warm_steps(*setup.lengths), 200000);
  // A recording is over when it is over: the warm-up must not eat it.
  if (arrivals.kind == Arrivals::Kind::trace) steps = 0;
  // Fewer requests than it takes to get steady are measured whole.
  int64_t servers = std::max<int64_t>(1, setup.replicas);
  // Nobody waits for a server that has no users.
  if (arrivals.kind == Arrivals::Kind::closed) servers = std::min(servers, arrivals.users);
  bool whole = requests < 100 * servers;
  const auto meter = [&] {
    const int64_t warm = std::min(requests / 10, kMostWarmRequests) / servers;
    return Meter(s.blocks, s.max_sequences, whole ? -1 : warm, steps, setup.slo);
  };
  const auto nothing = [&] { return Run{meter(), {}, {}, {}, {}, {}, 0, servers, false, whole}; };
  Run run = nothing();
  std::vector<double> occupancy, ttft, throughput;
  const auto measure = [&] {
    run.occupancy_p99 = figure(occupancy);
    run.ttft_p99 = figure(ttft);
    run.throughput = figure(throughput);
  };
  // Another one beyond those asked for?
  const auto goes_on = [&] {
    if (setup.precision <= 0 || replications < 2) return false;
    measure();
    return run.uncertainty() > setup.precision &&
           run.totals.requests + requests <= setup.most_requests;
  };
  const Limits& limits = setup.limits;
  for (int64_t r = 0; r < replications || goes_on(); ++r) {
    // Runs of a search may each be too short for the engine to look up.
    if (limits.keep_going != nullptr && !limits.keep_going(limits.context, 0)) {
      run.stopped = true;
      break;
    }
    std::vector<Meter> meters(size_t(servers), meter());
    Setup once = setup;
    Trace drawn;
    if (resamples) {
      Random random(setup.seed, Stream::arrivals, uint64_t(r));
      drawn = resampled(*setup.trace, arrivals.block_seconds, requests, random);
      once.trace = &drawn;
    }
    TRY_ASSIGN(const Totals totals, run_once(once, arrivals, requests, uint64_t(r), meters));
    Meter& one = meters[0];
    for (size_t k = 1; k < meters.size(); ++k) one.merge(meters[k]);
    if (r == 0 && !whole && one.seconds() <= 0 && !totals.stopped) {
      // All had arrived before the server was warm: far more than it can serve. Nothing but the
      // whole of it can be measured.
      whole = true;
      run = nothing();
      r = -1;
      continue;
    }
    run.meter.merge(one);
    if (r == 0) run.timeline = one.timeline();
    run.totals.add(totals);
    occupancy.push_back(one.occupancy().quantile(0.99));
    ttft.push_back(one.ttft().quantile(0.99));
    throughput.push_back(
        one.seconds() > 0 ? double(servers) * double(one.finished()) / one.seconds() : 0);
    ++run.replications;
    if (totals.stopped) {
      run.stopped = true;
      break;
    }
  }
  measure();
  return run;
}

Result<Goodput> find_goodput(const Setup& setup, Arrivals arrivals, double most) {
  Setup one = setup;
  // Four short repetitions: the share within a promise hangs on bursts, and one run has few of
  // them.
  one.replications = 4;
  one.requests = std::max<int64_t>(1000, setup.requests / 2);
  Goodput best;
  double low = 0;
  double high = most;
  const auto share_at = [&](double rate) -> Result<double> {
    arrivals.rate = rate;
    const auto done = run_load(one, arrivals);
    // More waiting than a run keeps track of: the server is far behind.
    if (!done && done.error().code == ErrorCode::too_large) return 0.0;
    TRY_ASSIGN(const Run run, done);
    best.stopped = run.stopped;
    // Over before it was steady: the server is far behind.
    if (run.whole && one.requests >= 100 * setup.replicas) return 0.0;
    const Meter& m = run.meter;
    // A server so far behind that nothing finishes in the window keeps no promise.
    return m.requests() > 0 ? double(m.within_slo()) / double(m.requests()) : 0;
  };
  TRY_ASSIGN(const double at_most, share_at(most));
  if (best.stopped) return best;
  if (at_most >= setup.slo.quantile) return Goodput{most, at_most, false, false};
  for (int i = 0; i < 11; ++i) {
    const double middle = (low + high) / 2;
    TRY_ASSIGN(const double share, share_at(middle));
    // Half a run says nothing about its rate.
    if (best.stopped) break;
    if (share >= setup.slo.quantile) {
      low = middle;
      best.rate = middle;
      best.share = share;
    } else {
      high = middle;
    }
  }
  return best;
}

}  // namespace vramwise::workload
