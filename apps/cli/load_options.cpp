#include "apps/cli/load_options.h"

#include "base/checked.h"
#include "base/text.h"
#include "host/files.h"
#include "host/model_source.h"

namespace vramwise::cli {
namespace {

using json::Value;

// Traces of a month's traffic are below this; beyond, take a part.
constexpr int64_t kTraceLimit = int64_t{2} << 30;

Result<double> number(std::string_view text, std::string_view flag, std::string_view what) {
  const auto n = parse_number(text);
  if (!n || *n < 0) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 40)) + "' is not " + std::string(what))
                    .at(std::string(flag)));
  }
  return *n;
}

Result<int64_t> whole(std::string_view text, std::string_view flag, int64_t low, int64_t high) {
  const auto n = parse_integer(text);
  if (!n || *n < 0) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 40)) + "' is not a whole number")
                    .at(std::string(flag)));
  }
  if (*n < low || *n > high) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 40)) + "' is out of range: accepted are " +
                          format_grouped(low) + " to " + format_grouped(high))
                    .at(std::string(flag)));
  }
  return *n;
}

// The readers of the request check again; here the fault is told in the words of the option.
Result<double> within(double n, double low, double high, std::string_view text,
                      std::string_view flag, std::string_view accepted) {
  if (n >= low && n <= high) return n;
  return fail(Error(ErrorCode::invalid_input, "'" + std::string(text.substr(0, 40)) +
                                                  "' is out of range: accepted are " +
                                                  std::string(accepted))
                  .at(std::string(flag)));
}

// A time that a promise can name.
Result<double> promised(const std::string& value, std::string_view flag) {
  TRY_ASSIGN(const double seconds, parse_seconds(value, flag));
  return within(seconds, 1e-6, 1e6, value, flag, "0.001ms to 1000000s");
}

}  // namespace

Value& part(Value& object, std::string_view name) {
  Value* found = object.find(name);
  return found != nullptr ? *found : object.set(name, Value::object());
}

Result<double> parse_seconds(std::string_view text, std::string_view flag) {
  double scale = 1;
  std::string_view digits = text;
  if (ends_with(text, "ms")) {
    scale = 1e-3;
    digits.remove_suffix(2);
  } else if (ends_with(text, "s")) {
    digits.remove_suffix(1);
  } else if (ends_with(text, "m") || ends_with(text, "h")) {
    scale = ends_with(text, "h") ? 3600 : 60;
    digits.remove_suffix(1);
  }
  TRY_ASSIGN(const double n, number(trim(digits), flag, "a time (50ms, 1s, 5m)"));
  return n * scale;
}

Result<bool> apply_lengths(Value& request, const std::string& value, std::string_view) {
  Value& load = part(request, "workload");
  if (host::looks_like_path(value)) {
    part(load, "trace").set("path", value);
    return true;
  }
  Value lengths = Value::object();
  lengths.set("kind", "preset");
  lengths.set("name", value);
  load.set("lengths", std::move(lengths));
  return true;
}

Result<bool> apply_columns(Value& request, const std::string& value, std::string_view flag) {
  Value columns = Value::object();
  for (const std::string_view pair : split(value, ',')) {
    const size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    if (equals == std::string_view::npos ||
        (key != "prompt" && key != "output" && key != "arrival")) {
      return fail(Error(ErrorCode::invalid_input,
                        "'" + value.substr(0, 60) + "' names no columns of a trace")
                      .at(std::string(flag))
                      .hint("write --columns prompt=NAME,output=NAME[,arrival=NAME]"));
    }
    columns.set(key, pair.substr(equals + 1));
  }
  part(part(request, "workload"), "trace").set("columns", std::move(columns));
  return true;
}

Result<bool> apply_rate(Value& request, const std::string& value, std::string_view flag) {
  std::string_view digits = value;
  if (ends_with(digits, "/s")) digits.remove_suffix(2);
  TRY_ASSIGN(const double given, number(digits, flag, "a rate of requests a second"));
  TRY_ASSIGN(const double rate, within(given, 1e-6, 1e7, value, flag, "0.000001 to 10000000"));
  Value arrivals = Value::object();
  arrivals.set("kind", "poisson");
  arrivals.set("rate_per_second", rate);
  part(request, "workload").set("arrivals", std::move(arrivals));
  return true;
}

Result<bool> apply_users(Value& request, const std::string& value, std::string_view flag) {
  // "64" or "64,think=20s"
  const auto parts = split(value, ',');
  TRY_ASSIGN(const int64_t users, whole(parts[0], flag, 1, 1 << 20));
  Value arrivals = Value::object();
  arrivals.set("kind", "closed");
  arrivals.set("users", users);
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!starts_with(parts[i], "think=")) {
      return fail(Error(ErrorCode::invalid_input, "'" + value.substr(0, 60) + "' is not understood")
                      .at(std::string(flag))
                      .hint("write --users 64 or --users 64,think=20s"));
    }
    TRY_ASSIGN(const double think, parse_seconds(parts[i].substr(6), flag));
    arrivals.set("think_seconds", think);
  }
  part(request, "workload").set("arrivals", std::move(arrivals));
  return true;
}

