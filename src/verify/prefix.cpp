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

std::string rank_of(std::string_view clean, size_t anchor) {
  const std::string_view head = clean.substr(0, std::min(anchor, clean.size()));
  std::array<std::string, 5> parts;
  constexpr std::array<std::string_view, 5> kNames = {"DP", "PP", "TP", "EP", "rank"};
  for (size_t n = 0; n < kNames.size(); ++n) {
    for (size_t at = head.find(kNames[n]); at != std::string_view::npos;
         at = head.find(kNames[n], at + 1)) {
      if (at > 0 && is_letter(head[at - 1])) continue;
      size_t i = at + kNames[n].size();
      if (n == 4 && i < head.size() && head[i] == '=') ++i;
      size_t end = i;
      while (end < head.size() && is_digit(head[end]) && end - i < 6) ++end;
      if (end > i) parts[n] = std::string(kNames[n]) + std::string(head.substr(i, end - i));
    }
  }
  if (const size_t at = head.find("[RANK "); at != std::string_view::npos) {
    size_t end = at + 6;
    while (end < head.size() && is_digit(head[end]) && end - at < 12) ++end;
    parts[4] = "rank" + std::string(head.substr(at + 6, end - at - 6));
  }
  std::string rank;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!rank.empty()) rank += ' ';
    rank += part;
  }
  if (!rank.empty()) return rank;
  // Ray and V0 workers carry a process id alone; the engine's own process is no rank.
  for (const std::string_view tag : {"RayWorkerWrapper pid=", "RayWorkerVllm pid=",
                                     "VllmWorkerProcess pid=", "(Worker pid=", "VllmWorker pid="}) {
    const size_t at = head.rfind(tag);
    if (at == std::string_view::npos) continue;
    size_t end = at + tag.size();
    const size_t from = end;
    while (end < head.size() && is_digit(head[end]) && end - from < 10) ++end;
    return "pid " + std::string(head.substr(from, end - from));
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
