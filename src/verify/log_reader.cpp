#include "verify/log_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <string>

#include "base/text.h"
#include "verify/anchors.h"
#include "verify/derived.h"
#include "verify/log_config.h"
#include "verify/prefix.h"
#include "verify/unfold.h"

namespace vramwise::verify {
namespace {

constexpr size_t kMaxLine = size_t{1} << 18;  // the rest of a longer line is read over
constexpr size_t kMaxReadings = 4000;         // 64 ranks x 60 fields
constexpr size_t kMaxFailures = 200;
constexpr size_t kMaxText = 400;            // of a failure's line that is kept
constexpr size_t kPaste = size_t{1} << 18;  // longer texts were not copied by hand
constexpr int kJoinedLines = 8;             // that a wrapped message may go on over

struct Row {
  const Template* row = nullptr;
  std::string_view engine;
};

// All tables behind one scanner, built once.
struct Index {
  std::vector<std::string_view> words;
  std::vector<std::vector<Row>> rows;  // by word: its templates and those of its own beginnings
  std::vector<bool> dull;              // by word: only decoys, which a busy server prints for hours
  Anchors anchors;

  // An anchor with quotes, as a log inside of JSON has it: such a line is found by it, then
  // unwrapped and read by the plain one.
  static std::string_view escaped(std::string_view anchor) {
    static std::deque<std::string> kept;
    std::string text;
    for (const char c : anchor) {
      if (c == '"') text += '\\';
      text += c;
    }
    return kept.emplace_back(std::move(text));
  }

  static std::vector<std::string_view> collect() {
    std::vector<std::string_view> words;
    for (const Table& table : tables()) {
      for (const Template& row : table.rows) {
        const std::string_view anchor = anchor_of(row.pattern);
        if (std::find(words.begin(), words.end(), anchor) != words.end()) continue;
        words.push_back(anchor);
        if (contains(anchor, "\"")) words.push_back(escaped(anchor));
      }
    }
    return words;
  }

  Index() : words(collect()), rows(words.size()), anchors(words) {
    for (size_t w = 0; w < words.size(); ++w) {
      for (const bool whole : {true, false}) {
        for (const Table& table : tables()) {
          for (const Template& row : table.rows) {
            const std::string_view anchor = anchor_of(row.pattern);
            const bool equal = anchor == words[w];
            if (whole ? equal : (!equal && starts_with(words[w], anchor))) {
              rows[w].push_back({&row, table.engine});
            }
          }
        }
      }
      dull.push_back(!rows[w].empty() &&
                     std::all_of(rows[w].begin(), rows[w].end(),
                                 [](const Row& row) { return row.row->tells == Tells::decoy; }));
    }
  }
};

const Index& index() {
  static const Index kIndex;
  return kIndex;
}

// Failures that can come at any time: where, is told by the traceback or by what was printed.
bool anywhere(std::string_view id) {
  return contains(id, "out_of_memory") || id == "allocation_limit" || id == "runner_died" ||
         id == "shared_memory" || id == "does_not_fit";
}

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

}  // namespace

// The first lines of a program, which print its version or its arguments. What llama.cpp prints
// under Ollama is a part of Ollama's own start.
bool begins_process(std::string_view id, const Log& log) {
  constexpr std::array<std::string_view, 6> kFirst = {"vllm_version",   "vllm_args",
                                                      "vllm_namespace", "sglang_args",
                                                      "trtllm_version", "ollama_version"};
  if (id == "llamacpp_build") return log.config.engine != "ollama";
  return std::find(kFirst.begin(), kFirst.end(), id) != kFirst.end();
}

struct LogReader::State {
  Log log;
  std::optional<Log> ended;   // the start before it, which came up or died
  std::string paste;          // all of the text, while it is short
  std::string pending;        // a line that is not complete yet
  bool skipping = false;      // the rest of a line longer than kMaxLine
  int64_t counted_lines = 0;  // line breaks before the text in hand
  std::vector<Capture> captures;
  ConfigReader config_reader;
  size_t expected = 0;  // where in log.readings the next value is looked for first

  // Where the last traceback was: its outermost telling frame, and one that holds others.
  Phase traced = Phase::start, traced_around = Phase::start;

