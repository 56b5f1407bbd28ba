#include "apps/cli/watch.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <iostream>
#include <utility>

#include "apps/cli/live_screen.h"
#include "apps/cli/sizes.h"
#include "apps/cli/watch_view.h"
#include "base/text.h"
#include "host/environment.h"
#include "host/interrupt.h"
#include "host/live/exchanges.h"
#include "host/live/metrics_server.h"
#include "host/live/watch_state.h"
#include "host/machine/card_reader.h"

namespace vramwise::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Options {
  std::string plan_file;
  double interval = 2;
  double duration = 0;  // 0: until interrupted
  bool once = false;
  bool prometheus = false;
  int listen = -1;
  std::string key_variable = "OPENAI_API_KEY";
  host::WatchLimits limits;
};

using Row = LiveOption<Options>;
constexpr std::array kRows = {
    Row{"--plan", "FILE", "Plan", "the plan to hold it to: an answer of plan --json, or a request",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.plan_file = v;
          return true;
        }},
    Row{"--interval", "TIME", "Watch", "between two looks (default 2s)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.interval, parse_duration(v, flag, 0.1, 3600));
          return true;
        }},
    Row{"--for", "TIME", "Watch", "stop after that long (default: when interrupted)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(o.duration, parse_duration(v, flag, 0.1, 86400 * 30.0));
          return true;
        }},
    Row{"--once", "", "Watch", "one look, then end: exit status 1 when something is wrong now",
        [](Options& o, const std::string&, std::string_view) -> Result<bool> {
          return o.once = true;
        }},
    Row{"--least-free", "SIZE", "Watch",
        "alarm when a card has less free (default 256MiB, or 1 % of the card)",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(const int64_t bytes, parse_bytes(v, flag));
          o.limits.least_free = Bytes(bytes);
          return true;
        }},
    Row{"--key-env", "NAME", "Watch",
        "environment variable with the server's key (default OPENAI_API_KEY)",
        [](Options& o, const std::string& v, std::string_view) -> Result<bool> {
          o.key_variable = v;
          return true;
        }},
    Row{"--prometheus", "", "Output", "one look, as Prometheus text",
        [](Options& o, const std::string&, std::string_view) -> Result<bool> {
          return o.prometheus = true;
        }},
    Row{"--listen", "PORT", "Output", "serve Prometheus text at http://127.0.0.1:PORT/metrics",
        [](Options& o, const std::string& v, std::string_view flag) -> Result<bool> {
          TRY_ASSIGN(const int64_t port, parse_count(v, flag, 0, 65535));
          o.listen = int(port);
          return true;
        }},
};

constexpr const char* kMetrics = "/metrics";
constexpr const char* kTrtllmMetrics = "/prometheus/metrics";

// What an engine needs to answer /metrics, for those that do not by default.
std::string metrics_hint(int status) {
  if (status == 401 || status == 403) return "it wants a key: --key-env NAME";
  return "start it with metrics: llama-server --metrics, SGLang --enable-metrics, TensorRT-LLM "
         "with "
         "return_perf_metrics (vLLM has them)";
}

class Watcher {
 public:
  Watcher(const Options& options, std::string address, std::optional<host::PlanView> plan)
      : options_(options), state_(address, std::move(plan), options.limits), start_(Clock::now()) {}

  host::WatchState& state() { return state_; }
  // Neither a server to ask nor a card of this machine that can be read.
  bool sees_nothing() const { return sees_nothing_; }

  Result<void> open() {
    if (state_.address().empty()) return {};
    TRY_ASSIGN(exchanges_, host::Exchanges::open());
    return {};
  }

  void look() {
    host::WatchSample sample;
    std::vector<host::Finding> findings;
    sample.cards = reader_.read(findings);
    sees_nothing_ = !exchanges_ && sample.cards.empty();
    if (exchanges_) ask_engine(sample);
    sample.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    sample.unix_time = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
    state_.add(std::move(sample));
  }

 private:
  Result<host::SimpleReply> ask(const std::string& url) {
    host::ExchangeRequest request;
    request.url = url;
    request.token = host::env(options_.key_variable.c_str());
    request.accept = "text/plain";
    request.connect = milliseconds(2000);
    request.total = milliseconds(5000);
    request.most_bytes = int64_t{16} << 20;
    return host::exchange_once(*exchanges_, request);
  }

  void ask_engine(host::WatchSample& sample) {
    const std::string url = state_.address() + path_;
    const auto reply = ask(url);
    if (!reply) {
      sample.engine_fault = "no answer from " + url + ": " + reply.error().message;
      return;
    }
    if (reply->status == 200) {
      sample.engine = host::read_engine_metrics(reply->body);
      if (!sample.engine->engine.empty()) return;
      sample.engine.reset();
    }
    // TensorRT-LLM answers JSON at /metrics and Prometheus' text here.
    if (path_ == kMetrics) {
      const auto other = ask(state_.address() + kTrtllmMetrics);
      if (other && other->status == 200) {
        sample.engine = host::read_engine_metrics(other->body);
        if (!sample.engine->engine.empty()) {
          path_ = kTrtllmMetrics;
          return;
        }
        sample.engine.reset();
      }
    }
    sample.engine_fault =
        reply->status == 200
            ? url + " has no metrics of vLLM, SGLang, TensorRT-LLM or llama-server; " +
                  metrics_hint(200)
            : url + " answers status " + std::to_string(reply->status) + "; " +
                  metrics_hint(reply->status);
  }

