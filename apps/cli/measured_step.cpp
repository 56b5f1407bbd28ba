#include "apps/cli/measured_step.h"

#include <algorithm>
#include <optional>

#include "apps/cli/load_options.h"
#include "apps/cli/measured_metrics.h"
#include "base/text.h"
#include "host/files.h"
#include "host/model_source.h"
#include "json/parse.h"
#include "json/reader.h"

namespace vramwise::cli {
namespace {

using json::Value;

constexpr int64_t kReportLimit = int64_t{64} << 20;

// Tokens a second of several users. A second such point, of more users, is the third of all.
void add_rate(Value& measured, int64_t users, double rate) {
  const Value* before = measured.find("users");
  if (before == nullptr || before->as_integer() == users) {
    measured.set("users", users);
    measured.set("output_tokens_per_second", rate);
    return;
  }
  Value more = Value::object();
  more.set("users", std::max(users, before->as_integer()));
  more.set(
      "output_tokens_per_second",
      users > before->as_integer() ? rate : measured.find("output_tokens_per_second")->as_double());
  if (users < before->as_integer()) {
    measured.set("users", users);
    measured.set("output_tokens_per_second", rate);
  }
  measured.set("more", std::move(more));
}

Result<bool> add_figures(Value& measured, const std::string& value, std::string_view flag) {
  std::optional<int64_t> users;
  std::optional<double> rate;
  for (const std::string_view pair : split(value, ',')) {
    const size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string_view text = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    if (key == "itl" || key == "ttft") {
      TRY_ASSIGN(const double seconds, parse_seconds(text, flag));
      measured.set(key == "itl" ? "inter_token_seconds" : "ttft_seconds", seconds);
      continue;
    }
    if (key == "tokens" && parse_number(text)) {
      rate = parse_number(text);
    } else if (key == "users" && parse_integer(text)) {
      users = parse_integer(text);
    } else if ((key == "prompt" || key == "output") && parse_integer(text)) {
      measured.set(key, *parse_integer(text));
    } else {
      return fail(Error(ErrorCode::invalid_input,
                        "'" + std::string(pair.substr(0, 60)) + "' is not understood")
                      .at(std::string(flag))
                      .hint("write --measured itl=12ms,ttft=62ms,prompt=512,output=256 of one user "
                            "alone, and users=8,tokens=540 of a few, or give reports of loadtest "
                            "--json"));
    }
  }
  if (users.has_value() != rate.has_value()) {
    return fail(Error(ErrorCode::invalid_input,
                      "users and tokens belong together: so many users, so many tokens a second")
                    .at(std::string(flag))
                    .hint("write users=8,tokens=540"));
  }
  if (users) add_rate(measured, *users, *rate);
  return true;
}

// What `vllm bench serve --save-result` writes (vllm/benchmarks/serve.py): members of one object,
// times in milliseconds, null where nothing bounds the requests at a time.
Result<bool> add_vllm_bench(Value& measured, const json::Reader& root) {
  const auto closed = [&](const json::Reader& at, const std::string& why) {
    return at.error(ErrorCode::unsupported, why)
        .hint("run it with --request-rate inf --max-concurrency 1, and once more with 8");
  };
  const Value* most = root.value().find("max_concurrency");
  if (most == nullptr || !most->is_number()) {
    return fail(closed(root, "this benchmark had no bound on the requests at a time"));
  }
  const Value* arriving = root.value().find("request_rate");
  if (arriving != nullptr && arriving->is_number()) {
    return fail(
        closed(root, "this benchmark sent requests at a rate: its users were not kept busy"));
  }
  TRY_ASSIGN(const int64_t users, root.require_integer({"max_concurrency"}, 1, 1 << 20));
  TRY_ASSIGN(const int64_t requests, root.require_integer({"completed"}, 1, int64_t{1} << 40));
  if (users > 1) {
    TRY_ASSIGN(const json::Reader rate, root.require({"output_throughput"}));
    TRY_ASSIGN(const double tokens, rate.number(1e-9, 1e12));
    add_rate(measured, users, tokens);
    return true;
  }
  for (const auto& [member, key] : {std::pair("median_itl_ms", "inter_token_seconds"),
                                    std::pair("median_ttft_ms", "ttft_seconds")}) {
    TRY_ASSIGN(const json::Reader median, root.require({member}));
    TRY_ASSIGN(const double ms, median.number(1e-6, 1e9));
    measured.set(key, ms / 1000);
  }
  for (const auto& [member, key] :
       {std::pair("total_input_tokens", "prompt"), std::pair("total_output_tokens", "output")}) {
    TRY_ASSIGN(const int64_t total, root.require_integer({member}, 1, int64_t{1} << 50));
    measured.set(key, std::max<int64_t>(1, (total + requests / 2) / requests));
  }
  return true;
}

Result<bool> add_report(Value& measured, const std::string& file) {
  TRY_ASSIGN(const std::string text, host::read_file(file, kReportLimit));
  TRY_ASSIGN(const Value document, json::parse(text, file));
  const json::Reader root(document, file);
  if (root.is_object() && root.has("output_throughput")) return add_vllm_bench(measured, root);
  TRY_ASSIGN(const json::Reader report, root.require({"loadtest"}));
  TRY_ASSIGN(const json::Reader load, report.require({"load"}));
  TRY_ASSIGN(const int64_t users, load.require_integer({"users"}, 1, 1 << 20));
  if (users > 1) {
    TRY_ASSIGN(const json::Reader throughput, report.require({"throughput"}));
    TRY_ASSIGN(const auto rate, throughput.optional_number({"output_tokens_per_second"}, 0, 1e12));
    if (!rate || *rate <= 0) {
      return fail(report.error(ErrorCode::missing_field, "the test saw no tokens a second"));
    }
    add_rate(measured, users, *rate);
    return true;
  }
  for (const auto& [block, key] : {std::pair("itl_seconds", "inter_token_seconds"),
                                   std::pair("ttft_seconds", "ttft_seconds")}) {
    TRY_ASSIGN(const json::Reader spread, report.require({block}));
    TRY_ASSIGN(const auto p50, spread.optional_number({"p50"}, 0, 1e6));
    if (!p50) return fail(spread.error(ErrorCode::missing_field, "the test measured none"));
    measured.set(key, *p50);
  }
  TRY_ASSIGN(const json::Reader lengths, report.require({"lengths"}));
  TRY_ASSIGN(const auto prompt,
             lengths.optional_number({"prompt_tokens_mean", "asked_prompt_tokens_mean"}, 1, 1e9));
  TRY_ASSIGN(const auto output, lengths.optional_number({"output_tokens_mean"}, 1, 1e9));
  if (!prompt || !output) {
    return fail(lengths.error(ErrorCode::missing_field, "the test does not say its lengths"));
  }
  measured.set("prompt", int64_t(*prompt + 0.5));
  measured.set("output", int64_t(*output + 0.5));
  return true;
}

// before=FILE,after=FILE,users=N: two texts of /metrics around a load.
Result<bool> add_metrics(Value& measured, const std::string& value, std::string_view flag) {
  MeasuredMetrics given;
  for (const std::string_view pair : split(value, ',')) {
    const size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string_view text = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    const auto number = parse_integer(text);
    const bool count = number && *number > 0 && *number <= (int64_t{1} << 30);
    if (key == "before" && !text.empty()) {
      given.before = text;
    } else if (key == "after" && !text.empty()) {
      given.after = text;
    } else if (key == "users" && count && *number <= (1 << 20)) {
      given.users = number;
    } else if (key == "seconds") {
      TRY_ASSIGN(const double seconds, parse_seconds(text, flag));
      if (seconds > 0) given.seconds = seconds;
    } else if (key == "prompt" && count) {
      given.prompt = number;
    } else if (key == "output" && count) {
      given.output = number;
    } else {
      return fail(Error(ErrorCode::invalid_input,
                        "'" + std::string(pair.substr(0, 60)) + "' is not understood")
                      .at(std::string(flag))
                      .hint("write --measured before=a.prom,after=b.prom,users=8 (and seconds=, "
                            "prompt=, output= where the server does not say them)"));
    }
  }
  if (given.before.empty() || given.after.empty()) {
    return fail(Error(ErrorCode::missing_field, "before and after belong together")
                    .at(std::string(flag))
                    .hint("write --measured before=a.prom,after=b.prom,users=8"));
  }
  TRY_ASSIGN(const MeasuredPoint point, measured_point(given, flag));
  if (point.users > 1) {
    add_rate(measured, point.users, point.tokens_per_second);
    return true;
  }
  measured.set("inter_token_seconds", point.inter_token_seconds);
  measured.set("ttft_seconds", point.ttft_seconds);
  measured.set("prompt", point.prompt);
  measured.set("output", point.output);
  return true;
}

}  // namespace

Result<bool> apply_measured(Value& request, const std::string& value, std::string_view flag) {
  Value& measured = part(part(request, "step_time"), "measured");
  if (starts_with(value, "before=") || starts_with(value, "after=")) {
    return add_metrics(measured, value, flag);
  }
  return value.find('=') == std::string::npos || host::looks_like_path(value)
             ? add_report(measured, value)
             : add_figures(measured, value, flag);
}

}  // namespace vramwise::cli