Result<bool> apply_acceptance(Value& request, const std::string& value, std::string_view flag) {
  std::string_view digits = value;
  const bool percent = ends_with(digits, "%");
  if (percent) digits.remove_suffix(1);
  TRY_ASSIGN(const double given, number(digits, flag, "a share (70%, 0.7)"));
  TRY_ASSIGN(const double share,
             within(percent || given > 1 ? given / 100 : given, 0, 1, value, flag, "0% to 100%"));
  request.set("acceptance", share);
  return true;
}

Result<bool> apply_replicas(Value& request, const std::string& value, std::string_view flag) {
  // "3" or "3,round_robin"
  const size_t comma = value.find(',');
  TRY_ASSIGN(const int64_t n, whole(std::string_view(value).substr(0, comma), flag, 1, 256));
  request.set("replicas", n);
  if (comma == std::string::npos) return true;
  const std::string router = replace_all(value.substr(comma + 1), "-", "_");
  if (router != "round_robin" && router != "least_requests") {
    return fail(
        Error(ErrorCode::invalid_input, "'" + value.substr(0, 60) + "' names no router")
            .at(std::string(flag))
            .hint("write --replicas 3, --replicas 3,round_robin or --replicas 3,least_requests"));
  }
  request.set("router", router);
  return true;
}

Result<bool> apply_replay(Value& request, const std::string& value, std::string_view flag) {
  // "1" or "1,pieces=5m"
  const auto parts = split(value, ',');
  TRY_ASSIGN(const double given, number(parts[0], flag, "a speed (1 = as recorded)"));
  TRY_ASSIGN(const double speedup, within(given, 1e-3, 1e6, value, flag, "0.001 to 1000000"));
  Value arrivals = Value::object();
  arrivals.set("kind", "trace");
  arrivals.set("speedup", speedup);
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!starts_with(parts[i], "pieces=")) {
      return fail(Error(ErrorCode::invalid_input, "'" + value.substr(0, 60) + "' is not understood")
                      .at(std::string(flag))
                      .hint("write --replay 1 or --replay 1,pieces=5m"));
    }
    TRY_ASSIGN(const double seconds, parse_seconds(parts[i].substr(7), flag));
    arrivals.set("block_seconds", seconds);
  }
  part(request, "workload").set("arrivals", std::move(arrivals));
  return true;
}

Result<bool> apply_ttft(Value& request, const std::string& value, std::string_view flag) {
  TRY_ASSIGN(const double seconds, promised(value, flag));
  part(request, "slo").set("ttft_seconds", seconds);
  return true;
}

Result<bool> apply_tpot(Value& request, const std::string& value, std::string_view flag) {
  TRY_ASSIGN(const double seconds, promised(value, flag));
  part(request, "slo").set("tpot_seconds", seconds);
  return true;
}

Result<bool> apply_share(Value& request, const std::string& value, std::string_view flag) {
  std::string_view digits = value;
  const bool percent = ends_with(digits, "%");
  if (percent) digits.remove_suffix(1);
  TRY_ASSIGN(const double given, number(digits, flag, "a share (95%, 0.95)"));
  TRY_ASSIGN(const double share, within(percent || given > 1 ? given / 100 : given, 0.01, 0.9999,
                                        value, flag, "1% to 99.99%"));
  part(request, "slo").set("quantile", share);
  return true;
}

Result<bool> apply_price(Value& request, const std::string& value, std::string_view flag) {
  std::string_view digits = value;
  if (starts_with(digits, "$")) digits.remove_prefix(1);
  if (ends_with(digits, "/kWh") || ends_with(digits, "/kwh")) {
    digits.remove_suffix(4);
    TRY_ASSIGN(const double given, number(digits, flag, "a price in USD a kWh"));
    TRY_ASSIGN(const double tariff, within(given, 1e-6, 100, value, flag, "up to 100/kWh"));
    part(request, "electricity").set("usd_per_kwh", tariff);
    return true;
  }
  TRY_ASSIGN(const double given, number(digits, flag, "a price in USD an hour, or 0.25/kWh"));
  TRY_ASSIGN(const double usd, within(given, 1e-6, 1e6, value, flag, "up to 1000000 an hour"));
  request.set("price_per_hour", usd);
  return true;
}

Result<bool> apply_count(Value& request, const std::string& value, std::string_view flag) {
  TRY_ASSIGN(const int64_t n, whole(value, flag, 100, 100'000'000));
  request.set("count", n);
  return true;
}

Result<bool> apply_seed(Value& request, const std::string& value, std::string_view flag) {
  TRY_ASSIGN(const int64_t n, whole(value, flag, 0, kLargestExactInteger));
  request.set("seed", n);
  return true;
}

Result<bool> read_trace_file(Value& request) {
  Value* load = request.find("workload");
  Value* trace = load != nullptr ? load->find("trace") : nullptr;
  const Value* path = trace != nullptr ? trace->find("path") : nullptr;
  if (path == nullptr || trace->find("text") != nullptr) return true;
  const std::string file = path->as_string();
  TRY_ASSIGN(std::string text, host::read_file(file, kTraceLimit));
  const size_t slash = file.find_last_of('/');
  trace->set("name", slash == std::string::npos ? file : file.substr(slash + 1));
  trace->set("text", std::move(text));
  trace->erase("path");
  return true;
}

}  // namespace vramwise::cli
