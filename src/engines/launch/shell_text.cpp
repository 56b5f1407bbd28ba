// What happens to a paste before it is split: typography, and which shell it is for.
#include <array>

#include "base/text.h"
#include "engines/launch/shell.h"

namespace vramwise::engines::launch {
namespace {

struct Typography {
  std::string_view utf8;
  std::string_view plain;
  bool worth_a_warning;
};
// Word processors and chat programs put these in; a shell takes none of them for a quote or dash.
constexpr std::array<Typography, 14> kTypography = {{
    {"\xE2\x80\x9C", "\"", true},   // left double quotation mark
    {"\xE2\x80\x9D", "\"", true},   // right double quotation mark
    {"\xE2\x80\x9E", "\"", true},   // low double quotation mark
    {"\xE2\x80\x98", "'", true},    // left single quotation mark
    {"\xE2\x80\x99", "'", true},    // right single quotation mark
    {"\xE2\x80\x93", "-", true},    // en dash
    {"\xE2\x80\x94", "-", true},    // em dash
    {"\xE2\x80\x92", "-", true},    // figure dash
    {"\xE2\x88\x92", "-", true},    // minus sign
    {"\xC2\xA0", " ", false},       // no-break space
    {"\xE2\x80\xAF", " ", false},   // narrow no-break space
    {"\xE2\x80\x8B", "", false},    // zero width space
    {"\xEF\xBB\xBF", "", false},    // byte order mark
    {"\xE2\x80\xA6", "...", true},  // ellipsis
}};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\0'; }

bool has_line_ending_with(std::string_view text, char mark) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view end = trim(line);
    if (end.size() > 1 && end.back() == mark && is_blank(end[end.size() - 2])) return true;
  }
  return false;
}

}  // namespace

bool straighten(std::string& text) {
  // All of them begin with one of these bytes; plain ASCII needs no copy.
  if (text.find_first_of("\xE2\xC2\xEF") == std::string::npos) return false;
  std::string out;
  out.reserve(text.size());
  bool changed = false;
  for (size_t i = 0; i < text.size();) {
    const Typography* found = nullptr;
    for (const Typography& t : kTypography) {
      if (text.compare(i, t.utf8.size(), t.utf8) == 0) found = &t;
    }
    if (found == nullptr) {
      out += text[i++];
      continue;
    }
    const char before = out.empty() ? '\0' : out.back();
    i += found->utf8.size();
    // A dash that starts a word was "--" before autocorrection.
    const bool doubles = found->plain == "-" && is_blank(before) && i < text.size() &&
                         text[i] != '-' && !is_blank(text[i]);
    out += doubles ? "--" : found->plain;
    changed = changed || found->worth_a_warning;
  }
  text = std::move(out);
  return changed;
}

Dialect guess_dialect(std::string_view text) {
  if (contains(text, "$env:") || contains(text, "$Env:")) return Dialect::powershell;
  if (has_line_ending_with(text, '`')) return Dialect::powershell;
  if (has_line_ending_with(text, '^')) return Dialect::cmd;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string line = to_lower(trim(raw));
    if (starts_with(line, "ps c:\\") || starts_with(line, "ps d:\\")) return Dialect::powershell;
    if (starts_with(line, "@echo off") || starts_with(line, "setx ")) return Dialect::cmd;
    // `set NAME=value` is cmd.exe's; `set -euo pipefail` and `set +x` are a POSIX shell's.
    if (starts_with(line, "set ") && contains(line, "=") && line.find(" -") != 3 &&
        line.find(" +") != 3) {
      return Dialect::cmd;
    }
    // A path with a drive, or backslashes behind the name of a Windows program.
    if (line.size() > 3 && line[1] == ':' && line[2] == '\\') return Dialect::cmd;
    const size_t exe = line.find(".exe");
    if (exe != std::string::npos && contains(line, "\\") && !ends_with(line, "\\")) {
      return Dialect::cmd;
    }
  }
  return Dialect::posix;
}

}  // namespace vramwise::engines::launch
