#include "apps/cli/loadtest.h"

#include <CLI/CLI.hpp>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "apps/cli/loadtest_report.h"
#include "apps/cli/options.h"
#include "apps/cli/sizes.h"
#include "base/text.h"
#include "formats/http/head.h"
#include "host/environment.h"
#include "host/files.h"
#include "host/interrupt.h"
#include "host/live/load_report.h"
#include "host/live/load_run.h"
#include "host/model_source.h"
#include "host/progress.h"
#include "workload/lengths.h"
#include "workload/trace.h"

namespace vramwise::cli {
namespace {

using host::LoadLengths;
using host::LoadOptions;

constexpr int64_t kMostUsers = 4096;
constexpr int64_t kMostPrompt = 2'000'000;
constexpr int64_t kMostOutput = 1'000'000;
constexpr int64_t kMostTrace = int64_t{512} << 20;  // bytes of a file

struct Span {
  int64_t low = 0;
  int64_t high = 0;
};

struct Options {
  std::string plan_file;
  std::string html;
  std::string key_variable = "OPENAI_API_KEY";
  std::string metrics;
  bool quiet = false;
  Span prompt;
  Span output;
  std::optional<workload::Lengths> lengths;  // of --lengths: wins over the spans
  LoadOptions load;
};

// "512" or "100-2000".
Result<Span> parse_span(const std::string& value, std::string_view flag, int64_t most) {
  const size_t dash = value.find('-');
  Span span;
  TRY_ASSIGN(span.low, parse_tokens(std::string_view(value).substr(0, dash), flag));
  span.high = span.low;
  if (dash != std::string::npos) {
    TRY_ASSIGN(span.high, parse_tokens(std::string_view(value).substr(dash + 1), flag));
  }
  if (span.low < 1 || span.high < span.low || span.high > most) {
    return fail(Error(ErrorCode::invalid_input, "'" + value.substr(0, 40) +
                                                    "' is not a number of tokens up to " +
                                                    format_grouped(most))
                    .at(std::string(flag))
                    .hint("write 512, or 100-2000 for even odds between the two"));
  }
  return span;
}

// A preset of the catalog ("chat"), or a file of recorded requests.
Result<workload::Lengths> read_lengths(const std::string& value) {
  json::Value from = json::Value::object();
  workload::Trace trace;
  const bool file = host::looks_like_path(value) || host::exists(value);
  if (file) {
    TRY_ASSIGN(const std::string text, host::read_file(value, kMostTrace));
    TRY_ASSIGN(trace, workload::read_trace(text, value));
  }
  from.set("kind", file ? "trace" : "preset");
  from.set("name", value);
  Notes notes;
  return workload::Lengths::read(json::Reader(from, "--lengths"), file ? &trace : nullptr, notes);
}

using Row = LiveOption<Options>;
constexpr std::array kRows = {
    Row{"--lengths", "NAME|FILE", "Load",
        "lengths of a preset (chat, code, …) or of recorded requests (CSV, JSON Lines)",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          TRY_ASSIGN(o.lengths, read_lengths(v));
          return true;
        }},
    Row{"--plan", "FILE", "Plan",
        "the plan: an answer of plan --json, or a request; gives users and lengths",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.plan_file = v;
          return true;
        }},
    Row{"--users", "N", "Load", "users at once (default: the plan's concurrency, else 8)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.users, parse_count(v, flag, 1, kMostUsers));
          return true;
        }},
    Row{"--prompt-tokens", "N|N-N", "Load",
        "length of prompts, or a range (default: from the plan's sequence, else 512)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.prompt, parse_span(v, flag, kMostPrompt));
          return true;
        }},
    Row{"--output-tokens", "N|N-N", "Load",
        "length of answers, or a range (default: a quarter of the plan's sequence, else 128)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.output, parse_span(v, flag, kMostOutput));
          return true;
        }},
    Row{"--ramp", "TIME", "Load", "until all users are there (default 10s)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.ramp_seconds, parse_duration(v, flag, 0, 3600));
          return true;
        }},
    Row{"--hold", "TIME", "Load", "with all users (default 60s)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.hold_seconds, parse_duration(v, flag, 0.5, 86400));
          return true;
        }},
    Row{"--drain", "TIME", "Load", "for what still runs at the end (default 30s)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.drain_seconds, parse_duration(v, flag, 0, 3600));
          return true;
        }},
    Row{"--requests", "N", "Load", "at most so many requests (default 1,000,000)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.most_requests, parse_count(v, flag, 1, 10'000'000));
          return true;
        }},
    Row{"--seed", "N", "Load", "of lengths and prompts (default 1)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(const int64_t seed, parse_count(v, flag, 0, kLargestExactInteger));
          o.load.seed = uint64_t(seed);
          return true;
        }},
    Row{"--model", "NAME", "Server", "as the server calls it (default: its first)",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.load.target.model = v;
          return true;
        }},
    Row{"--api", "NAME", "Server", "chat or completions (default chat)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          if (v != "chat" && v != "completions") {
            return fail(Error(ErrorCode::invalid_input, "the api is chat or completions")
                            .at(std::string(flag)));
          }
          o.load.target.api = v == "chat" ? host::LoadApi::chat : host::LoadApi::completions;
          return true;
        }},
    Row{"--ignore-eos", "", "Server",
        "answers of the full length (default with vLLM, SGLang and llama-server)",
        [](Options& o, const std::string&, std::string_view) -> Result<bool> {
          return o.load.target.ignore_eos = true;
        }},
    Row{"--metrics", "URL", "Server", "the engine's metrics (default: /metrics of the server)",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.metrics = v;
          return true;
        }},
    Row{"--key-env", "NAME", "Server",
        "environment variable with the server's key (default OPENAI_API_KEY)",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.key_variable = v;
          return true;
        }},
    Row{"--timeout", "TIME", "Bounds", "for one request (default 300s)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.request_seconds, parse_duration(v, flag, 0.1, 86400));
          return true;
        }},
    Row{"--stall", "TIME", "Bounds", "without a byte in the middle of an answer (default 30s)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.load.stall_seconds, parse_duration(v, flag, 0.1, 86400));
          return true;
        }},
    Row{"--least-free", "SIZE", "Bounds",
        "stop when a card has less free (default 128MiB; 0B: never)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(const int64_t bytes, parse_bytes(v, flag));
          o.load.least_free = Bytes(bytes);
          return true;
        }},
    Row{"--quiet", "", "Output", "no progress on standard error",
        [](Options& o, const std::string&, std::string_view) -> Result<bool> {
          return o.quiet = true;
        }},
    Row{"--html", "FILE", "Output", "write the report with its pictures as one page, too",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.html = v;
          return true;
        }},
};

