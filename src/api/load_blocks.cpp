#include "api/load_blocks.h"

#include <algorithm>

#include "base/text.h"
#include "plan/sentence.h"
#include "workload/held_sum.h"

namespace vramwise::api {

using json::Value;
using workload::Arrivals;
using workload::Question;

namespace {

// Three digits are more than any of these figures deserve.
double rounded(double x) {
  if (x <= 0) return 0;
  double scale = 1;
  while (x * scale < 1000) scale *= 10;
  return double(int64_t(x * scale + 0.5)) / scale;
}

Value quantiles(int64_t p50, int64_t p95, int64_t p99, double mean) {
  Value block = Value::object();
  block.set("mean", rounded(mean));
  block.set("p50", p50);
  block.set("p95", p95);
  block.set("p99", p99);
  return block;
}

}  // namespace

Value lengths_block(const workload::Lengths& l, int64_t block_tokens) {
  Value block = Value::object();
  block.set("name", l.name());
  if (l.rows() > 0) block.set("requests", l.rows());
  if (!l.source().empty()) block.set("source", l.source());
  block.set("prompt", quantiles(l.quantile_prompt(0.5), l.quantile_prompt(0.95),
                                l.quantile_prompt(0.99), l.mean_prompt()));
  block.set("output", quantiles(l.quantile_output(0.5), l.quantile_output(0.95),
                                l.quantile_output(0.99), l.mean_output()));
  Value total = quantiles(l.quantile_total(0.5), l.quantile_total(0.95), l.quantile_total(0.99),
                          l.mean_prompt() + l.mean_output());
  const auto [low, high] = l.total_interval(0.99);
  total.set("p99_low", low);
  total.set("p99_high", high);
  total.set("most", l.quantile_total(1));
  block.set("total", std::move(total));
  // Fewer than 300 requests say nothing about their 99th percentile.
  if (l.rows() == 0 || l.rows() >= 300) {
    const int64_t bs = std::max<int64_t>(1, block_tokens);
    block.set("max_sequence_tokens_p99", ceil_div(l.quantile_total(0.99), bs) * bs);
  } else {
    block.set("note", "fewer than 300 requests: the 99th percentile cannot be estimated");
  }
  return block;
}

Value users_block(const Question& q) {
  // The last block of each is half empty on average.
  const double beside = double(q.scheduler.block_tokens - 1) / 2;
  const double pool = q.pool_tokens();
  const int64_t pools = q.replicas / q.stages;
  // Each server holds its part of the users.
  const int64_t most = q.replicas * q.scheduler.max_sequences;
  Value block = Value::object();
  const auto at = [&](double p) {
    return pools * workload::users_at(q.lengths.sample(), beside, pool, p, 1 << 20);
  };
  const int64_t p50 = at(0.5), p95 = at(0.95), p99 = at(0.99);
  block.set("p50", std::min(p50, most));
  block.set("p95", std::min(p95, most));
  block.set("p99", std::min(p99, most));
  if (p99 > most) {
    block.set("by_memory_p99", p99);
    block.set("limited_by", "max_sequences");
  }
  if (q.max_sequence_tokens > 0) {
    block.set("worst_case", std::min(most, pools * (int64_t(pool) / q.max_sequence_tokens)));
    block.set("worst_case_tokens", q.max_sequence_tokens);
  }
  const int64_t p99_length = q.lengths.quantile_total(0.99);
  block.set("worst_case_at_p99_length",
            std::min(most, pools * (int64_t(pool) / std::max<int64_t>(1, p99_length))));
  block.set("tokens_per_user", rounded(workload::held_by_one(q.lengths.sample()).mean + beside));
  if (q.lengths.hit_share() > 0) {
    // The other end: everybody's hits are one and the same text, held once.
    std::vector<workload::Pair> own = q.lengths.sample();
    for (workload::Pair& pair : own) {
      pair.prompt -= int32_t(q.lengths.hit_share() * pair.prompt);
    }
    block.set("p99_if_hits_are_one_text",
              std::min(most, pools * workload::users_at(own, beside, pool, 0.99, 1 << 20)));
  }
  return block;
}

namespace {

// Where a step of the asked users goes (one, unless a closed loop was asked).
Value parts_block(const Question& q, int64_t tokens_each) {
  const int64_t users = q.arrivals && q.arrivals->kind == Arrivals::Kind::closed
                            ? std::min(q.arrivals->users, q.scheduler.max_sequences)
                            : 1;
  const workload::StepParts p = q.step.parts(users, users * tokens_each);
  Value block = Value::object();
  block.set("sequences", users);
  const auto ms = [&](std::string_view name, double seconds) {
    block.set(name, rounded(seconds * 1000));
  };
  ms("weights_ms", p.weights);
  ms("weight_arithmetic_ms", p.weight_work);
  if (p.experts > 0) {
    ms("experts_ms", p.experts);
    ms("expert_arithmetic_ms", p.expert_work);
    block.set("expert_share", rounded(q.step.expert_share));
  }
  ms("cache_ms", p.cache);
  ms("states_ms", p.states);
  ms("head_arithmetic_ms", p.head_work);
  ms("layers_ms", p.layers);
  block.set("layers", rounded(q.step.layers));
  if (q.step.routed_layers > 0) block.set("routed_layers", rounded(q.step.routed_layers));
  if (p.exchange > 1e-9) ms("exchange_ms", p.exchange);
  block.set("cache_share", rounded(q.step.cache_share));
  return block;
}

}  // namespace

Value step_block(const Question& q) {
  Value block = Value::object();
  const workload::StepTime& t = q.step.time;
  const auto ms = [&](int64_t n, int64_t context, int64_t prefill, double pairs) {
    return rounded(t.step(n, context, prefill, pairs) * 1000);
  };
  const int64_t tokens = workload::held_by_one(q.lengths.sample()).mean > 0
                             ? int64_t(workload::held_by_one(q.lengths.sample()).mean)
                             : 0;
  block.set("one_user_ms", ms(1, tokens, 0, 0));
  block.set("sixteen_users_ms", ms(16, 16 * tokens, 0, 0));
  block.set("prefill_1000_tokens_ms", ms(0, 0, 1000, 1e6));
  block.set("low_factor", q.step.low_factor);
  block.set("high_factor", q.step.high_factor);
  block.set("validated", q.step.validated);
  if (q.step.calibrated) block.set("calibrated", true);
  if (!q.step.memory_class.empty()) {
    block.set("memory", q.step.memory_class);
    block.set("weight_bytes", q.step.weight_bytes);
    block.set("bandwidth_share", rounded(q.step.weight_share));
    block.set("compute_share", rounded(q.step.compute_share));
  }
  if (!q.step.source.empty()) block.set("source", q.step.source);
  if (q.step.dense_read > 0) block.set("parts", parts_block(q, tokens));
  return block;
}

std::string place_text(const Question& q) {
  if (!q.plan) return q.machines > 1 ? " on " + format_grouped(q.machines) + " servers" : "";
  return " on " + (q.machines > 1 ? format_grouped(q.machines) + " servers of " : std::string()) +
         plan::describe(q.plan->resolved.hardware);
}

std::optional<HourlyPrice> hourly_price(const Question& q) {
  if (q.price_per_hour > 0) {
    const double usd = q.price_per_hour * double(q.machines);
    return HourlyPrice{usd, usd, usd, "your price", ""};
  }
  if (!q.plan || q.plan->resolved.hardware.devices.empty()) return std::nullopt;
  const plan::PriceList prices;
  const auto& devices = q.plan->resolved.hardware.devices;
  if (q.usd_per_kwh > 0) {
    // Cards at their rated power; the machine around them is not known.
    double watts = 0;
    for (const auto& device : devices) {
      if (device.gpu.power_w <= 0) return std::nullopt;
      watts += device.gpu.power_w;
    }
    double usd = watts / 1000 * q.pue * q.usd_per_kwh;
    usd *= double(q.machines);
    return HourlyPrice{usd, usd, usd, "electricity at the cards' rated power", ""};
  }
  const std::string& gpu = devices.front().gpu.id;
  const int count = int(devices.size());
  const auto cheap = prices.cheapest(gpu, count);
  const auto dear = prices.dearest(gpu, count);
  if (!cheap) return std::nullopt;
  const double machines = double(q.machines);
  return HourlyPrice{machines * cheap->usd_per_hour, machines * cheap->usd_per_hour,
                     machines * (dear ? dear->usd_per_hour : cheap->usd_per_hour), cheap->offer,
                     cheap->date};
}

Value cost_block(const Question& q, const HourlyPrice& price, double rate, double low_rate,
                 double high_rate) {
  Value block = Value::object();
  block.set("usd_per_hour", price.likely);
  block.set("offer", price.offer);
  if (!price.date.empty()) block.set("price_date", price.date);
  if (price.high > price.low) block.set("dearest_usd_per_hour", price.high);
  if (q.utilisation < 1) block.set("utilisation", q.utilisation);
  const double output = q.lengths.mean_output();
  const double total = output + q.lengths.mean_prompt();
  const auto million = [&](double usd, double requests, double tokens) {
    return requests > 0 ? rounded(usd / 3600 / (requests * tokens * q.utilisation) * 1e6) : 0;
  };
  // Prompt tokens and answer tokens share a step by what they cost in it.
  const workload::LinearStep step = q.line();
  const workload::OpenLoop loop =
      workload::open_loop(q.lengths.sample(), step, rate / double(q.replicas));
  const double prompt_share =
      loop.load > 0 ? std::clamp(loop.prefill_share / loop.load, 0.0, 1.0) : 0;
  block.set("usd_per_million_output_tokens", million(price.likely, rate, output));
  block.set("low", million(price.low, high_rate, output));
  block.set("high", million(price.high, low_rate, output));
  block.set("usd_per_million_tokens", million(price.likely, rate, total));
  block.set("split_input",
            rounded(prompt_share * million(price.likely, rate, q.lengths.mean_prompt())));
  block.set("split_output", rounded((1 - prompt_share) * million(price.likely, rate, output)));
  return block;
}

workload::Limits limits_of(const Observer& observer) {
  return {.keep_going = observer.keep_going, .context = observer.context};
}

Arrivals arrivals_at(const Question& q, double rate) {
  Arrivals a;
  if (q.arrivals && q.arrivals->is_open() && q.arrivals->kind != Arrivals::Kind::trace &&
      q.arrivals->kind != Arrivals::Kind::schedule) {
    a = *q.arrivals;
  }
  a.rate = rate;
  return a;
}

Result<workload::Goodput> likely_rate(const Question& q, const workload::Limits& limits) {
  const double most = 1.5 * q.ceiling();
  return workload::find_goodput(q.setup(limits), arrivals_at(q, 1), most);
}

Result<RateBar> rate_bar(const Question& q, const workload::Limits& limits) {
  RateBar bar;
  TRY_ASSIGN(bar.likely, likely_rate(q, limits));
  bar.low = bar.high = bar.likely.rate;
  bar.stopped = bar.likely.stopped;
  const double most = 1.5 * q.ceiling();
  for (const bool slow : {true, false}) {
    const double factor = slow ? q.step.high_factor : q.step.low_factor;
    if (factor == 1 || bar.stopped) continue;
    workload::Setup setup = q.setup(limits);
    setup.time = q.step.time.scaled(factor);
    TRY_ASSIGN(const workload::Goodput end,
               workload::find_goodput(setup, arrivals_at(q, 1), most / factor));
    bar.stopped = end.stopped;
    if (!end.stopped) (slow ? bar.low : bar.high) = end.rate;
  }
  return bar;
}

std::string limiting(const Question& q, const workload::Run& run) {
  const workload::Meter& m = run.meter;
  const double requests = double(std::max<int64_t>(1, m.requests()));
  const double memory = double(m.waited_for(workload::Cause::memory)) / requests;
  const double sequences = double(m.waited_for(workload::Cause::sequences)) / requests;
  const double pool = double(q.scheduler.blocks);
  if (memory > 0.01 && memory >= sequences) return "kv_cache";
  if (sequences > 0.01) return "max_sequences";
  if (m.occupancy().quantile(0.99) > 0.97 * pool) return "kv_cache";
  const double seconds = std::max(m.seconds(), 1e-12);
  const double rate = double(m.finished()) / seconds;
  const workload::OpenLoop loop = workload::open_loop(q.lengths.sample(), q.line(), rate);
  if (!q.has_slo && loop.load < 0.85) return "nothing yet";
  return loop.prefill_share > loop.load / 2 ? "prefill compute" : "decode bandwidth";
}

}  // namespace vramwise::api
