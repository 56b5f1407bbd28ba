#include "verify/service.h"

#include "base/text.h"

namespace vramwise::verify {
namespace {

constexpr size_t kLongest = 80;   // characters of a name that are looked for
constexpr size_t kJournal = 120;  // and of a journal's whole prefix

bool of_name(char c) {
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' ||
         c == '.';
}

// "name   | "
std::string_view of_compose(std::string_view line) {
  size_t end = 0;
  while (end < line.size() && end < kLongest && of_name(line[end])) ++end;
  size_t bar = end;
  while (bar < line.size() && bar < kLongest && line[bar] == ' ') ++bar;
  if (end == 0 || bar == end || bar >= line.size() || line[bar] != '|') return {};
  return line.substr(0, end);
}

// "[pod/name/container] "
std::string_view of_kubectl(std::string_view line) {
  if (!starts_with(line, "[pod/")) return {};
  const size_t end = line.find(']');
  if (end == std::string_view::npos || end > kJournal) return {};
  return line.substr(1, end - 1);
}

// "date host unit[123]: ": the first word with a number in brackets before a colon.
std::string_view of_journal(std::string_view line) {
  const size_t end = line.substr(0, kJournal).find("]: ");
  if (end == std::string_view::npos) return {};
  size_t open = end;
  while (open > 0 && line[open - 1] >= '0' && line[open - 1] <= '9') --open;
  if (open == end || open < 2 || line[open - 1] != '[') return {};
  size_t begin = open - 1;
  while (begin > 0 && of_name(line[begin - 1])) --begin;
  // Behind the host's name; a tag of the server itself begins its line.
  if (begin == open - 1 || begin < 2 || line[begin - 1] != ' ' || !of_name(line[begin - 2])) {
    return {};
  }
  return line.substr(begin, open - 1 - begin);
}

}  // namespace

std::string_view service_of(std::string_view clean) {
  if (const auto name = of_compose(clean); !name.empty()) return name;
  if (const auto name = of_kubectl(clean); !name.empty()) return name;
  return of_journal(clean);
}

}  // namespace vramwise::verify