  // A message that goes on over the next lines.
  std::string joining;
  size_t joining_at = 0;
  Row joining_row;
  int64_t joining_line = 0;
  int joining_left = 0;
  size_t joining_failures = 0;  // failures before it: what it replaces
  size_t joining_best = 0;      // captures of the fullest match so far

  bool has_ended() const { return log.serving || !log.failures.empty(); }
  void next_start();
  void close();
  void block(std::string_view text);
  void record(std::string_view raw, int64_t number);
  void go_on(std::string_view raw);
  void clean_record(std::string_view clean, int64_t number);
  void take(const Row& row, std::string_view clean, size_t at, int64_t number, RankTags& tags);
  void keep(const Capture& c, const std::string& device, const std::string& rank, const Row& row,
            int64_t number);
};

// Another process begins: what the last one printed says nothing about it.
void LogReader::State::next_start() {
  Log next;
  next.bytes = log.bytes;
  next.matched = log.matched;
  next.starts = log.starts + 1;
  ended = std::move(log);
  log = std::move(next);
  traced = traced_around = Phase::start;
  expected = 0;
}

// The end of the text: the start that counts is chosen.
void LogReader::State::close() {
  if (!pending.empty()) {
    pending += '\n';
    block(pending);
    pending.clear();
  }
  if (ended && !has_ended()) {
    // Cut off while it was starting again: the one before tells how that ends.
    ended->bytes = log.bytes;
    ended->matched = log.matched;
    ended->starts = log.starts;
    log = std::move(*ended);
  }
  ended.reset();
  log.lines = counted_lines;
}

// How much a log says.
size_t weight_of(const Log& log) {
  size_t weight = log.readings.size() + log.failures.size() + log.config.options.entries().size();
  weight += (log.config.engine.empty() ? 0 : 1) + (log.config.model.empty() ? 0 : 1);
  for (const Failure& f : log.failures) weight += f.captures.size();
  return weight;
}

// Complete lines.
void LogReader::State::block(std::string_view text) {
  const Anchors& anchors = index().anchors;
  size_t at = 0;       // where to look on
  size_t counted = 0;  // up to where line breaks were counted
  while (true) {
    if (joining_left > 0) {
      // Line by line until the message is whole; a line may also begin a record of its own.
      if (at >= text.size()) break;
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      go_on(line);
      if (anchors.find(line, 0).word >= 0) {
        counted_lines +=
            int64_t(std::count(text.begin() + int64_t(counted), text.begin() + int64_t(at), '\n'));
        counted = at;
        record(line, counted_lines + 1);
      }
      at = std::min(end + 1, text.size());
      continue;
    }
    const Anchors::Hit hit = anchors.find(text, at);
    if (hit.word < 0) break;
    if (log.phase == Phase::serve && index().dull[size_t(hit.word)]) {
      at = hit.at + 1;
      continue;
    }
    size_t begin = hit.at;
    while (begin > at && text[begin - 1] != '\n') --begin;
    const size_t end = std::min(text.find('\n', hit.at), text.size());
    counted_lines +=
        int64_t(std::count(text.begin() + int64_t(counted), text.begin() + int64_t(begin), '\n'));
    counted = begin;
    record(text.substr(begin, end - begin), counted_lines + 1);
    at = end;
    if (at >= text.size()) break;
    ++at;
  }
  counted_lines += int64_t(std::count(text.begin() + int64_t(counted), text.end(), '\n'));
}

// One line; progress bars are glued to it by carriage returns.
void LogReader::State::record(std::string_view raw, int64_t number) {
  while (!raw.empty()) {
    const size_t cut = raw.find('\r');
    const std::string_view part = raw.substr(0, cut);
    if (!part.empty() && index().anchors.find(part, 0).word >= 0) {
      clean_record(clean_line(part), number);
    }
    if (cut == std::string_view::npos) return;
    raw.remove_prefix(cut + 1);
  }
}

void LogReader::State::clean_record(std::string_view clean, int64_t number) {
  const Index& all = index();
  RankTags tags(clean);
  size_t at = 0;
  bool matched = false;
  while (true) {
    const Anchors::Hit hit = all.anchors.find(clean, at);
    if (hit.word < 0) break;
    // What may go on over the next lines: a long message that is not whole, or one whose tail is
    // optional.
    const Row* open = nullptr;
    size_t best = 0;
    const size_t failures_before = log.failures.size();
    for (const Row& row : all.rows[size_t(hit.word)]) {
      if (match(row.row->pattern, clean, hit.at, captures)) {
        if (row.row->wraps && row.row->tells == Tells::failure) {
          open = &row;
          best = captures.size();
        }
        take(row, clean, hit.at, number, tags);
        matched = true;
        break;
      }
      const bool goes_on = row.row->wraps || breaks_off(row.row->pattern, clean, hit.at);
      if (goes_on && open == nullptr) open = &row;
    }
    if (open != nullptr) {
      joining = std::string(clean);
      joining_at = hit.at;
      joining_row = *open;
      joining_line = number;
      joining_left = kJoinedLines;
      joining_failures = failures_before;
      joining_best = best;
    }
    at = hit.at + 1;
  }
  if (matched) ++log.matched;
}

void LogReader::State::go_on(std::string_view raw) {
  std::string clean = clean_line(raw);
  std::string_view text = trim(without_header(clean));
  while (starts_with(text, ">")) text = trim(text.substr(1));
  joining += ' ';
  joining += text;
  --joining_left;
  // Any template of that anchor: variants differ in what comes late.
  for (const std::vector<Row>& rows : index().rows) {
    const bool same = std::any_of(rows.begin(), rows.end(),
                                  [&](const Row& r) { return r.row == joining_row.row; });
    if (!same) continue;
    for (const Row& row : rows) {
      const bool may = row.row->wraps || row.row == joining_row.row;
      if (!may || !match(row.row->pattern, joining, joining_at, captures)) continue;
      if (captures.size() <= joining_best && row.row->wraps) break;
      joining_best = captures.size();
      const bool failure = row.row->tells == Tells::failure;
      if (failure && log.failures.size() > joining_failures) log.failures.resize(joining_failures);
      const std::string whole = joining;
      match(row.row->pattern, whole, joining_at, captures);
      RankTags tags(whole);
      take(row, whole, joining_at, joining_line, tags);
      ++log.matched;
      if (!failure) {
        joining_left = 0;
        joining.clear();
        return;
      }
      break;
    }
  }
  if (joining_left == 0 || joining.size() > kMaxLine) {
    joining_left = 0;
    joining.clear();
  }
}

void LogReader::State::keep(const Capture& c, const std::string& device, const std::string& rank,
                            const Row& row, int64_t number) {
  // What is printed again comes in the order of the first time: the search goes on from there.
  const size_t count = log.readings.size();
  for (size_t i = 0; i < count; ++i, ++expected) {
    if (expected >= count) expected = 0;
    Reading& r = log.readings[expected];
    if (r.field != c.name || r.device != device || r.rank != rank) continue;
    // Another engine's words for the same thing never mix.
    if (r.engine != row.engine) continue;
    ++expected;
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
  r.device = device;
  r.rank = rank;
  r.engine = std::string(row.engine);
  r.line = number;
  log.readings.push_back(std::move(r));
}

void LogReader::State::take(const Row& row, std::string_view clean, size_t at, int64_t number,
                            RankTags& tags) {
  const Template& t = *row.row;
  if (t.tells == Tells::decoy) {
    if (t.phase > log.phase) log.phase = t.phase;
    return;
  }
  if (t.tells == Tells::frame) {
    // "in load_model" is a word of its own.
    const size_t end = at + anchor_of(t.pattern).size();
    if (t.phase == Phase::start) {
      traced = traced_around = Phase::start;
    } else if (end >= clean.size() || clean[end] == '\n' || clean[end] == ' ' ||
               clean[end] == '<') {
      Phase& where = t.id == "around" ? traced_around : traced;
      // The dummy sampler runs inside of a profile or of a warm-up: the outermost tells.
      if (where == Phase::start) where = t.phase;
    }
    return;
  }
  const std::string rank = tags.before(at);
  std::string device;
  for (const Capture& c : captures) {
    if (c.name == "device") device = std::string(c.text.substr(0, 60));
  }
  if (t.tells == Tells::failure) {
    if (log.failures.size() >= kMaxFailures) {
      // Keep the first ones (the cause) and the last.
      log.failures.pop_back();
    }
    Failure failure;
    failure.id = std::string(t.id);
    failure.engine = std::string(row.engine);
    failure.rank = rank;
    failure.phase = t.phase;
    if (t.phase == Phase::start && anywhere(t.id)) {
      failure.phase = traced != Phase::start          ? traced
                      : traced_around != Phase::start ? traced_around
                                                      : log.phase;
    }
    failure.line = number;
    failure.text = std::string(trim(clean.substr(at, kMaxText)));
    for (const Capture& c : captures) failure.captures.push_back(reading_of(c));
    log.failures.push_back(std::move(failure));
    return;
  }
  if (t.tells == Tells::config) {
    if (has_ended() && begins_process(t.id, log)) {
      next_start();
      config_reader.forget();
    }
    if (log.config.engine.empty() || row.engine == "ollama") {
      log.config.engine = std::string(row.engine);
    }
    config_reader.line(t.id, clean.substr(at), captures, log.config);
  }
  for (const Capture& c : captures) {
    if (c.name != "device") keep(c, device, rank, row, number);
  }
  if (t.phase > log.phase) log.phase = t.phase;
  if (t.phase == Phase::serve && t.tells == Tells::values) log.serving = true;
}

LogReader::LogReader() : state_(std::make_unique<State>()) {}
LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

void LogReader::feed(std::string_view bytes) {
  State& s = *state_;
  s.log.bytes += int64_t(bytes.size());
  if (s.log.bytes <= int64_t(kPaste)) s.paste += bytes;
  if (s.skipping || !s.pending.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view rest = bytes.substr(0, end);
    if (!s.skipping)
      s.pending.append(rest.substr(0, kMaxLine - std::min(kMaxLine, s.pending.size())));
    if (end == std::string_view::npos) {
      if (s.pending.size() >= kMaxLine) {
        // A line without an end: what was seen of it is read, the rest is not.
        s.block(s.pending);
        s.pending.clear();
        s.skipping = true;
      }
      s.log.lines = s.counted_lines;
      return;
    }
    s.pending += '\n';
    s.block(s.pending);
    s.pending.clear();
    s.skipping = false;
    bytes.remove_prefix(end + 1);
  }
  const size_t last = bytes.rfind('\n');
  if (last != std::string_view::npos) {
    s.block(bytes.substr(0, last + 1));
    bytes.remove_prefix(last + 1);
  }
  s.pending.assign(bytes.substr(0, kMaxLine));
  s.skipping = bytes.size() > kMaxLine;
  if (s.skipping) {
    s.block(s.pending);
    s.pending.clear();
  }
  s.log.lines = s.counted_lines;
}

void LogReader::finish() {
  State& s = *state_;
  s.close();
  // Copied out of a narrow window: read again with the lines whole, if that says more.
  Log best = std::move(s.log);
  for (const Fold fold : {Fold::words, Fold::columns}) {
    if (best.bytes > int64_t(kPaste)) break;
    const auto whole = unfold(s.paste, fold);
    if (!whole) continue;
    State again;
    again.block(whole->text + '\n');
    again.close();
    if (weight_of(again.log) <= weight_of(best)) continue;
    const auto began = [&](int64_t line) {
      const auto last = int64_t(whole->lines.size());
      return line >= 1 && line <= last ? whole->lines[size_t(line - 1)] : line;
    };
    for (Reading& r : again.log.readings) r.line = began(r.line);
    for (Failure& f : again.log.failures) f.line = began(f.line);
    again.log.lines = best.lines;
    again.log.bytes = best.bytes;
    best = std::move(again.log);
  }
  s.log = std::move(best);
  s.paste.clear();
  derive_terms(s.log);
  complete_config(s.log, s.log.config);
}

const Log& LogReader::log() const { return state_->log; }

Log read_log(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  reader.finish();
  return reader.log();
}

}  // namespace vramwise::verify
