#include "host/live/load_report.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "host/live/load_engine.h"
#include "host/live/trend.h"

namespace vramwise::host {
namespace {

using json::Value;

constexpr double kTolerated = 0.01;  // share of requests that may fail

double rounded(double seconds) { return double(int64_t(seconds * 1e6 + 0.5)) / 1e6; }

// p of sorted values: the smallest that has at least that share below or at it.
double quantile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const double place = p * double(sorted.size());
  size_t i = size_t(place);
  if (double(i) < place) ++i;
  return sorted[std::clamp<size_t>(i, 1, sorted.size()) - 1];
}

Value spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Value out = Value::object();
  double sum = 0;
  for (const double v : values) sum += v;
  out.set("n", int64_t(values.size()));
  if (values.empty()) return out;
  out.set("mean", rounded(sum / double(values.size())));
  out.set("p50", rounded(quantile(values, 0.50)));
  out.set("p90", rounded(quantile(values, 0.90)));
  out.set("p95", rounded(quantile(values, 0.95)));
  out.set("p99", rounded(quantile(values, 0.99)));
  out.set("max", rounded(values.back()));
  return out;
}

struct Memory {
  bool settled = true;
  bool known = false;
  Bytes least_headroom;
};

// Whether a card's memory stands still: over the second half of the full load it may not grow for
// certain by more than a thousandth of the card (and 64 MiB).
Memory report_memory(const LoadResult& result, const std::optional<PlanView>& plan, Value& out) {
  Memory memory;
  Value& list = out.set("memory", Value::array());
  if (result.cards.empty()) return memory;
  const std::vector<Card>& first = result.cards.front().cards;
  for (size_t i = 0; i < first.size(); ++i) {
    const Card& card = first[i];
    if (card.divided || card.total <= Bytes()) continue;
    std::vector<Point> late;
    Bytes peak;
    Bytes last;
    const double end = std::max(result.hold_end, result.hold_start);
    const double half = (result.hold_start + end) / 2;
    for (const CardSample& sample : result.cards) {
      if (i >= sample.cards.size()) continue;
      last = sample.cards[i].used;
      peak = std::max(peak, last);
      if (sample.seconds >= half && sample.seconds <= end + 1) {
        late.push_back({sample.seconds, double(last.count())});
      }
    }
    const Trend trend = fit_trend(late);
    const double window = late.size() < 2 ? 0 : late.back().seconds - late.front().seconds;
    const Bytes growth(trend.rising() ? int64_t(trend.slope * window) : 0);
    const bool enough = late.size() >= 6;
    const bool settled = growth <= std::max(card.total / 1000, MiB(64));
    Value& entry = list.push(Value::object());
    entry.set("index", card.index);
    entry.set("name", card.name);
    entry.set("total_bytes", card.total);
    entry.set("start_used_bytes", card.used);
    entry.set("peak_used_bytes", peak);
    entry.set("end_used_bytes", last);
    entry.set("headroom_bytes", card.total - peak);
    if (enough) entry.set("settled", settled);
    entry.set("growth_bytes_per_minute", int64_t(trend.rising() ? trend.slope * 60 : 0));
    if (plan && i < plan->reserved.size()) entry.set("planned_bytes", plan->reserved[i]);
    const Bytes headroom = card.total - peak;
    memory.least_headroom = memory.known ? std::min(memory.least_headroom, headroom) : headroom;
    memory.known = true;
    memory.settled = memory.settled && (settled || !enough);
  }
  return memory;
}

