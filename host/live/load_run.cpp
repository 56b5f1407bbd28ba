#include "host/live/load_run.h"

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "host/interrupt.h"

namespace vramwise::host {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int64_t kEnoughToJudge = 20;  // requests, before errors end the test
constexpr size_t kMostMoments = 100'000;

milliseconds in_ms(double seconds) { return milliseconds(int64_t(seconds * 1000)); }

class Run;

// One user: asks, waits for the whole answer, asks again.
class User final : public ExchangeHandler {
 public:
  User(Run& run, double start) : run_(run), next_(start) {}
  bool on_data(int status, std::string_view bytes) override;
  void on_end(const ExchangeEnd& end) override;
  void ask();

  double next() const { return next_; }
  bool busy() const { return busy_; }

 private:
  Run& run_;
  double next_;  // seconds: when to ask
  bool busy_ = false;
  int failures_ = 0;  // in a row
  LoadStream stream_;
  LoadRecord record_;
};

// Asks the engine how it is, over and over, beside the streams.
class MetricsPoller final : public ExchangeHandler {
 public:
  bool on_data(int status, std::string_view bytes) override {
    status_ = status;
    text_ += bytes;
    return true;
  }
  void on_end(const ExchangeEnd& end) override {
    busy = false;
    if (end.fault == ExchangeFault::none && status_ == 200) {
      EngineMetrics metrics = read_engine_metrics(text_);
      if (!metrics.engine.empty()) {
        last = std::move(metrics);
        fault.clear();
        return;
      }
      fault = "no metrics of vLLM, SGLang, TensorRT-LLM or llama-server";
    } else {
      fault = end.fault != ExchangeFault::none ? end.text : "status " + std::to_string(status_);
    }
    last.reset();
  }
  void begin() {
    busy = true;
    status_ = 0;
    text_.clear();
  }
  bool busy = false;
  std::optional<EngineMetrics> last;
  std::string fault;

 private:
  int status_ = 0;
  std::string text_;
};

class Run {
 public:
  Run(const LoadOptions& options, const TokenScale& scale, Exchanges& exchanges)
      : options(options),
        exchanges_(exchanges),
        random_(options.seed, workload::Stream::lengths),
        start_(Clock::now()) {
    result.options = options;
    result.scale = scale;
    for (int64_t i = 0; i < options.users; ++i) {
      users_.emplace_back(*this, options.ramp_seconds * double(i) / double(options.users));
    }
  }

  void go(const std::function<void(const LoadMoment&)>& progress);

  double now() const { return seconds_at(Clock::now()); }
  double seconds_at(Clock::time_point t) const {
    return std::chrono::duration<double>(t - start_).count();
  }
  bool asking() const { return !ending_; }
  void start(const LoadLengths& lengths, ExchangeHandler& handler) {
    ExchangeRequest request;
    request.url = options.target.url();
    request.token = options.target.token;
    request.accept = "text/event-stream";
    request.body = make_body(options.target, make_prompt(lengths.prompt, result.scale, random_),
                             lengths.output);
    request.total = in_ms(options.request_seconds);
    request.stall = in_ms(options.stall_seconds);
    // Far more than the wanted tokens in the wordiest of streams.
    request.most_bytes = (int64_t{1} << 20) + lengths.output * 4096;
    ++asked_;
    exchanges_.start(request, handler);
  }
  void add(LoadRecord record);

  const LoadOptions& options;
  LoadResult result;
  int64_t tokens = 0;

 private:
  void end(LoadStop why) {
    if (ending_) return;
    ending_ = true;
    result.stop = why;
    result.hold_end = now();
  }
  void poll_metrics();
  void take_cards();
  LoadMoment moment() const;

