#include "verify/prefix.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace vramwise::verify {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

// "[1;36m", "[0m": where the ESC was lost by copying. Length, or 0.
size_t bare_colour(std::string_view s) {
  if (s.size() < 3 || s[0] != '[') return 0;
  size_t i = 1;
  while (i < s.size() && i < 12 && (is_digit(s[i]) || s[i] == ';')) ++i;
  return i > 1 && i < s.size() && s[i] == 'm' ? i + 1 : 0;
}

// ESC [ … letter, ESC ] … BEL, or ESC and one character.
size_t escape_length(std::string_view s) {
  if (s.size() < 2) return s.size();
  if (s[1] == '[') {
    size_t i = 2;
    while (i < s.size() && !is_letter(s[i])) ++i;
    return std::min(i + 1, s.size());
  }
  if (s[1] == ']') {
    const size_t end = s.find('\a');
    return end == std::string_view::npos ? 2 : end + 1;
  }
  return 2;
}

// The text of {"log":"…","stream":…} or of a Docker event, unescaped; empty when it is none.
std::string unwrap_json(std::string_view s) {
  for (const std::string_view key : {"\"log\"", "\"message\"", "\"MESSAGE\"", "\"msg\""}) {
    const size_t at = s.find(key);
    if (at == std::string_view::npos) continue;
    // ":" and the opening quote, with blanks around them where the writer puts some.
    size_t from = at + key.size();
    while (from < s.size() && (s[from] == ' ' || s[from] == ':')) ++from;
    if (from >= s.size() || s[from] != '"') continue;
    std::string text;
    for (size_t i = from + 1; i < s.size() && s[i] != '"'; ++i) {
      if (s[i] != '\\' || i + 1 >= s.size()) {
        text += s[i];
        continue;
      }
      ++i;
      switch (s[i]) {
        case 'n': text += '\n'; break;
        case 'r': text += '\n'; break;
        case 't': text += '\t'; break;
        case 'u':
          if (s.substr(i + 1, 4) == "001b") text += '\x1b';
          i = std::min(i + 4, s.size() - 1);
          break;
        default: text += s[i];
      }
    }
    return text;
  }
  return {};
}

void without_colours(std::string_view s, std::string& out) {
  for (size_t i = 0; i < s.size();) {
    const char c = s[i];
    if (c == '\x1b') {
      i += escape_length(s.substr(i));
    } else if (const size_t n = bare_colour(s.substr(i)); n > 0) {
      i += n;
    } else {
      if (uint8_t(c) >= 32 || c == '\t' || c == '\n') out += c;
      ++i;
    }
  }
}

}  // namespace

std::string clean_line(std::string_view raw) {
  std::string out;
  const std::string_view body = trim(raw);
  const size_t brace = body.find('{');
  if (brace != std::string_view::npos && ends_with(body, "}") && contains(body, "\":")) {
    const std::string text = unwrap_json(body.substr(brace));
    if (!text.empty()) {
      without_colours(text, out);
      while (!out.empty() && out.back() == '\n') out.pop_back();
      return out;
    }
  }
  out.reserve(raw.size());
  without_colours(raw, out);
  return out;
}

namespace {

constexpr std::array<std::string_view, 5> kRankNames = {"DP", "PP", "TP", "EP", "rank"};
constexpr size_t kRank = 4;

}  // namespace

// Up to `most` digits at `from` are the number of a name.
void RankTags::tag(size_t name, size_t from, size_t end) {
  const size_t most = name == kRank ? 12 : 6;
  size_t i = from;
  while (i < end && is_digit(clean_[i]) && i - from < most) ++i;
  if (i > from) numbers_[name] = clean_.substr(from, i - from);
}

std::string RankTags::before(size_t column) {
  const size_t end = std::min(column, clean_.size());
  for (; read_ < end; ++read_) {
    const size_t i = read_;
    const char c = clean_[i];
    const auto at = [&](std::string_view word) {
      return end - i > word.size() && clean_.compare(i, word.size(), word) == 0;
    };
    if (c == 'P' && i > 0) {
      const size_t name = std::string_view("DPTE").find(clean_[i - 1]);
      const bool inside = i > 1 && is_letter(clean_[i - 2]);
      if (name != std::string_view::npos && !inside) tag(name, i + 1, end);
    } else if (c == 'r' && !of_launcher_ && at("rank") && (i == 0 || !is_letter(clean_[i - 1]))) {
      tag(kRank, i + (clean_[i + 4] == '=' ? 5 : 4), end);
    } else if (c == '[' && at("[RANK ")) {
      of_launcher_ = true;
      tag(kRank, i + 6, end);
    } else if (c == 'p' && at("pid=")) {
      has_pid_ = true;
    }
  }
  std::string rank;
  for (size_t name = 0; name < kRankNames.size(); ++name) {
    if (numbers_[name].empty()) continue;
    if (!rank.empty()) rank += ' ';
    rank += std::string(kRankNames[name]) + std::string(numbers_[name]);
  }
  if (!rank.empty() || !has_pid_) return rank;
  // Ray and V0 workers carry a process id alone; the engine's own process is no rank.
  const std::string_view head = clean_.substr(0, end);
  for (const std::string_view tag : {"RayWorkerWrapper pid=", "RayWorkerVllm pid=",
                                     "VllmWorkerProcess pid=", "(Worker pid=", "VllmWorker pid="}) {
    const size_t at = head.rfind(tag);
    if (at == std::string_view::npos) continue;
    const size_t from = at + tag.size();
    size_t to = from;
    while (to < head.size() && is_digit(head[to]) && to - from < 10) ++to;
    return "pid " + std::string(head.substr(from, to - from));
  }
  return {};
}

std::string_view without_header(std::string_view clean) {
  // "ERROR 11-02 10:00:00 [core.py:708] text", and container noise before it.
  for (const std::string_view mark : {"] ", ".py:"}) {
    const size_t at = clean.find(mark);
    if (at == std::string_view::npos || at > 160) continue;
    if (mark == "] ") {
      const std::string_view head = clean.substr(0, at);
      if (contains(head, ".py:") || contains(head, " TP") || contains(head, "pid=")) {
        return clean.substr(at + 2);
      }
    }
  }
  return clean;
}

}  // namespace vramwise::verify