void report_requests(const LoadResult& result, Value& out) {
  std::map<std::string, std::pair<int64_t, std::string>> kinds;
  int64_t errors = 0;
  for (const LoadRecord& record : result.records) {
    if (record.error.empty()) continue;
    ++errors;
    auto& [count, detail] = kinds[record.error];
    if (count++ == 0) detail = record.detail;
  }
  Value& requests = out.set("requests", Value::object());
  requests.set("ended", int64_t(result.records.size()));
  requests.set("good", int64_t(result.records.size()) - errors);
  requests.set("errors", errors);
  requests.set("unfinished", result.unfinished);
  std::vector<std::pair<std::string, std::pair<int64_t, std::string>>> sorted(kinds.begin(),
                                                                              kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  Value& list = requests.set("by_kind", Value::array());
  for (const auto& [kind, what] : sorted) {
    Value& entry = list.push(Value::object());
    entry.set("kind", kind);
    entry.set("count", what.first);
    if (!what.second.empty()) entry.set("example", what.second);
  }
}

// Latencies of what began under the full load; of everything where that is nothing.
void report_latency(const LoadResult& result, Value& out) {
  const auto chosen = [&](bool full_only) {
    std::vector<const LoadRecord*> found;
    for (const LoadRecord& record : result.records) {
      if (!record.error.empty()) continue;
      if (!full_only || record.start >= result.hold_start) found.push_back(&record);
    }
    return found;
  };
  auto records = chosen(true);
  out.set("latency_of", records.empty() ? "all requests" : "requests begun under full load");
  if (records.empty()) records = chosen(false);
  std::vector<double> first;
  std::vector<double> whole;
  std::vector<double> each;
  double prompt = 0;
  double output = 0;
  double asked_prompt = 0;
  double asked_output = 0;
  bool counted = !records.empty();
  for (const LoadRecord* record : records) {
    first.push_back(record->first_token);
    whole.push_back(record->end - record->start);
    if (record->output_tokens > 1) {
      each.push_back((record->end - record->start - record->first_token) /
                     double(record->output_tokens - 1));
    }
    prompt += double(record->prompt_tokens);
    output += double(record->output_tokens);
    asked_prompt += double(record->asked_prompt);
    asked_output += double(record->asked_output);
    counted = counted && record->counted;
  }
  out.set("ttft_seconds", spread(std::move(first)));
  out.set("tpot_seconds", spread(std::move(each)));
  Value gaps = Value::object();
  gaps.set("n", int64_t(result.gaps.total() + 0.5));
  if (result.gaps.total() > 0) {
    gaps.set("mean", rounded(result.gaps.mean()));
    for (const auto& [name, p] :
         {std::pair<const char*, double>{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}) {
      gaps.set(name, rounded(result.gaps.quantile(p)));
    }
  }
  out.set("itl_seconds", std::move(gaps));
  out.set("request_seconds", spread(std::move(whole)));
  const double n = std::max(1.0, double(records.size()));
  Value& lengths = out.set("lengths", Value::object());
  lengths.set("asked_prompt_tokens_mean", rounded(asked_prompt / n));
  lengths.set("asked_output_tokens_mean", rounded(asked_output / n));
  if (prompt > 0) lengths.set("prompt_tokens_mean", rounded(prompt / n));
  lengths.set("output_tokens_mean", rounded(output / n));
  lengths.set("counted_by_server", counted);
}

void report_throughput(const LoadResult& result, Value& out) {
  // Tokens as they arrived, from the moments nearest to the full load's ends.
  const LoadMoment* from = nullptr;
  const LoadMoment* to = nullptr;
  for (const LoadMoment& moment : result.moments) {
    if (moment.seconds > result.hold_end + 0.5) break;
    if (from == nullptr || moment.seconds <= result.hold_start) from = &moment;
    to = &moment;
  }
  Value& throughput = out.set("throughput", Value::object());
  if (from == nullptr || to->seconds - from->seconds < 0.5) return;
  const double passed = to->seconds - from->seconds;
  throughput.set("over_seconds", rounded(passed));
  throughput.set("requests_per_second",
                 rounded(double(to->done - to->errors - from->done + from->errors) / passed));
  // What is seen here are pieces of text: one token each with most servers, more where they are
  // bundled. The server's own counts correct that.
  double counted = 0;
  double pieces = 0;
  for (const LoadRecord& record : result.records) {
    if (!record.counted || !record.error.empty()) continue;
    counted += double(record.output_tokens);
    pieces += double(record.pieces);
  }
  const double tokens_a_piece = pieces > 0 ? counted / pieces : 1;
  throughput.set("output_tokens_per_second",
                 rounded(double(to->tokens - from->tokens) / passed * tokens_a_piece));
}

Value report_timeline(const LoadResult& result) {
  Value list = Value::array();
  size_t card = 0;
  const LoadMoment* before = nullptr;
  for (const LoadMoment& moment : result.moments) {
    Value& entry = list.push(Value::object());
    entry.set("seconds", rounded(moment.seconds));
    entry.set("streams", moment.streams);
    entry.set("done", moment.done);
    entry.set("errors", moment.errors);
    if (before != nullptr && moment.seconds > before->seconds) {
      entry.set("tokens_per_second", rounded(double(moment.tokens - before->tokens) /
                                             (moment.seconds - before->seconds)));
    }
    before = &moment;
    if (moment.engine) {
      const EngineMetrics& engine = *moment.engine;
      if (engine.running) entry.set("running", *engine.running);
      if (engine.waiting) entry.set("waiting", *engine.waiting);
      if (engine.cache_use) entry.set("cache_use", *engine.cache_use);
    }
    while (card + 1 < result.cards.size() && result.cards[card + 1].seconds <= moment.seconds) {
      ++card;
    }
    if (card < result.cards.size()) {
      Value& used = entry.set("used_bytes", Value::array());
      for (const Card& one : result.cards[card].cards) {
        if (!one.divided && one.total > Bytes()) used.push(one.used);
      }
    }
  }
  return list;
}

std::string plural(int64_t n, const std::string& what) {
  return format_grouped(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

Value load_report(const LoadResult& result, const std::optional<PlanView>& plan) {
  const LoadOptions& options = result.options;
  Value document = Value::object();
  document.set("schema_version", 1);
  Value& out = document.set("loadtest", Value::object());
  out.set("outcome", "");  // filled in below, first for readers
  out.set("answer", "");
  out.set("server", options.target.server);
  out.set("model", options.target.model);
  out.set("api", options.target.api == LoadApi::chat ? "chat" : "completions");
  Value& load = out.set("load", Value::object());
  load.set("users", options.users);
  load.set("ramp_seconds", options.ramp_seconds);
  load.set("hold_seconds", options.hold_seconds);
  load.set("ended_by", std::string(to_string(result.stop)));
  load.set("seconds", rounded(result.seconds));
  int64_t most_streams = 0;
  for (const LoadMoment& moment : result.moments) {
    most_streams = std::max(most_streams, moment.streams);
  }
  load.set("most_streams", most_streams);
  load.set("tokens_per_word", rounded(result.scale.tokens_per_word));
  load.set("tokens_measured", result.scale.measured);
  report_requests(result, out);
  report_latency(result, out);
  report_throughput(result, out);
  out.set("engine", load_engine(result));
  const Memory memory = report_memory(result, plan, out);
  if (plan) {
    Value& block = out.set("plan", Value::object());
    if (!plan->model.empty()) block.set("model", plan->model);
    if (plan->users) block.set("users", *plan->users);
    if (plan->pool_tokens) block.set("pool_tokens", *plan->pool_tokens);
  }
  out.set("timeline", report_timeline(result));

  const int64_t ended = int64_t(result.records.size());
  const int64_t errors = out.find("requests")->find("errors")->as_integer();
  const bool failing = ended == 0 || double(errors) > kTolerated * double(ended);
  std::string outcome = "held";
  if (result.stop == LoadStop::interrupted) {
    outcome = "interrupted";
  } else if (result.stop == LoadStop::errors || result.stop == LoadStop::memory) {
    outcome = "stopped";
  } else if (failing) {
    outcome = "errors";
  } else if (!memory.settled) {
    outcome = "not_settled";
  }
  out.set("outcome", outcome);

  const std::string what = plural(options.users, "user");
  std::string answer;
  if (result.stop == LoadStop::memory) {
    answer = "Stopped: a card had less than " + format_bytes(options.least_free) + " free with " +
             plural(most_streams, "stream") + " open";
  } else if (result.stop == LoadStop::errors) {
    answer = "Stopped: nearly every request fails";
  } else if (result.stop == LoadStop::interrupted) {
    answer = "Interrupted after " + format_fixed(result.seconds, 0) + " s with " +
             plural(most_streams, "stream") + " open at most";
  } else if (ended == 0) {
    answer = "No answer ended within the time";
  } else if (failing) {
    answer = plural(errors, "request") + " of " + format_grouped(ended) + " failed with " + what;
  } else {
    answer = "Held " + what + ": " + plural(ended - errors, "request") + " answered, " +
             plural(errors, "error");
  }
  if (memory.known) {
    answer += memory.settled ? "; memory settled with " : "; memory still grows, ";
    answer += format_bytes(memory.least_headroom) +
              (memory.settled ? " of headroom" : " of headroom are left");
  }
  out.set("answer", answer);
  return document;
}

int load_exit_status(const Value& report) {
  const std::string& outcome = report.find("loadtest")->find("outcome")->as_string();
  return outcome == "held" ? 0 : outcome == "interrupted" ? 130 : 1;
}

}  // namespace vramwise::host
