#include "base/text.h"
#include "report/fields.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

std::string simulate_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "simulate");
  return paint(style, Ink::bold, wrap(text(block, "answer"), style.width, 2)) + "\n";
}

}  // namespace vramwise::report
