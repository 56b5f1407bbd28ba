// A question about a load, read whole: what is served, on what, to whom, and what is promised.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/note.h"
#include "base/result.h"
#include "json/reader.h"
#include "plan/plan.h"
#include "workload/lengths.h"
#include "workload/load.h"
#include "workload/occupancy.h"
#include "workload/run.h"
#include "workload/step_model.h"

namespace vramwise::workload {

struct Question {
  std::optional<plan::Plan> plan;  // absent: the scheduler and the step are given as they are
  std::unique_ptr<Trace> trace;
  Lengths lengths;
  std::optional<Arrivals> arrivals;
  Scheduler scheduler;
  int64_t replicas = 1;  // servers that share the load, data-parallel ones included
  int64_t stages = 1;    // of a pipeline: so many of the servers share one pool
  int64_t machines = 1;  // of the plan's hardware, where more were asked for
  Router router = Router::least_requests;
  bool router_given = false;
  std::optional<double> acceptance;  // of drafted tokens
  StepModel step;
  SloTarget slo;
  bool has_slo = false;
  double truncated_share = 0;       // requests longer than the server takes
  int64_t max_sequence_tokens = 0;  // what the server takes; 0: no limit known
  int64_t requests = 20000;         // of each repetition
  bool requests_given = false;
  uint64_t seed = 1;
  double price_per_hour = 0;  // the user's own; 0: from the catalog
  // Own cards: what their power costs, at the wall. 0: rented.
  double usd_per_kwh = 0;
  double pue = 1;          // power drawn by the room over that of the machine
  double utilisation = 1;  // share of the paid time that serves at this rate
  Notes notes;

  Setup setup(const Limits& limits) const;
  bool can_be_fast() const;
  // The step as a line, at the number of sequences that the load keeps busy.
  LinearStep line() const;
  // Tokens that one pool holds, whichever of its stages' batches they belong to.
  double pool_tokens() const {
    return double(scheduler.blocks - scheduler.watermark_blocks) * double(scheduler.block_tokens) *
           double(stages);
  }
  // Requests a second that the step's arithmetic allows, were memory and sequences no limit: no
  // rate that lasts is above it.
  double ceiling() const { return double(replicas) * saturation_rate(lengths.sample(), line()); }
  // Requests a second that the servers work off with as many running as the pool holds.
  double saturation() const;
};

// Lengths and, with them, the trace of a request's "workload". nullptr in `trace`: none.
Result<Lengths> read_lengths(const json::Reader& load, std::unique_ptr<Trace>& trace, Notes& notes);

// Errors: those of the readers, of the plan, and inconsistent where the plan cannot start.
Result<Question> read_question(const json::Reader& request);
// The same for a plan that was made already (searches over cards).
Result<bool> use_plan(Question& question, plan::Plan plan, const json::Reader& request);

}  // namespace vramwise::workload
