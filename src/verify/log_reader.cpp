#include "verify/log_reader.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "verify/derived.h"
#include "verify/server_logs.h"
#include "verify/service.h"
#include "verify/template_index.h"
#include "verify/unfold.h"

namespace vramwise::verify {
namespace {

constexpr size_t kMaxLine = size_t{1} << 18;  // the rest of a longer line is read over
constexpr size_t kPaste = size_t{1} << 18;    // longer texts were not copied by hand
constexpr int kJoinedLines = 8;               // that a wrapped message may go on over

}  // namespace

struct LogReader::State {
  ServerLogs servers;
  Log& log = servers.whole.log;
  std::string paste;          // all of the text, while it is short
  std::string pending;        // a line that is not complete yet
  bool skipping = false;      // the rest of a line longer than kMaxLine
  int64_t counted_lines = 0;  // line breaks before the text in hand
  std::vector<Capture> captures;

  // A message that goes on over the next lines.
  std::string joining;
  std::string joining_service;  // whose it is
  size_t joining_at = 0;
  KnownLine joining_row;
  int64_t joining_line = 0;
  int joining_left = 0;
  size_t joining_failures = 0;  // failures before it: what it replaces
  size_t joining_best = 0;      // captures of the fullest match so far

  void close();
  void block(std::string_view text);
  void record(std::string_view raw, int64_t number);
  void go_on(std::string_view raw);
  void clean_record(std::string_view clean, int64_t number);
};

void LogReader::State::close() {
  if (!pending.empty()) {
    pending += '\n';
    block(pending);
    pending.clear();
  }
  servers.close();
  log.lines = counted_lines;
}

// Complete lines.
void LogReader::State::block(std::string_view text) {
  const Anchors& anchors = template_index().anchors;
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
    if (log.phase == Phase::serve && template_index().dull[size_t(hit.word)]) {
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
    if (!part.empty() && template_index().anchors.find(part, 0).word >= 0) {
      clean_record(clean_line(part), number);
    }
    if (cut == std::string_view::npos) return;
    raw.remove_prefix(cut + 1);
  }
}

void LogReader::State::clean_record(std::string_view clean, int64_t number) {
  const TemplateIndex& all = template_index();
  RankTags tags(clean);
  const std::string_view service = service_of(clean);
  size_t at = 0;
  bool matched = false;
  while (true) {
    const Anchors::Hit hit = all.anchors.find(clean, at);
    if (hit.word < 0) break;
    // What may go on over the next lines: a long message that is not whole, or one whose tail is
    // optional.
    const KnownLine* open = nullptr;
    size_t best = 0;
    const size_t failures_before = log.failures.size();
    for (const KnownLine& row : all.rows[size_t(hit.word)]) {
      if (match(row.row->pattern, clean, hit.at, captures)) {
        if (row.row->wraps && row.row->tells == Tells::failure) {
          open = &row;
          best = captures.size();
        }
        servers.take(service, row, captures, clean, hit.at, number, tags);
        matched = true;
        break;
      }
      const bool goes_on = row.row->wraps || breaks_off(row.row->pattern, clean, hit.at);
      if (goes_on && open == nullptr) open = &row;
    }
    if (open != nullptr) {
      joining = std::string(clean);
      joining_service = std::string(service);
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
  const std::string clean = clean_line(raw);
  const std::string_view service = service_of(clean);
  if (!service.empty() && service != joining_service) return;  // another program's came between
  std::string_view text = trim(without_header(clean));
  while (starts_with(text, ">")) text = trim(text.substr(1));
  joining += ' ';
  joining += text;
  --joining_left;
  // Any template of that anchor: variants differ in what comes late.
  for (const std::vector<KnownLine>& rows : template_index().rows) {
    const bool same = std::any_of(rows.begin(), rows.end(),
                                  [&](const KnownLine& r) { return r.row == joining_row.row; });
    if (!same) continue;
    for (const KnownLine& row : rows) {
      const bool may = row.row->wraps || row.row == joining_row.row;
      if (!may || !match(row.row->pattern, joining, joining_at, captures)) continue;
      if (captures.size() <= joining_best && row.row->wraps) break;
      joining_best = captures.size();
      const bool failure = row.row->tells == Tells::failure;
      if (failure && log.failures.size() > joining_failures) {
        servers.drop_failures(joining_service, log.failures.size() - joining_failures);
      }
      const std::string whole = joining;
      match(row.row->pattern, whole, joining_at, captures);
      RankTags tags(whole);
      servers.take(joining_service, row, captures, whole, joining_at, joining_line, tags);
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