  Exchanges& exchanges_;
  workload::Random random_;
  Clock::time_point start_;
  std::deque<User> users_;  // their addresses are given to the exchanges
  MetricsPoller metrics_;
  std::string metrics_url_;  // empty: the option's
  bool metrics_known_ = false, tried_other_ = false;
  std::optional<CardSampler> sampler_;
  bool ending_ = false;
  bool killed_ = false;  // what ends now was stopped by us
  int64_t asked_ = 0;
  int64_t errors_ = 0;
  std::deque<bool> recent_;  // of the last requests: was it an error
};

void User::ask() {
  busy_ = true;
  stream_ = LoadStream();
  record_ = LoadRecord();
  const LoadLengths lengths = run_.options.lengths();
  record_.asked_prompt = lengths.prompt;
  record_.asked_output = lengths.output;
  record_.start = run_.now();
  run_.start(lengths, *this);
}

bool User::on_data(int status, std::string_view bytes) {
  const auto now = Clock::now();
  const bool good = stream_.take(status, bytes, now);
  if (stream_.fresh() > 0) {
    run_.tokens += stream_.fresh();
    // Several tokens in one piece came together: one gap, then none.
    if (stream_.gap() > 0) run_.result.gaps.add(stream_.gap(), 1);
  }
  return good;
}

void User::on_end(const ExchangeEnd& end) {
  busy_ = false;
  stream_.finish(end, record_);
  record_.end = run_.now();
  if (stream_.has_token()) {
    record_.first_token = run_.seconds_at(stream_.first_token()) - record_.start;
  }
  // A server that refuses is not hammered: a quarter of a second, doubled, five at most.
  failures_ = record_.error.empty() ? 0 : std::min(failures_ + 1, 6);
  next_ = record_.end + (failures_ == 0 ? 0 : std::min(5.0, 0.125 * double(1 << failures_)));
  run_.add(std::move(record_));
}

void Run::add(LoadRecord record) {
  // Ours at the end, and whatever broke because of it.
  if (killed_) {
    ++result.unfinished;
    return;
  }
  const bool bad = !record.error.empty();
  errors_ += bad ? 1 : 0;
  recent_.push_back(bad);
  if (int64_t(recent_.size()) > kEnoughToJudge) recent_.pop_front();
  result.records.push_back(std::move(record));
  const int64_t failed = std::count(recent_.begin(), recent_.end(), true);
  // Nine of ten: nothing is learned any more.
  if (int64_t(recent_.size()) == kEnoughToJudge && failed * 10 >= kEnoughToJudge * 9) {
    end(LoadStop::errors);
  }
}

void Run::poll_metrics() {
  if (options.metrics_url.empty() || metrics_.busy) return;
  // TensorRT-LLM has Prometheus' text at another path; looked at once, when the usual one has none.
  const std::string other = options.target.server + "/prometheus/metrics";
  if (!metrics_.fault.empty() && !metrics_known_) {
    const bool usual = options.metrics_url == options.target.server + "/metrics";
    metrics_url_ = usual && !tried_other_ ? other : options.metrics_url;
    tried_other_ = true;
  }
  metrics_known_ = metrics_known_ || metrics_.last.has_value();
  metrics_.begin();
  ExchangeRequest request;
  request.url = metrics_url_.empty() ? options.metrics_url : metrics_url_;
  request.token = options.target.token;
  request.accept = "text/plain";
  request.connect = milliseconds(2000);
  request.total = milliseconds(5000);
  request.most_bytes = int64_t{16} << 20;
  exchanges_.start(request, metrics_);
}

void Run::take_cards() {
  if (!sampler_) return;
  for (CardSample& sample : sampler_->take()) {
    for (const Card& card : sample.cards) {
      if (!card.divided && card.total > Bytes() && card.free < options.least_free) {
        end(LoadStop::memory);
      }
    }
    result.cards.push_back(std::move(sample));
  }
}

LoadMoment Run::moment() const {
  LoadMoment moment;
  moment.seconds = now();
  for (const User& user : users_) moment.streams += user.busy() ? 1 : 0;
  moment.tokens = tokens;
  moment.done = int64_t(result.records.size());
  moment.errors = errors_;
  moment.engine = metrics_.last;
  return moment;
}

void Run::go(const std::function<void(const LoadMoment&)>& progress) {
  if (options.watch_cards) sampler_.emplace(start_, milliseconds(1000));
  result.hold_start = options.ramp_seconds;
  double next_look = 0;
  while (!ending_) {
    const double time = now();
    if (interrupted()) end(LoadStop::interrupted);
    if (time >= options.ramp_seconds + options.hold_seconds) end(LoadStop::time);
    if (time >= next_look) {
      take_cards();
      poll_metrics();
      if (result.moments.size() < kMostMoments) result.moments.push_back(moment());
      progress(moment());
      next_look = std::max(next_look + 1, time);
    }
    double wake = next_look;
    for (User& user : users_) {
      if (ending_) break;
      if (user.busy()) continue;
      if (user.next() > time) {
        wake = std::min(wake, user.next());
        continue;
      }
      if (asked_ >= options.most_requests) {
        if (exchanges_.running() == (metrics_.busy ? 1 : 0)) end(LoadStop::requests);
        continue;
      }
      user.ask();
    }
    exchanges_.turn(in_ms(std::clamp(wake - now(), 0.001, 1.0)));
  }
  // What runs may end by itself for a while; an interrupt does not wait.
  const double last = now() + options.drain_seconds;
  while (now() < last && !interrupted() && result.stop != LoadStop::memory &&
         result.stop != LoadStop::errors) {
    int64_t busy = 0;
    for (const User& user : users_) busy += user.busy() ? 1 : 0;
    if (busy == 0) break;
    if (now() >= next_look) {
      take_cards();
      poll_metrics();
      if (result.moments.size() < kMostMoments) result.moments.push_back(moment());
      progress(moment());
      next_look = now() + 1;
    }
    exchanges_.turn(milliseconds(100));
  }
  killed_ = true;
  exchanges_.cancel_all();
  take_cards();
  result.seconds = now();
  result.metrics_fault = metrics_.fault;
  sampler_.reset();
}

}  // namespace

std::string_view to_string(LoadStop stop) {
  switch (stop) {
    case LoadStop::time: return "time";
    case LoadStop::requests: return "requests";
    case LoadStop::interrupted: return "interrupted";
    case LoadStop::errors: return "errors";
    case LoadStop::memory: return "memory";
  }
  return "";
}

Result<LoadResult> run_load(const LoadOptions& options, const TokenScale& scale,
                            const std::function<void(const LoadMoment&)>& progress) {
  TRY_ASSIGN(const auto exchanges, Exchanges::open());
  Run run(options, scale, *exchanges);
  run.go(progress);
  return std::move(run.result);
}

}  // namespace vramwise::host
