#include "api/load_decisions.h"

#include <algorithm>
#include <numeric>

#include "api/answer.h"
#include "api/load_blocks.h"
#include "base/sort.h"
#include "base/text.h"
#include "plan/sentence.h"
#include "workload/question.h"

namespace vramwise::api {

using json::Value;
using workload::Question;

namespace {

// Cards whose promise is simulated in a search; the others are screened by formula.
constexpr size_t kSimulated = 12;
// More of them while one could still belong among these: the formula takes half of what saturates,
// and no promise is kept beyond nine tenths.
constexpr size_t kMostSimulated = 32;
constexpr double kFormulaOverBest = 0.5 / 0.9;
constexpr int64_t kSearchRequests = 4000;

std::string flag_of(std::string_view option) {
  return "--" + replace_all(std::string(option), "_", "-");
}

// The plan with sequences capped where 99 % of the requests end.
std::optional<plan::Lever> length_lever(const plan::Plan& plan, const workload::Lengths& lengths) {
  if (lengths.rows() > 0 && lengths.rows() < 300) return std::nullopt;
  const int64_t bs = std::max<int64_t>(1, plan.assessment.kv.block_tokens);
  const int64_t justified = ceil_div(lengths.quantile_total(0.99), bs) * bs;
  const int64_t asked = plan.resolved.workload.sequence_tokens.count();
  const int64_t now = asked > 0 ? asked : plan.resolved.model->max_positions;
  if (justified >= now && now > 0) return std::nullopt;
  plan::Resolved changed = plan.resolved;
  const std::string_view option = changed.engine->option_of(engines::Knob::sequence_tokens);
  if (!option.empty()) changed.settings.options.erase(option);
  changed.workload.sequence_tokens = Tokens(justified);
  if (changed.workload.concurrency.count() == 0) changed.workload.concurrency = Sequences(1);
  auto after = plan::make_plan(std::move(changed), plan::Levers::skip);
  if (!after) return std::nullopt;
  plan::Lever lever;
  lever.ids = {"max_sequence_p99"};
  lever.change = "cap sequences at " + format_grouped(justified) +
                 " tokens, within which 99 % of the requests stay";
  if (!option.empty()) lever.option = flag_of(option) + " " + format_integer(justified);
  lever.cost = "1 % of the requests are cut or refused";
  const auto need = [](const plan::Plan& p) {
    return p.assessment.need.total(p.assessment.fullest_device).likely;
  };
  lever.freed = need(plan) - need(*after);
  lever.after = after->verdict;
  lever.users = after->assessment.users;
  Value patch = Value::object();
  Value load = Value::object();
  load.set("sequence_tokens", justified);
  patch.set("workload", std::move(load));
  lever.set = std::move(patch);
  return lever;
}

Value members_of(const json::Reader& request, std::initializer_list<std::string_view> but) {
  Value copy = request.value();
  for (const std::string_view key : but) copy.erase(key);
  return copy;
}

}  // namespace

bool has_load(const json::Reader& request) {
  const auto load = request.find("workload");
  return load && load->is_object() && (load->has("lengths") || load->has("trace"));
}

Result<Value> add_load(const json::Reader& request, plan::Plan& plan) {
  const auto load = request.find("workload");
  Question q;
  TRY_ASSIGN(q.lengths, workload::read_lengths(*load, q.trace, q.notes));
  Value block = Value::object();
  block.set("lengths", lengths_block(q.lengths, plan.assessment.kv.block_tokens));
  if (auto lever = length_lever(plan, q.lengths)) {
    plan.levers.insert(plan.levers.begin(), std::move(*lever));
  }
  // Users of a server that does not start are nobody.
  if (plan.verdict.starts) {
    auto scheduler = workload::scheduler_of(plan, q.notes);
    if (scheduler) {
      q.scheduler = *scheduler;
      q.replicas = workload::replicas_of(plan);
      q.max_sequence_tokens = plan.assessment.kv.max_sequence_tokens;
      const int64_t asked = plan.resolved.workload.sequence_tokens.count();
      if (asked > 0) q.max_sequence_tokens = std::min(asked, q.max_sequence_tokens);
      q.lengths.clip(q.max_sequence_tokens);
      block.set("users", users_block(q));
    }
  }
  plan.resolved.notes.append(q.notes);
  return block;
}

Result<Value> max_of_load(const json::Reader& request, std::string_view of,
                          const Observer& observer) {
  TRY_ASSIGN(Question q, workload::read_question(request));
  Value block = Value::object();
  block.set("of", of);
  const std::string on = place_text(q);
  const workload::Limits limits = limits_of(observer);
  bool stopped = false;
  if (of == "rate") {
    if (!q.has_slo) {
      return fail(Error(ErrorCode::missing_field, "the highest rate needs a promise to keep")
                      .at("slo")
                      .hint("give \"slo\":{\"ttft_seconds\":1,\"tpot_seconds\":0.05}, or --ttft 1s "
                            "--tpot 50ms"));
    }
    TRY_ASSIGN(const RateBar bar, rate_bar(q, limits));
    stopped = bar.stopped;
    block.set("value", bar.likely.rate);
    block.set("low", bar.low);
    block.set("high", bar.high);
    std::string sentence = "No rate keeps the promise" + on;
    if (bar.likely.stopped) {
      sentence =
          bar.likely.rate > 0
              ? format_fixed(bar.likely.rate, 2) + " requests/s at least keep the promise" + on
              : "the search for a rate that keeps the promise" + on + " had not come to one";
    } else if (bar.likely.rate > 0) {
      sentence = format_fixed(bar.likely.rate, 2) + " requests/s keep the promise" + on;
      if (!stopped) {
        sentence += " (" + format_fixed(bar.low, 2) + " to " + format_fixed(bar.high, 2) + ")";
      }
    }
    Value users = users_block(q);
    sentence += "; room for " + format_grouped(users.find("p99")->as_integer()) +
                " users at p99 of occupancy";
    block.set("users", std::move(users));
    if (const auto price = hourly_price(q); price && bar.likely.rate > 0) {
      Value cost = cost_block(q, *price, bar.likely.rate, bar.low, bar.high);
      sentence += "; $" + format_fixed(cost.find("usd_per_million_output_tokens")->as_double(), 2) +
                  " per million answer tokens";
      block.set("cost", std::move(cost));
    }
    block.set("answer", sentence);
  } else {
    const Value users = users_block(q);
    int64_t most = users.find("p99")->as_integer();
    std::string why = "memory at p99 of occupancy";
    if (users.find("limited_by") != nullptr) why = "the most sequences the server takes";
    if (q.has_slo && most > 0) {
      // More users never make anybody faster: bisection on closed loops.
      workload::Arrivals closed;
      if (q.arrivals && !q.arrivals->is_open()) closed = *q.arrivals;
      closed.kind = workload::Arrivals::Kind::closed;
      workload::Setup setup = q.setup(limits);
      setup.replications = 2;
      int64_t low = 0;
      int64_t high = most;
      while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        closed.users = middle;
        setup.requests = std::max<int64_t>(2000, 20 * middle);
        TRY_ASSIGN(const workload::Run run, workload::run_load(setup, closed));
        // Half a run says nothing about its users.
        if (run.stopped) {
          stopped = true;
          break;
        }
        const double share = run.meter.requests() > 0
                                 ? double(run.meter.within_slo()) / double(run.meter.requests())
                                 : 0;
        if (share >= q.slo.quantile) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      if (low < most) why = stopped ? "the search, which was ended" : "the promise";
      most = low;
    }
    block.set("value", most);
    block.set("binding", why);
    block.set("answer", format_grouped(most) + (most == 1 ? " user" : " users") +
                            (stopped ? " at least" : "") + " at the same time" + on +
                            ", limited by " + why);
    block.set("users", users);
  }
  if (stopped) {
    block.set("answer", std::string(kStopped) + block.find("answer")->as_string());
    block.set("stopped", true);
  }
  if (!q.step.validated) {
    block.set("caveat",
              "the step time of this memory and engine is unvalidated: read rates and costs as the "
              "range that is given");
  }
  Value answer = Value::object();
  answer.set("max", std::move(block));
  answer.set("assumptions", notes_block(q.notes.assumptions));
  answer.set("warnings", notes_block(q.notes.warnings));
  return answer;
}

Result<ChoiceCosts> cost_choices(const json::Reader& request, const plan::Resolved& resolved,
                                 const std::vector<plan::GpuChoice>& choices,
                                 const Observer& observer) {
  // Read once: the load without a machine under it, on a scheduler that each choice replaces.
  Value bare = members_of(request, {"model", "line", "scheduler", "hardware"});
  Value stand_in = Value::object();
  stand_in.set("blocks", 1000000);
  bare.set("scheduler", std::move(stand_in));
  const auto question_for = [&](const plan::GpuChoice& choice) -> Result<Question> {
    TRY_ASSIGN(Question q, workload::read_question(json::Reader(bare, "request")));
    TRY_ASSIGN(plan::Plan plan,
               plan::make_plan(plan::with_choice(resolved, choice), plan::Levers::skip));
    TRY(workload::use_plan(q, std::move(plan), request));
    return q;
  };
  ChoiceCosts found;
  std::vector<ChoiceCost>& costs = found.costs;
  costs.resize(choices.size());
  for (size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i].price) continue;
    auto q = question_for(choices[i]);
    if (!q) {
      // A bad load is the same for all; a card without known speeds is left out.
      if (q.error().code != ErrorCode::unsupported && q.error().code != ErrorCode::inconsistent) {
        return fail(std::move(q.error()));
      }
      continue;
    }
    // Half of what saturates: promises are kept well below it.
    const double rate = 0.5 * q->ceiling();
    costs[i].rate = rate;
    costs[i].usd_per_million =
        choices[i].price->usd_per_hour / 3600 / (rate * q->lengths.mean_output()) * 1e6;
    costs[i].screening = true;
    costs[i].validated = q->step.validated;
  }
  // The cheapest by that measure are simulated.
  std::vector<size_t> order(choices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  sort_stable(order, [&](size_t a, size_t b) {
    const double x = costs[a].usd_per_million;
    const double y = costs[b].usd_per_million;
    if ((x > 0) != (y > 0)) return x > 0;
    return x < y;
  });
  double dearest = 0;  // of those simulated first
  for (size_t k = 0; k < std::min(kMostSimulated, order.size()); ++k) {
    const size_t i = order[k];
    if (costs[i].usd_per_million <= 0) break;
    if (k >= kSimulated && costs[i].usd_per_million * kFormulaOverBest > dearest) break;
    TRY_ASSIGN(Question q, question_for(choices[i]));
    q.requests = std::min(q.requests, kSearchRequests);
    TRY_ASSIGN(const workload::Goodput goodput, likely_rate(q, limits_of(observer)));
    if (goodput.stopped) {
      found.stopped = true;
      break;
    }
    costs[i].screening = false;
    costs[i].rate = goodput.rate;
    costs[i].usd_per_million = goodput.rate > 0 ? choices[i].price->usd_per_hour / 3600 /
                                                      (goodput.rate * q.lengths.mean_output()) * 1e6
                                                : 0;
    if (k < kSimulated) dearest = std::max(dearest, costs[i].usd_per_million);
  }
  return found;
}

}  // namespace vramwise::api