// What -u and -c say when there is no model to plan for.
void read_workload(const Question& question, int64_t& users, int64_t& sequence) {
  json::Value scratch = json::Value::object();
  const auto rows = request_options();
  for (size_t i = 0; i < rows.size() && i < question.values.size(); ++i) {
    if (rows[i].group != "Workload") continue;
    for (const std::string& value : question.values[i]) {
      if (!rows[i].apply(scratch, value, rows[i].names)) return;
    }
  }
  const json::Value* workload = scratch.find("workload");
  if (workload == nullptr) return;
  const auto integer = [&](const char* key, int64_t& into) {
    const json::Value* value = workload->find(key);
    if (into == 0 && value != nullptr && value->is_integer()) into = value->as_integer();
  };
  integer("concurrency", users);
  integer("sequence_tokens", sequence);
}

bool on_this_machine(const std::string& address) {
  const auto url = formats::parse_url(address);
  return url &&
         (url->host == "localhost" || url->host == "[::1]" || starts_with(url->host, "127."));
}

// Users and lengths that were not given follow from the plan.
void complete(Options& options, const std::optional<host::PlanView>& plan,
              const Question& question) {
  int64_t users = plan ? plan->concurrency : 0;
  int64_t sequence = plan ? plan->sequence_tokens : 0;
  read_workload(question, users, sequence);
  if (options.load.users == 0) options.load.users = users > 0 ? std::min(users, kMostUsers) : 8;
  if (options.output.low == 0) {
    const int64_t output = sequence > 0 ? std::clamp<int64_t>(sequence / 4, 1, 1024) : 128;
    options.output = {output, output};
  }
  if (options.prompt.low == 0) {
    // A few tokens stay for what the chat template adds beyond our count.
    const int64_t room = sequence - options.output.high - 16;
    const int64_t prompt = sequence > 0 ? std::clamp<int64_t>(room, 1, kMostPrompt) : 512;
    options.prompt = {prompt, prompt};
  }
  auto random = std::make_shared<workload::Random>(options.load.seed, workload::Stream::lengths);
  const auto draw = [random](const Span& span) {
    return span.low + int64_t(random->below(uint64_t(span.high - span.low + 1)));
  };
  if (options.lengths) {
    if (sequence > 0) options.lengths->clip(sequence);
    options.load.lengths = [random,
                            lengths = std::make_shared<workload::Lengths>(*options.lengths)] {
      const workload::Pair pair = lengths->draw(*random);
      LoadLengths drawn;
      drawn.prompt = pair.prompt;
      drawn.output = pair.output;
      return drawn;
    };
    return;
  }
  options.load.lengths = [draw, prompt = options.prompt, output = options.output] {
    LoadLengths lengths;
    lengths.prompt = draw(prompt);
    lengths.output = draw(output);
    return lengths;
  };
}

