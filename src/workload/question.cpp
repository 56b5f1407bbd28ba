#include "workload/question.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "workload/calibrate.h"
#include "workload/jump_engine.h"
#include "workload/numbers.h"
#include "workload/read_scenario.h"
#include "workload/speculation.h"
#include "workload/step_parameters.h"

namespace vramwise::workload {
namespace {

constexpr int64_t kMaxRequests = 100'000'000;
constexpr int64_t kMaxServers = 256;
constexpr int64_t kServerRequests = 2000;
constexpr double kShortBlock = 300;  // seconds

Result<bool> read_slo(const json::Reader& request, Question& q) {
  const auto from = request.find("slo");
  if (!from) return true;
  if (!from->is_object()) {
    return fail(from->error(ErrorCode::invalid_input, "'slo' must be an object")
                    .hint("write \"slo\":{\"ttft_seconds\":1,\"tpot_seconds\":0.05}"));
  }
  TRY_ASSIGN(const auto ttft, from->optional_number({"ttft_seconds"}, 1e-6, 1e6));
  TRY_ASSIGN(const auto tpot, from->optional_number({"tpot_seconds"}, 1e-6, 1e6));
  TRY_ASSIGN(const auto share, from->optional_number({"quantile"}, 0.01, 0.9999));
  if (!ttft && !tpot) {
    return fail(from->error(ErrorCode::missing_field,
                            "the promise says nothing: neither "
                            "ttft_seconds nor tpot_seconds"));
  }
  if (ttft) q.slo.ttft = *ttft;
  if (tpot) q.slo.tpot = *tpot;
  if (share) q.slo.quantile = *share;
  q.has_slo = true;
  return true;
}

}  // namespace

Setup Question::setup(const Limits& limits) const {
  Setup s;
  s.scheduler = scheduler;
  s.time = step.time;
  s.lengths = &lengths;
  s.trace = trace.get();
  s.slo = slo;
  s.requests = requests;
  s.seed = seed;
  s.replicas = replicas;
  s.router = router;
  s.limits = limits;
  // Each server has to get steady.
  if (!requests_given) s.requests = std::max(s.requests, kServerRequests * replicas);
  // A recording is served whole unless somebody asks for less.
  if (!requests_given && trace)
    s.requests = std::max<int64_t>(requests, int64_t(trace->rows.size()));
  // Prefixes make every block a thing of its own: a tenth of the speed.
  if (!can_be_fast() && !requests_given) {
    s.requests = std::min(s.requests, std::max<int64_t>(4000, kServerRequests / 4 * replicas));
  }
  return s;
}

bool Question::can_be_fast() const { return can_jump(scheduler); }

LinearStep Question::line() const {
  const Held one = held_by_one(lengths.sample());
  const double pool = double(scheduler.blocks) * double(scheduler.block_tokens);
  const int64_t users = users_at(one, pool, 0.5, scheduler.max_sequences);
  LinearStep s = linear(step.time, std::max<int64_t>(1, users / 2), lengths.mean_prompt());
  s.per_prefill_token *= 1 - lengths.hit_share();
  // Of a token, where a step makes several.
  const double made = scheduler.made_per_step();
  s.fixed /= made;
  s.per_decode /= made;
  s.per_context_token /= made;
  return s;
}

double Question::saturation() const {
  const std::vector<Pair>& sample = lengths.sample();
  const double pool = pool_tokens() / double(stages);
  const int64_t users = users_at(held_by_one(sample), pool, 0.5, scheduler.max_sequences);
  const ClosedLoop full =
      closed_loop(sample, line(), std::max<int64_t>(1, users), 0, scheduler.batch_tokens);
  return double(replicas) * full.requests_per_second;
}

Result<Lengths> read_lengths(const json::Reader& load, std::unique_ptr<Trace>& trace,
                             Notes& notes) {
  if (const auto from = load.find("trace")) {
    if (!from->is_object()) {
      return fail(from->error(ErrorCode::invalid_input, "'trace' must be an object")
                      .hint("write \"trace\":{\"text\":\"arrival_seconds,prompt_tokens,…\"}"));
    }
    if (from->has("path") && !from->has("text")) {
      return fail(from->error(ErrorCode::unsupported, "files are not read through this door")
                      .hint("give the file's content as \"text\""));
    }
    TRY_ASSIGN(const json::Reader text, from->require({"text"}));
    if (!text.value().is_string()) {
      return fail(text.error(ErrorCode::invalid_input, "the trace's text must be a string"));
    }
    TRY_ASSIGN(const auto name, from->optional_string({"name"}));
    TraceColumns columns;
    if (const auto part = from->find("columns")) {
      TRY_ASSIGN(columns.prompt, part->require_string({"prompt"}));
      TRY_ASSIGN(columns.output, part->require_string({"output"}));
      TRY_ASSIGN(const auto arrival, part->optional_string({"arrival"}));
      columns.arrival = arrival.value_or("");
    }
    TRY_ASSIGN(Trace read, read_trace(text.value().as_string(), name.value_or("trace"), columns));
    if (read.failed > 0) {
      notes.warn("trace_failed_rows", format_grouped(read.failed) +
                                          " rows of the trace are of requests that failed and "
                                          "were left out");
    }
    if (read.priorities) {
      notes.warn("trace_priorities",
                 "the trace's priorities are not followed: requests are simulated first come, "
                 "first served");
    }
    if (read.no_output > 0) {
      notes.warn("trace_no_output", format_grouped(read.no_output) +
                                        " rows of the trace have an answer of 0 tokens and count "
                                        "as 1");
    }
    trace = std::make_unique<Trace>(std::move(read));
  }
  if (const auto lengths = load.find("lengths")) {
    return Lengths::read(*lengths, trace.get(), notes);
  }
  if (trace) {
    json::Value by_trace = json::Value::object();
    by_trace.set("kind", "trace");
    return Lengths::read(json::Reader(by_trace, "workload"), trace.get(), notes);
  }
  return fail(
      load.error(ErrorCode::missing_field, "the workload has no lengths")
          .hint("write \"lengths\":{\"kind\":\"preset\",\"name\":\"chat\"}, or give a trace"));
}

namespace {

// Whether requests begin alike, as far as the load says.
bool shares_text(const Question& q) {
  if (q.lengths.shared_tokens() > 0) return true;
  if (q.arrivals && q.arrivals->kind == Arrivals::Kind::sessions) return true;
  if (!q.trace) return false;
  return !q.trace->chains.empty() ||
         std::any_of(q.trace->rows.begin(), q.trace->rows.end(),
                     [](const TraceRow& row) { return row.prefix >= 0 || row.session >= 0; });
}

}  // namespace

Result<bool> use_plan(Question& q, plan::Plan plan, const json::Reader& request) {
  q.plan = std::move(plan);
  if (!q.plan->verdict.starts) {
    const int64_t justified = q.lengths.quantile_total(0.99);
    return fail(Error(ErrorCode::inconsistent,
                      "the server does not start, so there is nothing to simulate: " +
                          q.plan->verdict.explanation)
                    .at("hardware")
                    .hint("99 % of the requests stay within " + format_grouped(justified) +
                          " tokens: cap sequences there (--ctx " + format_integer(justified) + ")")
                    .hint("vramwise plan says what else would help"));
  }
  TRY_ASSIGN(q.scheduler, scheduler_of(*q.plan, q.notes));
  const int64_t own = replicas_of(*q.plan);
  q.replicas = q.machines * own;
  if (q.replicas > kMaxServers) {
    return fail(Error(ErrorCode::too_large,
                      "more than " + format_integer(kMaxServers) + " servers behind one router")
                    .at("replicas"));
  }
  q.stages = stages_of(*q.plan);
  if (q.stages > 1) {
    // A batch passes the stages one after the other, and each stage has another one meanwhile: so
    // many batches in flight, each with its part of the requests.
    q.replicas *= q.stages;
    q.scheduler.blocks = std::max<int64_t>(1, q.scheduler.blocks / q.stages);
    q.scheduler.max_sequences = ceil_div(q.scheduler.max_sequences, q.stages);
    q.notes.assume("pipeline", "the " + format_integer(q.stages) +
                                   " pipeline stages work on as many batches at a time, simulated "
                                   "with an equal part of the pool each; sends between stages are "
                                   "not counted");
  }
  if (own > 1 && q.stages == 1 && q.machines == 1 && !q.router_given) {
    TRY_ASSIGN(const EngineTraits traits, EngineTraits::load(q.plan->resolved.engine->name()));
    TRY_ASSIGN(q.router, router_of(traits.router));
  }
  q.max_sequence_tokens = q.plan->assessment.kv.max_sequence_tokens;
  const int64_t asked = q.plan->resolved.workload.sequence_tokens.count();
  if (asked > 0) q.max_sequence_tokens = std::min(asked, q.max_sequence_tokens);
  if (q.max_sequence_tokens > 0) {
    q.truncated_share = q.lengths.clip(q.max_sequence_tokens);
    if (q.truncated_share > 0) {
      q.notes.warn("truncated", format_fixed(q.truncated_share * 100, 2) +
                                    " % of the requests are longer than the " +
                                    format_grouped(q.max_sequence_tokens) +
                                    " tokens that the server takes and were cut");
    }
  }
  if (!request.find("step_time")) {
    TRY_ASSIGN(q.step, step_model(*q.plan, q.lengths.sample(), q.notes));
    TRY(apply_speculation(*q.plan, q.acceptance, q.scheduler, q.step, q.notes));
  }
  return true;
}

Result<Question> read_question(const json::Reader& request) {
  Question q;
  TRY(read_slo(request, q));
  TRY_ASSIGN(const auto count, request.optional_integer({"count"}, 100, kMaxRequests));
  q.requests_given = count.has_value();
  if (count) q.requests = *count;
  TRY_ASSIGN(const int64_t seed, request.integer_or({"seed"}, 1, 0));
  q.seed = uint64_t(seed);
  TRY_ASSIGN(q.acceptance, request.optional_number({"acceptance"}, 0, 1));
  TRY_ASSIGN(q.machines, request.integer_or({"replicas"}, 1, 1, kMaxServers));
  q.replicas = q.machines;
  TRY_ASSIGN(const auto router, request.optional_string({"router"}));
  if (router) {
    auto named = router_of(*router);
    if (!named) return fail(std::move(named.error()).at("router"));
    q.router = *named;
    q.router_given = true;
  }
  TRY_ASSIGN(const auto price, request.optional_number({"price_per_hour"}, 1e-6, 1e6));
  q.price_per_hour = price.value_or(0);
  if (const auto power = request.find("electricity")) {
    TRY_ASSIGN(const auto tariff, power->optional_number({"usd_per_kwh"}, 1e-6, 100));
    TRY_ASSIGN(const auto pue, power->optional_number({"pue"}, 1, 10));
    if (!tariff) {
      return fail(power->error(ErrorCode::missing_field, "electricity without usd_per_kwh")
                      .hint("write \"electricity\":{\"usd_per_kwh\":0.25,\"pue\":1.2}"));
    }
    q.usd_per_kwh = *tariff;
    q.pue = pue.value_or(1);
  }
  TRY_ASSIGN(const auto utilisation, request.optional_number({"utilisation"}, 0.001, 1));
  q.utilisation = utilisation.value_or(1);
  TRY_ASSIGN(const json::Reader load, request.require({"workload"}));
  TRY_ASSIGN(q.lengths, read_lengths(load, q.trace, q.notes));
  if (const auto arrivals = load.find("arrivals")) {
    TRY_ASSIGN(q.arrivals, Arrivals::read(*arrivals));
    if (q.arrivals->kind == Arrivals::Kind::trace) {
      if (!q.trace || !q.trace->has_arrivals) {
        return fail(arrivals
                        ->error(ErrorCode::missing_field,
                                q.trace ? "the trace has no times of arrival"
                                        : "arrivals of kind 'trace' without a trace")
                        .hint("give a rate: {\"kind\":\"poisson\",\"rate_per_second\":…}"));
      }
      if (q.arrivals->spread) spread_ticks(*q.trace);
      if (q.arrivals->block_seconds > 0) {
        if (q.trace->span() < 2 * q.arrivals->block_seconds) {
          return fail(arrivals
                          ->error(ErrorCode::inconsistent,
                                  "the recording lasts " +
                                      format_grouped(int64_t(q.trace->span())) +
                                      " s: no two pieces of " +
                                      format_grouped(int64_t(q.arrivals->block_seconds)) +
                                      " s to draw from")
                          .hint("take shorter pieces, or leave block_seconds (pieces=) out to "
                                "replay it as it is"));
        }
        if (q.arrivals->block_seconds < kShortBlock) {
          q.notes.warn("short_blocks",
                       "pieces of a recording under five minutes lose its slow drift: what is held "
                       "at p99 comes out too low");
        }
      }
    }
  }
  if (request.has("model") || request.has("line")) {
    TRY_ASSIGN(const plan::Request question, plan::read_request(request));
    q.notes.append(question.notes);
    TRY_ASSIGN(plan::Plan plan, plan::make_plan(question, plan::Levers::skip));
    TRY(use_plan(q, std::move(plan), request));
  } else if (!request.has("scheduler")) {
    return fail(request
                    .error(ErrorCode::missing_field,
                           "nothing to serve with: neither a model nor a scheduler")
                    .hint("give \"model\" and \"hardware\", or \"scheduler\" with its blocks"));
  }
  if (const auto part = request.find("scheduler")) {
    TRY(read_scheduler(*part, q.scheduler));
  }
  if (const auto part = request.find("step_time")) {
    if (const auto measured = part->find("measured")) {
      TRY(calibrate(*measured, q));
    } else {
      std::string unit = "seconds";
      TRY(read_step_time(*part, q.step.time, unit));
      if (unit != "seconds") {
        return fail(
            part->error(ErrorCode::unsupported, "a load is simulated in seconds, not in " + unit));
      }
      q.step.low_factor = q.step.high_factor = 1;
      q.step.validated = true;
    }
  }
  if (q.plan && shares_text(q)) TRY(switch_reuse_on(*q.plan, q.scheduler, q.notes));
  TRY(check(q.scheduler));
  return q;
}

}  // namespace vramwise::workload
