#include "report/placement_text.h"

#include "base/text.h"
#include "report/fields.h"

namespace vramwise::report {
namespace {

using json::Value;

std::string reads(const Value& placement, const Style& style) {
  std::string line;
  for (const json::Member& m : member(placement, "read_bytes_per_token").as_object()) {
    if (!line.empty()) line += ", ";
    line += size_text(style, m.value.as_integer()) + " from " + safe(m.key);
  }
  return line;
}

}  // namespace

void add_placement(std::string& out, const Value& answer, const Style& style) {
  const Value& fit = member(answer, "fit");
  const Value* better = fit.find("better");
  if (better == nullptr) return;
  out += "\n" + paint(style, Ink::bold, "Placement, by what a token reads") + "\n";
  out += "  " + wrap("llama.cpp's fit: " + reads(fit, style), style.width, 4, 2) + "\n";
  out +=
      "  " + wrap("better, in the same memory: " + reads(*better, style), style.width, 4, 2) + "\n";
  std::string patterns;
  for (const Value& pattern : member(*better, "override_tensor").as_array()) {
    if (!patterns.empty()) patterns += ",";
    patterns += safe(pattern.as_string());
  }
  out += "    --ctx-size " + format_integer(integer(fit, "ctx_size")) + " --n-gpu-layers " +
         format_integer(integer(*better, "n_gpu_layers"));
  if (!patterns.empty()) out += " --override-tensor '" + patterns + "'";
  out += "\n";
}

}  // namespace vramwise::report
