#include "verify/log_builder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace vramwise::verify {
namespace {

constexpr size_t kMaxReadings = 4000;  // 64 ranks x 60 fields
constexpr size_t kMaxFailures = 200;
constexpr size_t kMaxText = 400;  // of a failure's line that is kept

// Failures that can come at any time: where, is told by the traceback or by what was printed.
bool anywhere(std::string_view id) {
  return contains(id, "out_of_memory") || id == "allocation_limit" || id == "runner_died" ||
         id == "shared_memory" || id == "does_not_fit";
}

constexpr std::string_view kPoolLine = "pool";  // templates_serving.cpp

Reading reading_of(const Capture& c) {
  Reading r;
  r.field = std::string(c.name);
  r.text = std::string(c.text.substr(0, kMaxText));
  r.first = r.last = r.smallest = r.largest = r.sum = c.value;
  r.rounding = c.rounding;
  r.unit = c.unit;
  r.number = c.number;
  r.count = 1;
  return r;
}

// The first lines of a program, which print its version or its arguments. What llama.cpp prints
// under Ollama is a part of Ollama's own start.
bool begins_process(std::string_view id, const Log& log) {
  constexpr std::array<std::string_view, 6> kFirst = {"vllm_version",   "vllm_args",
                                                      "vllm_namespace", "sglang_args",
                                                      "trtllm_version", "ollama_version"};
  if (id == "llamacpp_build") return log.config.engine != "ollama";
  return std::find(kFirst.begin(), kFirst.end(), id) != kFirst.end();
}

}  // namespace

// Another process begins: what the last one printed says nothing about it.
void LogBuilder::next_start() {
  Log next;
  next.bytes = log.bytes;
  next.matched = log.matched;
  next.starts = log.starts + 1;
  ended_ = std::move(log);
  log = std::move(next);
  traced_ = traced_around_ = Phase::start;
  expected_ = 0;
  config_reader_.forget();
}

// The end of the text: the start that counts is chosen.
void LogBuilder::close() {
  if (ended_ && !has_ended()) {
    // Cut off while it was starting again: the one before tells how that ends.
    ended_->bytes = log.bytes;
    ended_->matched = log.matched;
    ended_->starts = log.starts;
    log = std::move(*ended_);
  }
  ended_.reset();
}

bool LogBuilder::has_reading(std::string_view field, const std::string& rank) const {
  return std::any_of(log.readings.begin(), log.readings.end(), [&](const Reading& r) {
    return r.field == field && r.rank == rank && r.line > began_;
  });
}

// SGLang loads the drafter when its target is loaded, and cuts its pool when the target's pools are
// done ("Memory pool end"). Source: sglang speculative/, model_executor/model_runner.py.
bool LogBuilder::is_of_drafter(const KnownLine& row, const std::string& rank) const {
  const std::string_view id = row.row->id;
  if (id.empty() || !log.config.options.has("speculative_algorithm")) return false;
  return has_reading(id == kPoolLine ? "after_pool" : "after_loading", rank);
}

// The pool of the window layers comes first, as many tokens as the line before it said.
// Source: sglang mem_cache/swa_memory_pool.py.
bool LogBuilder::is_of_windows(const std::vector<Capture>& captures,
                               const std::string& rank) const {
  const auto tokens = std::find_if(captures.begin(), captures.end(),
                                   [](const Capture& c) { return c.name == "pool_tokens"; });
  if (tokens == captures.end() || has_reading("window_pool_tokens", rank)) return false;
  return std::any_of(log.readings.begin(), log.readings.end(), [&](const Reading& r) {
    return r.field == "swa_layer_tokens" && r.rank == rank && r.line > began_ &&
           r.last == tokens->value;
  });
}

