// Occupancy and throughput in formulas: for sweeps, where a simulation would be too slow, and
// beside every simulation as its check. Exact in their assumptions (requests independent of each
// other, everybody's progress uniform), so the closed loop is good to a percent and open arrivals,
// where neither holds, are a screening.
//
// Measured error: docs/accuracy.md, "Workloads".
#pragma once

#include <cstdint>
#include <vector>

#include "workload/lengths.h"
#include "workload/scheduler.h"

namespace vramwise::workload {

// Tokens that one running request holds at a random instant: a request is seen in proportion to how
// long it stays, its progress is uniform. First three cumulants.
struct Held {
  double mean = 0, variance = 0, third = 0;
  double steps = 0;  // mean steps that a request stays
};
// `prefill_steps(P)` are the steps that a prompt of P tokens takes, one at least; the answer of O
// tokens adds O - 1.
struct PrefillSteps {
  double fixed = 1;
  double per_token = 0;
  double chunk = 0;  // tokens that a step computes at most; 0: whole prompts
  // What a prompt holds on average while it is computed: it grows by chunks.
  double held(double prompt) const {
    return chunk > 0 && prompt > chunk ? (prompt + chunk) / 2 : prompt;
  }
  double of(double prompt) const { return fixed + per_token * prompt; }
};
Held held_by_one(const std::vector<Pair>& sample, PrefillSteps prefill = {});
// Mean of what a running request keeps in a layer that looks back `window` tokens at most.
double held_within(const std::vector<Pair>& sample, double window);

// Quantile p of a sum with these cumulants: a shifted gamma through Wilson and Hilferty's cube
// root.
double gamma_quantile(double mean, double variance, double third, double p);
double normal_quantile(double mean, double variance, double p);

// Tokens that C users hold together at quantile p (closed loop without think time).
double held_by(const Held& one, int64_t users, double p);
// Most users whose p-quantile stays within `tokens`; at most `limit`.
int64_t users_at(const Held& one, double tokens, double p, int64_t limit);

// Coefficients of a step that is linear in everything: what the formulas work with.
struct LinearStep {
  double fixed = 0, per_decode = 0, per_context_token = 0, per_prefill_token = 0;
};
// The line through the step at 1 and at `decodes` sequences.
LinearStep linear(const StepTime& time, int64_t decodes, double mean_prompt);

struct ClosedLoop {
  double requests_per_second = 0;
  double step_seconds = 0;
  double decoding = 0;  // mean sequences that decode
  // Of the users, those whose request is in the system, and of these at most so many that run: the
  // tokens of a step let no more prompts start.
  double users = 0;
  double in_system_share = 1;
  double most_running = 0;
  PrefillSteps prefill;
  Held one;  // what each of them holds
  // Tokens held together at quantile p: a binomial number of users, each with an independent
  // amount.
  double tokens_at(double p) const;
};
// C users, mean think time Z, at most `batch_tokens` in a step. Throughput is monotone in what it
// needs, so bisection finds it.
ClosedLoop closed_loop(const std::vector<Pair>& sample, const LinearStep& step, int64_t users,
                       double think_seconds, int64_t batch_tokens);

// Open arrivals at a rate. Screening: the p99 of tokens held is typically 20 % low.
struct OpenLoop {
  double load = 0;  // share of the time that work beyond the fixed cost takes; < 1 is stable
  double prefill_share = 0;  // the part of it that prompts take
  bool stable = false;
  double step_seconds = 0;
  double in_system = 0;  // mean, and its variance
  double variance = 0;
  Held one;
  double tokens_at(double p) const;
};
OpenLoop open_loop(const std::vector<Pair>& sample, const LinearStep& step, double rate,
                   double gap_cv = 1);
// The rate at which the load becomes one.
double saturation_rate(const std::vector<Pair>& sample, const LinearStep& step);

}  // namespace vramwise::workload
