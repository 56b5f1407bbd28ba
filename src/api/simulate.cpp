#include "api/simulate.h"

#include <algorithm>

#include "api/answer.h"
#include "api/load_blocks.h"
#include "base/text.h"
#include "plan/sentence.h"
#include "workload/held_sum.h"
#include "workload/question.h"

namespace vramwise::api {
namespace {

using json::Value;
using workload::Arrivals;
using workload::Cause;
using workload::LogHistogram;
using workload::Meter;
using workload::Question;
using workload::Run;

// A figure is known when its 95 % interval is within this share of it; a simulation is lengthened
// until all are, as far as an answer in about a second allows.
constexpr double kPrecision = 0.03;
constexpr int64_t kMostRequests = 3'000'000;
constexpr int64_t kMostRepetitions = 24;
// Fewer finished of those that came: the server falls behind.
constexpr double kKeptUp = 0.95;

double rounded(double x, double scale = 1e6) {
  return double(int64_t(x * scale + (x < 0 ? -0.5 : 0.5))) / scale;
}

Value spread(const LogHistogram& h) {
  Value block = Value::object();
  block.set("mean", rounded(h.mean()));
  block.set("p50", rounded(h.quantile(0.5)));
  block.set("p95", rounded(h.quantile(0.95)));
  block.set("p99", rounded(h.quantile(0.99)));
  return block;
}

Value occupancy_block(const Question& q, const Run& run) {
  const double pool = double(q.scheduler.blocks);
  const auto& h = run.meter.occupancy();
  Value block = Value::object();
  block.set("mean", rounded(h.mean() / pool));
  block.set("p50", rounded(std::min(1.0, h.quantile(0.5) / pool)));
  block.set("p95", rounded(std::min(1.0, h.quantile(0.95) / pool)));
  block.set("p99", rounded(std::min(1.0, h.quantile(0.99) / pool)));
  block.set("p99_half_width", rounded(run.occupancy_p99.half_width / pool));
  block.set("peak", rounded(double(run.totals.peak_blocks) / pool));
  block.set("tokens_p50", int64_t(run.meter.held(0.5)));
  block.set("tokens_p95", int64_t(run.meter.held(0.95)));
  block.set("tokens_p99", int64_t(run.meter.held(0.99)));
  return block;
}

// Occupancy along the first repetition, in at most `points` steps.
Value timeline_block(const Question& q, const Run& run, size_t points) {
  const auto& buckets = run.timeline.buckets();
  const double pool = double(q.scheduler.blocks);
  const size_t together = std::max<size_t>(1, (buckets.size() + points - 1) / points);
  Value mean = Value::array(), low = Value::array(), high = Value::array(),
        waiting = Value::array();
  for (size_t i = 0; i < buckets.size(); i += together) {
    double seconds = 0, weighted = 0, queued = 0;
    int64_t least = 0, most = 0;
    for (size_t k = i; k < std::min(buckets.size(), i + together); ++k) {
      const auto& b = buckets[k];
      if (b.seconds <= 0) continue;
      least = seconds > 0 ? std::min(least, b.least) : b.least;
      most = std::max(most, b.most);
      seconds += b.seconds;
      weighted += b.weighted;
      queued += b.waiting;
    }
    mean.push(seconds > 0 ? rounded(weighted / seconds / pool, 1e4) : 0.0);
    low.push(rounded(double(least) / pool, 1e4));
    high.push(rounded(double(most) / pool, 1e4));
    waiting.push(seconds > 0 ? rounded(queued / seconds, 1e2) : 0.0);
  }
  Value block = Value::object();
  block.set("seconds_per_point", run.timeline.bucket_seconds() * double(together));
  block.set("mean", std::move(mean));
  block.set("low", std::move(low));
  block.set("high", std::move(high));
  block.set("waiting", std::move(waiting));
  return block;
}

Value waiting_block(const Run& run) {
  const Meter& m = run.meter;
  const double n = double(std::max<int64_t>(1, m.requests()));
  Value block = Value::object();
  block.set("share", rounded(double(m.waited()) / n));
  Value causes = Value::object();
  causes.set("memory", rounded(double(m.waited_for(Cause::memory)) / n));
  causes.set("sequences", rounded(double(m.waited_for(Cause::sequences)) / n));
  causes.set("budget", rounded(double(m.waited_for(Cause::budget)) / n));
  block.set("causes", std::move(causes));
  block.set("queue_seconds", spread(m.queue()));
  block.set("mean_queue", rounded(m.mean_waiting() * double(run.servers), 1e3));
  return block;
}

Value throughput_block(const Run& run) {
  const Meter& m = run.meter;
  const double seconds = std::max(m.seconds() / double(run.servers), 1e-12);
  Value block = Value::object();
  block.set("requests_per_second", rounded(double(m.finished()) / seconds, 1e4));
  block.set("output_tokens_per_second", rounded(double(m.output_tokens()) / seconds, 1e1));
  block.set("total_tokens_per_second",
            rounded(double(m.output_tokens() + m.prefill_tokens()) / seconds, 1e1));
  block.set("half_width", rounded(run.throughput.half_width, 1e4));
  return block;
}

std::string seconds_text(double s) {
  return s < 0.1 ? format_fixed(s * 1000, s < 0.01 ? 1 : 0) + " ms"
                 : format_fixed(s, s < 10 ? 2 : 0) + " s";
}

std::string promise_text(const Question& q) {
  std::string text;
  if (q.slo.ttft < workload::kNever) text += "first token within " + seconds_text(q.slo.ttft);
  if (q.slo.tpot < workload::kNever) {
    text += (text.empty() ? "" : " and ") + seconds_text(q.slo.tpot) + " a token";
  }
  return text + " for " + format_fixed(q.slo.quantile * 100, q.slo.quantile > 0.99 ? 1 : 0) + " %";
}

// What is asked: a load as given, else the highest rate within the promise, else 70 % of
// saturation.
struct Asked {
  Arrivals arrivals;
  std::optional<RateBar> bar;
};

Result<Asked> what_is_asked(Question& q, const workload::Limits& limits, double saturation) {
  Asked asked;
  if (q.has_slo) {
    TRY_ASSIGN(asked.bar, rate_bar(q, limits));
  }
  if (q.arrivals && (!q.arrivals->is_open() || q.arrivals->rate > 0 ||
                     q.arrivals->kind == Arrivals::Kind::trace)) {
    asked.arrivals = *q.arrivals;
  } else if (asked.bar && asked.bar->likely.rate > 0) {
    asked.arrivals = arrivals_at(q, asked.bar->likely.rate);
  } else if (q.trace && q.trace->has_arrivals) {
    asked.arrivals.kind = Arrivals::Kind::trace;
    workload::spread_ticks(*q.trace);
  } else {
    asked.arrivals = arrivals_at(q, 0.7 * saturation);
    q.notes.assume("rate",
                   "no rate of arrival was given: simulated at 70 % of the rate that "
                   "saturates the server");
  }
  return asked;
}

double served_rate(const Run& run) {
  const double seconds = std::max(run.meter.seconds() / double(run.servers), 1e-12);
  return double(run.meter.finished()) / seconds;
}

// Whether the queue grew through the whole run: most wait, and fewer leave than come. A run that
// counts its drain says nothing about that.
bool falls_behind(const Run& run) {
  const Meter& m = run.meter;
  return !run.whole && 2 * m.waited() > m.requests() &&
         double(m.finished()) < kKeptUp * double(m.requests());
}

Value simulate_block(Question& q, const Asked& asked, const Run& run, double saturation,
                     const workload::LinearStep& line) {
  const Meter& m = run.meter;
  Value block = Value::object();
  const double seconds = std::max(m.seconds() / double(run.servers), 1e-12);
  const double served = served_rate(run);
  // Stopped before anything was measured: nothing is known to limit or to be kept.
  const std::string limit = m.requests() > 0 ? limiting(q, run) : "nothing yet";
  const std::string on = place_text(q);
  Value users = users_block(q);
  const auto count = [&](std::string_view key) {
    const Value* found = users.find(key);
    return found != nullptr ? found->as_integer() : 0;
  };
  const auto price = hourly_price(q);
  std::string sentence;
  double rate = served, low = served, high = served;
  if (asked.bar) {
    rate = asked.bar->likely.rate;
    low = asked.bar->low;
    high = asked.bar->high;
    if (asked.bar->likely.stopped) {
      sentence = rate > 0 ? format_fixed(rate, rate < 10 ? 2 : 1) + " requests/s at least keep " +
                                promise_text(q) + on
                          : "The search for a rate that keeps " + promise_text(q) + on +
                                " had not come to one";
    } else if (rate <= 0) {
      sentence = "No rate keeps " + promise_text(q) + on;
    } else {
      sentence = format_fixed(rate, rate < 10 ? 2 : 1) + " requests/s";
      if (!asked.bar->stopped) {
        sentence += " (" + format_fixed(low, 1) + " to " + format_fixed(high, 1) + ")";
      }
      sentence += " keep " + promise_text(q) + on;
    }
  } else {
    sentence = format_fixed(served, served < 10 ? 2 : 1) + " requests/s, " +
               format_grouped(int64_t(double(m.output_tokens()) / seconds)) + " answer tokens/s" +
               on + ", first token " + seconds_text(m.ttft().quantile(0.5)) + " (p99 " +
               seconds_text(m.ttft().quantile(0.99)) + ")";
  }
  sentence += "; room for " + format_grouped(count("p99")) + " users at p99 of occupancy";
  if (count("worst_case") > 0) {
    sentence += ", " + format_grouped(count("worst_case")) + " if all took " +
                format_grouped(count("worst_case_tokens")) + " tokens";
  }
  Value cost;
  if (price && rate > 0) {
    cost = cost_block(q, *price, rate, low, high);
    sentence += "; $" + format_fixed(cost.find("usd_per_million_output_tokens")->as_double(), 2) +
                " per million answer tokens";
  }
  if (limit != "nothing yet") sentence += "; limited by " + limit;
  if (run.stopped || (asked.bar && asked.bar->stopped)) sentence = std::string(kStopped) + sentence;
  block.set("answer", sentence);
  block.set("limited_by", limit);
  if (!q.step.validated) {
    block.set("caveat",
              "the step time of this memory and engine is unvalidated: read rates and costs as the "
              "range that is given");
  }
  block.set("lengths", lengths_block(q.lengths, q.scheduler.block_tokens));
  Value load = Value::object();
  load.set("kind", workload::to_string(asked.arrivals.kind));
  if (asked.arrivals.kind == Arrivals::Kind::closed) {
    load.set("users", asked.arrivals.users);
  } else if (asked.arrivals.rate > 0) {
    load.set("rate_per_second", rounded(asked.arrivals.rate, 1e4));
    load.set("load", rounded(asked.arrivals.rate / saturation, 1e4));
  }
  if (asked.arrivals.kind == Arrivals::Kind::trace && asked.arrivals.block_seconds > 0) {
    load.set("block_seconds", asked.arrivals.block_seconds);
  }
  load.set("saturation_rate_per_second", rounded(saturation, 1e4));
  block.set("load", std::move(load));
  block.set("users", std::move(users));
  if (asked.bar) {
    Value goodput = Value::object();
    goodput.set("rate_per_second", rounded(rate, 1e4));
    goodput.set("low", rounded(low, 1e4));
    goodput.set("high", rounded(high, 1e4));
    if (!asked.bar->likely.bounded) goodput.set("bounded", false);
    // Servers of this kind that keep the promise together at the rate that was asked for.
    if (q.arrivals && q.arrivals->is_open() && asked.arrivals.rate > 0 && rate > 0) {
      const double servers = asked.arrivals.rate / (rate / double(q.machines));
      goodput.set("replicas", int64_t(servers) + (servers > double(int64_t(servers)) ? 1 : 0));
    }
    block.set("goodput", std::move(goodput));
  }
  block.set("occupancy", occupancy_block(q, run));
  block.set("timeline", timeline_block(q, run, 128));
  block.set("mean_running", rounded(m.mean_running() * double(run.servers), 1e2));
  if (q.replicas > q.stages) {
    Value servers = Value::object();
    servers.set("count", q.replicas / q.stages);
    if (workload::follows_answers(asked.arrivals, q.trace.get())) {
      servers.set("split", asked.arrivals.kind == Arrivals::Kind::closed
                               ? "people stay with their server"
                               : "conversations stay with their server");
    } else {
      servers.set("router", workload::to_string(q.router));
    }
    block.set("servers", std::move(servers));
  }
  block.set("waiting", waiting_block(run));
  block.set(
      "preemptions_per_1000",
      rounded(1000.0 * double(m.preemptions()) / double(std::max<int64_t>(1, m.finished())), 1e2));
  block.set("recomputed_share", rounded(double(m.recomputed_tokens()) /
                                        double(std::max<int64_t>(1, m.computed_tokens()))));
  if (q.scheduler.prefix_caching) {
    block.set("prefix_hit_share",
              rounded(double(m.hit_tokens()) / double(std::max<int64_t>(1, m.prompt_tokens()))));
  }
  Value ttft = spread(m.ttft());
  ttft.set("p99_half_width", rounded(run.ttft_p99.half_width));
  block.set("ttft_seconds", std::move(ttft));
  block.set("inter_token_seconds", spread(m.gaps()));
  block.set("tpot_seconds", spread(m.tpot()));
  block.set("throughput", throughput_block(run));
  if (q.has_slo && (m.requests() > 0 || !run.stopped)) {
    Value slo = Value::object();
    if (q.slo.ttft < workload::kNever) slo.set("ttft_seconds", q.slo.ttft);
    if (q.slo.tpot < workload::kNever) slo.set("tpot_seconds", q.slo.tpot);
    slo.set("quantile", q.slo.quantile);
    // Asked for a rate: does it keep the promise? Asked for the rate: is there one?
    const double within = double(m.within_slo()) / double(std::max<int64_t>(1, m.requests()));
    block.set("meets", q.arrivals ? within >= q.slo.quantile : rate > 0);
    slo.set("share", rounded(double(m.within_slo()) / double(std::max<int64_t>(1, m.requests()))));
    if (q.slo.ttft < workload::kNever) {
      slo.set("ttft_share", rounded(m.ttft().share_below(q.slo.ttft), 1e4));
    }
    if (q.slo.tpot < workload::kNever) {
      slo.set("tpot_share", rounded(m.tpot().share_below(q.slo.tpot), 1e4));
    }
    block.set("slo", std::move(slo));
  }
  if (!cost.is_null()) block.set("cost", std::move(cost));
  block.set("step_time", step_block(q));
  // The formulas beside the simulation: exact enough in a closed loop, a screening for open
  // arrivals.
  Value formulas = Value::object();
  const double of = double(q.replicas);  // the formulas are of one server
  if (asked.arrivals.kind == Arrivals::Kind::closed) {
    const int64_t users = ceil_div(asked.arrivals.users, q.replicas);
    const auto loop = workload::closed_loop(
        q.lengths.sample(), line, users, asked.arrivals.think.average(), q.scheduler.batch_tokens);
    // Who comes back from thinking comes in bunches that the formula does not know.
    if (asked.arrivals.think.average() > 0) formulas.set("screening", true);
    formulas.set("requests_per_second", rounded(of * loop.requests_per_second, 1e4));
    const auto tokens = [&](double p) {
      return int64_t(workload::tokens_at(loop, q.lengths.sample(), p));
    };
    formulas.set("tokens_p95", tokens(0.95));
    formulas.set("tokens_p99", tokens(0.99));
  } else if (asked.arrivals.rate > 0) {
    const auto loop =
        workload::open_loop(q.lengths.sample(), line, asked.arrivals.rate / of, asked.arrivals.cv);
    formulas.set("screening", true);
    formulas.set("load", rounded(loop.load, 1e4));
    formulas.set("stable", loop.stable);
    if (loop.stable) {
      formulas.set("step_seconds", rounded(loop.step_seconds));
      formulas.set("in_system", rounded(loop.in_system, 1e2));
      formulas.set("tokens_p50", int64_t(loop.tokens_at(0.5)));
      formulas.set("tokens_p95", int64_t(loop.tokens_at(0.95)));
      formulas.set("tokens_p99", int64_t(loop.tokens_at(0.99)));
    }
  }
  block.set("formulas", std::move(formulas));
  Value ran = Value::object();
  ran.set("requests", run.totals.requests);
  ran.set("replications", run.replications);
  ran.set("seed", int64_t(q.seed));
  ran.set("steps", run.totals.steps);
  ran.set("preemptions", run.totals.preemptions);
  ran.set("rejected", run.totals.rejected);
  if (q.truncated_share > 0) ran.set("truncated_share", rounded(q.truncated_share));
  if (run.replications > 1) ran.set("half_width_share", rounded(run.uncertainty(), 1e4));
  if (run.stopped) ran.set("stopped", true);
  block.set("run", std::move(ran));
  return block;
}

}  // namespace

Result<Value> simulate(const json::Reader& request, const Value& id, const Observer& observer) {
  Value answer = answer_head(id);
  const auto load = request.find("workload");
  if (load && load->has("requests")) {
    TRY_ASSIGN(Value block, simulate_scenario(request, observer));
    answer.set("simulate", std::move(block));
    return answer;
  }
  TRY_ASSIGN(Question q, workload::read_question(request));
  const workload::Limits limits = limits_of(observer);
  const workload::LinearStep line = q.line();
  double saturation = q.saturation();
  TRY_ASSIGN(const Asked asked, what_is_asked(q, limits, saturation));
  workload::Setup setup = q.setup(limits);
  if (!q.requests_given) {
    setup.precision = kPrecision;
    setup.most_requests = q.can_be_fast() ? kMostRequests : kMostRepetitions * setup.requests;
  }
  TRY_ASSIGN(const Run run, run_load(setup, asked.arrivals));
  if (q.plan) {
    answer.set("model", model_block(*q.plan->resolved.model, *q.plan->resolved.weights));
    Value engine = Value::object();
    engine.set("name", q.plan->resolved.engine->name());
    answer.set("engine", std::move(engine));
  }
  if (run.whole) {
    q.notes.warn("short_load",
                 run.totals.requests < 100 * run.replications
                     ? "fewer than 100 requests: everything counts, the empty start and the drain "
                       "included"
                     : "the load was over before the server was warm: everything counts, the empty "
                       "start and the drain included");
  }
  // Evictions and recomputed prompts are no part of the formula: what was measured at the limit is.
  const bool behind = asked.arrivals.is_open() && asked.arrivals.rate > 0 && falls_behind(run);
  if (behind) saturation = served_rate(run);
  if (behind || (asked.arrivals.is_open() && asked.arrivals.rate > saturation)) {
    q.notes.warn("overload",
                 "more requests arrive than the server can work off (" +
                     format_fixed(saturation, saturation < 10 ? 2 : 1) +
                     " a second): the queue grows as long as the load lasts, so waiting "
                     "depends on how long that is");
  }
  answer.set("simulate", simulate_block(q, asked, run, saturation, line));
  if (q.plan) q.notes.append(q.plan->assessment.notes);
  answer.set("assumptions", notes_block(q.notes.assumptions));
  answer.set("warnings", notes_block(q.notes.warnings));
  return answer;
}

}  // namespace vramwise::api