void LogBuilder::keep(std::string field, const Capture& c, const std::string& device,
                      const std::string& rank, const KnownLine& row, int64_t number) {
  // What is printed again comes in the order of the first time: the search goes on from there.
  const size_t count = log.readings.size();
  for (size_t i = 0; i < count; ++i, ++expected_) {
    if (expected_ >= count) expected_ = 0;
    Reading& r = log.readings[expected_];
    if (r.field != field || r.device != device || r.rank != rank) continue;
    // Another engine's words for the same thing never mix.
    if (r.engine != row.engine) continue;
    ++expected_;
    r.last = c.value;
    r.text = std::string(c.text.substr(0, kMaxText));
    r.smallest = std::min(r.smallest, c.value);
    r.largest = std::max(r.largest, c.value);
    r.rounding = c.rounding;
    r.unit = c.unit;
    r.sum += c.value;
    r.line = number;
    ++r.count;
    return;
  }
  if (log.readings.size() >= kMaxReadings) {
    log.truncated = true;
    return;
  }
  Reading r = reading_of(c);
  r.field = std::move(field);
  r.device = device;
  r.rank = rank;
  r.engine = std::string(row.engine);
  r.line = number;
  log.readings.push_back(std::move(r));
}

void LogBuilder::trace(const Template& frame, std::string_view clean, size_t at) {
  // "in load_model" is a word of its own.
  const size_t end = at + anchor_of(frame.pattern).size();
  if (frame.phase == Phase::start) {
    traced_ = traced_around_ = Phase::start;
  } else if (end >= clean.size() || clean[end] == '\n' || clean[end] == ' ' || clean[end] == '<') {
    Phase& where = frame.id == "around" ? traced_around_ : traced_;
    // The dummy sampler runs inside of a profile or of a warm-up: the outermost tells.
    if (where == Phase::start) where = frame.phase;
  }
}

void LogBuilder::fail(const KnownLine& row, const std::vector<Capture>& captures,
                      std::string_view text, std::string rank, int64_t number) {
  const Template& t = *row.row;
  if (log.failures.size() >= kMaxFailures) {
    // Keep the first ones (the cause) and the last.
    log.failures.pop_back();
  }
  Failure failure;
  failure.id = std::string(t.id);
  failure.engine = std::string(row.engine);
  failure.rank = std::move(rank);
  failure.phase = t.phase;
  if (t.phase == Phase::start && anywhere(t.id)) {
    failure.phase = traced_ != Phase::start          ? traced_
                    : traced_around_ != Phase::start ? traced_around_
                                                     : log.phase;
  }
  failure.line = number;
  failure.text = std::string(text);
  for (const Capture& c : captures) failure.captures.push_back(reading_of(c));
  log.failures.push_back(std::move(failure));
}

void LogBuilder::take(const KnownLine& row, const std::vector<Capture>& captures,
                      std::string_view clean, size_t at, int64_t number, RankTags& tags) {
  const Template& t = *row.row;
  if (t.tells == Tells::decoy) {
    if (t.phase > log.phase) log.phase = t.phase;
    return;
  }
  if (t.tells == Tells::frame) return trace(t, clean, at);
  const std::string rank = tags.before(at);
  std::string device;
  for (const Capture& c : captures) {
    if (c.name == "device") device = std::string(c.text.substr(0, 60));
  }
  if (t.tells == Tells::failure) {
    return fail(row, captures, trim(clean.substr(at, kMaxText)), rank, number);
  }
  if (t.tells == Tells::config) {
    if (has_ended() && begins_process(t.id, log)) next_start();
    if (log.config.engine.empty() || row.engine == "ollama") {
      log.config.engine = std::string(row.engine);
    }
    began_ = number;
    config_reader_.line(t.id, clean.substr(at), captures, log.config);
  }
  std::string whose;
  if (t.tells == Tells::values && is_of_drafter(row, rank)) {
    whose = "drafter_";
  } else if (t.id == kPoolLine && is_of_windows(captures, rank)) {
    whose = "window_";
  }
  for (const Capture& c : captures) {
    if (c.name == "device") continue;
    // What is free behind the drafter is what the pools find: that stays one field.
    const bool same = whose.empty() || c.name == "after_loading";
    keep(same ? std::string(c.name) : whose + std::string(c.name), c, device, rank, row, number);
  }
  if (t.phase > log.phase) log.phase = t.phase;
  if (t.phase == Phase::serve && t.tells == Tells::values) log.serving = true;
}

}  // namespace vramwise::verify
