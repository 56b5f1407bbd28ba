#include "base/text.h"
#include "report/fields.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

// One plan file a paragraph: what it says today, and what has moved since it was saved.
std::string check_text(const Value& answer, const Style& style) {
  std::string out;
  for (const Value& item : member(answer, "check").as_array()) {
    const bool pass = member(item, "pass").as_boolean();
    const std::string mark = style.unicode ? (pass ? "✓" : "✗") : (pass ? "ok" : "FAILED");
    out += paint(style, pass ? Ink::green : Ink::red, mark) + " " + text(item, "file") + "\n  " +
           wrap(text(item, "answer"), style.width, 2, 2) + "\n";
    if (item.find("saved_total_bytes") == nullptr) continue;
    const int64_t before = integer(item, "saved_total_bytes");
    const int64_t after = integer(item, "total_bytes");
    const bool same_verdict = text(item, "outcome") == text(item, "saved_outcome");
    if (before == after && same_verdict) {
      out += "  as it was saved\n";
      continue;
    }
    std::string line = "since it was saved (vramwise " + text(item, "saved_version") +
                       ") the total " + (after > before ? "grew" : "shrank") + " by " +
                       size_text(style, after > before ? after - before : before - after) + " to " +
                       size_text(style, after) + " (" +
                       format_fixed(member(item, "growth_percent").as_double(), 1) + " %)";
    if (before == after) line = "the total is as it was saved";
    if (!same_verdict) {
      line += "; it was " + replace_all(text(item, "saved_outcome"), "_", " ");
    }
    out += "  " + wrap(line, style.width, 2, 2) + "\n";
    out += "  what moved: vramwise diff " + text(item, "file") + "\n";
  }
  return out;
}

}  // namespace vramwise::report