  const Options& options_;
  host::WatchState state_;
  host::CardReader reader_;
  std::unique_ptr<host::Exchanges> exchanges_;
  Clock::time_point start_;
  std::string path_ = kMetrics;
  bool sees_nothing_ = false;
};

int watch(const Options& options, Watcher& watcher, const Output& output) {
  const bool lines = output.json_format == "lines";
  const bool once = options.once || options.prometheus || (output.json && !lines);
  host::MetricsServer server;
  if (options.listen >= 0) {
    if (auto listening = server.listen(options.listen); !listening) {
      return show_error(listening.error(), output);
    }
    std::cerr << "serving http://127.0.0.1:" << server.port() << "/metrics\n";
  }
  const bool quiet = options.listen >= 0 && !output.json;
  const report::Style first_style = output.style();
  const bool terminal = !output.json && !quiet && !once && ::isatty(1) == 1 &&
                        host::env("TERM") != "dumb" && !host::env("TERM").empty();
  watcher.look();
  if (watcher.sees_nothing()) {
    return show_error(Error(ErrorCode::not_found,
                            "nothing to watch: no server given, and no GPU "
                            "of this machine can be read")
                          .hint("vramwise watch http://127.0.0.1:8000")
                          .hint("what this machine shows: vramwise doctor"),
                      output);
  }
  std::optional<LiveScreen> screen;
  if (terminal) screen.emplace();
  bool looked = true;
  bool urgent = false;
  const auto start = Clock::now();
  auto next = start;
  while (!host::interrupted()) {
    if (!std::exchange(looked, false)) watcher.look();
    if (host::interrupted() && watcher.state().samples().size() > 1) break;
    const host::WatchState& state = watcher.state();
    const auto alarms = state.alarms();
    urgent = !alarms.empty() && alarms.front().urgent;
    std::string text;
    if (options.prometheus) {
      text = state.exposition();
    } else if (output.json) {
      text = json::dump(state.document(), lines ? -1 : 2) + "\n";
    } else if (terminal) {
      // The width may have changed.
      auto picture = watch_view(state, output.style());
      picture.push_back(report::paint(first_style, report::Ink::dim, "Ctrl-C ends"));
      if (!screen->draw(picture)) break;
    } else if (once) {
      for (const std::string& line : watch_view(state, first_style)) text += line + "\n";
    } else if (!quiet) {
      text = watch_line(state, first_style) + "\n";
    }
    if (!write_all(1, text)) break;  // the reader is gone
    if (once) break;
    const double passed = std::chrono::duration<double>(Clock::now() - start).count();
    if (options.duration > 0 && passed + options.interval > options.duration + 1e-3) break;
    next += milliseconds(int64_t(options.interval * 1000));
    // A look that took longer than the interval is not made up for.
    next = std::max(next, Clock::now());
    const auto left = std::chrono::duration_cast<milliseconds>(next - Clock::now());
    if (options.listen >= 0) {
      server.serve(left, [&] { return state.exposition(); });
    } else {
      host::pause_for(left);
    }
  }
  if (once) return urgent && !output.exit_zero && !options.prometheus ? 1 : 0;
  return host::interrupted() && options.duration > 0 ? 130 : 0;
}

}  // namespace

WatchCommand::WatchCommand(const Program& program)
    : LiveCommand(
          program.app.add_subcommand(
              "watch",
              "a running server's memory, cache and queue, beside the plan, with forecasts"),
          program.output) {
  if (!program.needs("watch")) return;
  command_->add_option("URL", server_, "server, e.g. http://127.0.0.1:8000; none: cards alone");
  question_.ask = "plan";
  question_.own_load = true;
  add_live_options<Options>(*command_, kRows, given_);
  add_question_options(*command_, question_, output_);
}

int WatchCommand::run(const std::string& launch_line) {
  host::catch_interrupts();
  Options options;
  if (auto applied = apply_live_options<Options>(kRows, given_, options); !applied) {
    return show_error(applied.error(), output_);
  }
  // A single name is a model's when it does not look like a server.
  if (!server_.empty() && question_.model.empty() && !looks_like_server(server_)) {
    std::swap(server_, question_.model);
    const bool planned = command_->count("--gpu") + command_->count("--request") > 0;
    if (!planned && launch_line.empty() && question_.line_file.empty()) {
      return show_error(Error(ErrorCode::invalid_input,
                              "'" + question_.model + "' is not the address of a server")
                            .at("URL")
                            .hint("vramwise watch http://127.0.0.1:8000")
                            .hint("beside a plan: watch URL --gpu l4 MODEL"),
                        output_);
    }
  }
  question_.line = launch_line;
  const auto plan = find_plan(options.plan_file, question_);
  if (!plan) return show_error(plan.error(), output_);
  std::string address;
  if (!server_.empty()) {
    auto checked = host::server_address(server_);
    if (!checked) return show_error(checked.error(), output_);
    address = std::move(*checked);
  }
  Watcher watcher(options, address, *plan);
  if (auto opened = watcher.open(); !opened) return show_error(opened.error(), output_);
  return watch(options, watcher, output_);
}

}  // namespace vramwise::cli
