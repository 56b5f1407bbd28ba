#include "workload/calibrate.h"

#include <algorithm>

#include "base/text.h"
#include "workload/step_parameters.h"

namespace vramwise::workload {
namespace {

// Output tokens a second of a closed loop of equal requests, by simulation. Equal requests that
// started together go on in step: a window that opens in the middle of a round counts one round too
// many or too few, so it is many rounds long (as many as 40 trials of it leave time for).
constexpr int64_t kRounds = 200;
constexpr int64_t kFewestRounds = 20;
constexpr int64_t kRequests = 50'000;

Result<double> throughput(const StepTime& time, int64_t users, int32_t prompt, int32_t output,
                          int64_t batch_tokens) {
  const Lengths lengths = Lengths::fixed(prompt, output);
  Setup setup;
  setup.scheduler.blocks = int64_t{1} << 24;
  setup.scheduler.max_sequences = std::max<int64_t>(256, users);
  setup.scheduler.batch_tokens = std::max(batch_tokens, setup.scheduler.max_sequences);
  setup.time = time;
  setup.lengths = &lengths;
  setup.requests = std::min(kRounds * users, std::max(kRequests, kFewestRounds * users));
  setup.replications = 1;
  Arrivals arrivals;
  arrivals.kind = Arrivals::Kind::closed;
  arrivals.users = users;
  TRY_ASSIGN(const Run run, run_load(setup, arrivals));
  return run.meter.seconds() > 0 ? double(run.meter.output_tokens()) / run.meter.seconds() : 0;
}

}  // namespace

Result<bool> calibrate(const json::Reader& m, Question& q) {
  TRY_ASSIGN(const auto gap, m.optional_number({"inter_token_seconds"}, 1e-6, 100));
  TRY_ASSIGN(const auto ttft, m.optional_number({"ttft_seconds"}, 1e-6, 1000));
  TRY_ASSIGN(const auto rate, m.optional_number({"output_tokens_per_second"}, 1e-3, 1e9));
  TRY_ASSIGN(const int64_t users, m.integer_or({"users"}, 8, 2, 4096));
  if (!m.has("prompt") || !m.has("output")) {
    return fail(m.error(ErrorCode::missing_field,
                        "a measured speed needs the lengths that it was measured with")
                    .hint("add prompt and output tokens of a request (--measured "
                          "…,prompt=512,output=256)"));
  }
  TRY_ASSIGN(const int64_t prompt, m.require_integer({"prompt"}, 1, kMaxPrompt));
  TRY_ASSIGN(const int64_t output, m.require_integer({"output"}, 2, kMaxOutput));
  if (!gap || !ttft) {
    return fail(m.error(ErrorCode::missing_field,
                        "a calibration has inter_token_seconds and ttft_seconds of one user alone")
                    .hint("add output_tokens_per_second of a few users for the cost of each"));
  }
  const auto too_fast = [&](int64_t n) {
    q.notes.warn("calibration_fast",
                 "the measured throughput of " + format_integer(n) +
                     " users is above what their steps allow: drafts, or other requests than "
                     "the ones described");
  };
  StepTime t;
  t.fixed = *gap;
  t.per_prefill_token = std::max(*ttft - *gap, 1e-4) / double(prompt);
  double per_decode = 0;
  if (rate) {
    // The one slope left, by bisection: more a sequence means fewer tokens a second.
    double low = 0;
    double high = *gap;
    for (int i = 0; i < 18; ++i) {
      per_decode = (low + high) / 2;
      StepTime trial = t;
      trial.per_decode = per_decode;
      trial.fixed = *gap - per_decode;
      TRY_ASSIGN(const double x, throughput(trial, users, int32_t(prompt), int32_t(output),
                                            q.scheduler.batch_tokens));
      if (x > *rate) {
        low = per_decode;
      } else {
        high = per_decode;
      }
    }
    if (per_decode < *gap * 1e-4) too_fast(users);
  }
  t.per_decode = per_decode;
  t.fixed = *gap - per_decode;
  // A point of many users bends the line beyond the first one.
  int64_t known = users;
  if (const auto more = m.find("more")) {
    TRY_ASSIGN(const int64_t many, more->require_integer({"users"}, users + 1, 4096));
    TRY_ASSIGN(const auto many_rate,
               more->optional_number({"output_tokens_per_second"}, 1e-3, 1e9));
    if (!rate || !many_rate) {
      return fail(more->error(ErrorCode::missing_field,
                              "a third point needs the second one and its own tokens a second"));
    }
    t.many_decodes = users;
    double low = -per_decode;
    double high = 8 * *gap;
    for (int i = 0; i < 22; ++i) {
      t.per_decode_beyond = (low + high) / 2;
      TRY_ASSIGN(const double x,
                 throughput(t, many, int32_t(prompt), int32_t(output), q.scheduler.batch_tokens));
      (x > *many_rate ? low : high) = t.per_decode_beyond;
    }
    if (t.per_decode_beyond < -0.999 * per_decode) too_fast(many);
    known = many;
  }
  q.step.time = t;
  TRY_ASSIGN(const StepBar bar, StepBar::calibrated());
  q.step.low_factor = bar.low;
  q.step.high_factor = bar.high;
  q.step.validated = true;
  q.step.calibrated = true;
  q.step.source = "the user's own measurements";
  q.notes.assume("calibrated", "step times follow your measurements at 1 and " +
                                   format_integer(known) + " users; beyond " +
                                   format_integer(4 * known) +
                                   " users measure a point of more users");
  return true;
}

}  // namespace vramwise::workload
