#include "apps/cli/measured_metrics.h"

#include <algorithm>

#include "base/text.h"
#include "host/files.h"
#include "host/live/metrics_window.h"

namespace vramwise::cli {
namespace {

constexpr int64_t kTextLimit = int64_t{256} << 20;
constexpr double kFewestRequests = 3;

Result<host::EngineMetrics> read_text(const std::string& file) {
  TRY_ASSIGN(const std::string text, host::read_file(file, kTextLimit));
  host::EngineMetrics metrics = host::read_engine_metrics(text);
  if (metrics.cut_off) {
    return fail(Error(ErrorCode::unsupported, "more than 100,000 series of serving engines in it")
                    .at(file)
                    .hint("save one server's metrics, not those of a whole cluster"));
  }
  if (!metrics.engine.empty()) return metrics;
  return fail(Error(ErrorCode::invalid_input,
                    "no metrics of vLLM, SGLang, TensorRT-LLM or llama-server in it")
                  .at(file)
                  .hint("save them with: curl -s http://127.0.0.1:8000/metrics > before.prom "
                        "(TensorRT-LLM: /prometheus/metrics)"));
}

Error missing(const std::string& what, std::string_view flag, const std::string& hint) {
  return Error(ErrorCode::missing_field, what).at(std::string(flag)).hint(hint);
}

int64_t whole(double tokens) { return std::max<int64_t>(1, int64_t(tokens + 0.5)); }

// Seconds that requests were in the server, added up: a user who is kept busy is in it all the
// time.
std::optional<double> in_server(const host::MetricsWindow& window) {
  if (window.request && window.request->count > 0) return window.request->sum;
  if (window.prompt_seconds && window.output_seconds) {
    return *window.prompt_seconds + *window.output_seconds;
  }
  return std::nullopt;
}

}  // namespace

Result<MeasuredPoint> measured_point(const MeasuredMetrics& given, std::string_view flag) {
  TRY_ASSIGN(const host::EngineMetrics before, read_text(given.before));
  TRY_ASSIGN(const host::EngineMetrics after, read_text(given.after));
  TRY_ASSIGN(const host::MetricsWindow window, host::window_between(before, after));
  if (!window.output_tokens || !window.prompt_tokens) {
    return fail(missing(window.engine + " does not count its tokens in this version", flag,
                        "give the figures instead: itl=12ms,ttft=62ms,prompt=512,output=256"));
  }
  double requests = window.requests.value_or(0);
  if (requests <= 0 && window.request) requests = window.request->count;
  if (requests <= 0 && given.output) requests = *window.output_tokens / double(*given.output);
  if (requests <= 0 && !window.requests && !window.request) {
    return fail(missing(window.engine + " does not count its requests", flag,
                        "say their lengths: prompt=512,output=256"));
  }
  if (requests < kFewestRequests) {
    return fail(Error(ErrorCode::inconsistent,
                      "only " + format_number(requests) + " requests ended between the two texts")
                    .at(std::string(flag))
                    .hint("let at least a dozen end between the two"));
  }
  MeasuredPoint point;
  point.prompt = given.prompt.value_or(whole(*window.prompt_tokens / requests));
  point.output = given.output.value_or(whole(*window.output_tokens / requests));
  const auto busy = in_server(window);
  if (given.users) {
    point.users = *given.users;
  } else if (given.seconds && busy) {
    point.users = whole(*busy / *given.seconds);
  } else {
    return fail(missing("how many users were kept busy between the two texts is not said", flag,
                        "add users=1 (or seconds=60: the time between them)"));
  }
  if (point.users > 1) {
    if (!given.seconds && (!busy || *busy <= 0)) {
      return fail(missing("this server does not say how long its requests took", flag,
                          "add seconds=60: the time between the two texts"));
    }
    // As long as the users are kept busy, all their time is spent in the server.
    const double seconds = given.seconds.value_or(busy.value_or(0) / double(point.users));
    point.tokens_per_second = *window.output_tokens / seconds;
    return point;
  }
  if (window.inter_token && window.inter_token->count > 0) {
    point.inter_token_seconds = window.inter_token->mean();
  } else if (window.output_seconds) {
    point.inter_token_seconds = *window.output_seconds / *window.output_tokens;
  }
  if (window.first_token && window.first_token->count > 0) {
    point.ttft_seconds = window.first_token->mean();
  } else if (window.prompt_seconds) {
    point.ttft_seconds = *window.prompt_seconds / requests;
  }
  if (point.inter_token_seconds <= 0 || point.ttft_seconds <= 0) {
    return fail(missing("the metrics have no times to the first token and between tokens", flag,
                        "give the figures instead: itl=12ms,ttft=62ms,prompt=512,output=256"));
  }
  return point;
}

}  // namespace vramwise::cli