std::string progress_text(const Options& options, const host::LoadMoment& moment) {
  std::string text = format_fixed(moment.seconds, 0) + " s of " +
                     format_fixed(options.load.ramp_seconds + options.load.hold_seconds, 0) + ", " +
                     std::to_string(moment.streams) + " of " + std::to_string(options.load.users) +
                     " streams, " + format_grouped(moment.done) + " requests, " +
                     format_grouped(moment.errors) + " errors";
  if (moment.engine && moment.engine->cache_use) {
    text += ", cache " + format_fixed(*moment.engine->cache_use * 100, 0) + " %";
  }
  return text;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return {};
  return fail(Error(ErrorCode::invalid_input, "cannot write '" + path + "'").at("--html"));
}

}  // namespace

LoadtestCommand::LoadtestCommand(const Program& program)
    : LiveCommand(
          program.app.add_subcommand(
              "loadtest", "real requests to a running server: does it hold the planned users"),
          program.output) {
  if (!program.needs("loadtest")) return;
  command_->add_option("URL", server_, "OpenAI-compatible server, e.g. http://127.0.0.1:8000");
  question_.ask = "plan";
  question_.own_load = true;
  add_live_options<Options>(*command_, kRows, given_);
  add_question_options(*command_, question_, output_);
}

int LoadtestCommand::run(const std::string& launch_line) {
  Options options;
  options.load.users = 0;
  if (auto applied = apply_live_options<Options>(kRows, given_, options); !applied) {
    return show_error(applied.error(), output_);
  }
  if (server_.empty()) {
    std::cerr << "error: no server given\n  help: vramwise loadtest http://127.0.0.1:8000\n";
    return kUsage;
  }
  auto address = host::server_address(server_);
  if (!address) return show_error(address.error(), output_);
  question_.line = launch_line;
  const auto plan = find_plan(options.plan_file, question_);
  if (!plan) return show_error(plan.error(), output_);
  LoadOptions& load = options.load;
  load.target.server = *address;
  load.target.token = host::env(options.key_variable.c_str());
  load.metrics_url = options.metrics.empty() ? *address + "/metrics" : options.metrics;
  load.watch_cards = on_this_machine(*address);
  complete(options, *plan, question_);
  // Before a minute of work, not after it.
  if (!options.html.empty()) {
    if (auto written = write_file(options.html, ""); !written) {
      return show_error(written.error(), output_);
    }
  }

  host::catch_interrupts();
  host::Progress progress(options.quiet);
  progress.begin("asking " + *address);
  host::TokenScale scale;
  std::string engine;
  if (auto ready = host::prepare_load(load, scale, engine); !ready) {
    progress.clear();
    if (host::interrupted()) return 130;
    return show_error(ready.error(), output_);
  }
  auto result = host::run_load(load, scale, [&](const host::LoadMoment& moment) {
    progress.begin(progress_text(options, moment));
  });
  progress.clear();
  if (!result) return show_error(result.error(), output_);
  result->engine = engine;
  const json::Value report = host::load_report(*result, *plan);
  if (!options.html.empty()) {
    if (auto written = write_file(options.html, loadtest_html(report)); !written) {
      return show_error(written.error(), output_);
    }
  }
  if (output_.json) {
    std::cout << json::dump(report, 2) << "\n";
  } else {
    std::cout << loadtest_text(report, output_.style());
    if (!options.html.empty()) std::cout << "\nreport: " << options.html << "\n";
  }
  std::cout.flush();
  const int status = host::load_exit_status(report);
  return output_.exit_zero && status == 1 ? 0 : status;
}

}  // namespace vramwise::cli
