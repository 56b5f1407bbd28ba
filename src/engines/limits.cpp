#include "engines/limits.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::engines {
namespace {

// Nothing is taken away by it: what it costs is memory, which the plan counts.
constexpr int kOrder = 5;

}  // namespace

void require_limit(std::vector<Requirement>& list, int device, std::string what, std::string unit,
                   int64_t needed, int64_t available, std::string why) {
  if (needed <= available) return;
  Requirement r;
  r.kind = Requirement::Kind::workload;
  r.device = device;
  r.what = std::move(what);
  r.phase = "serve";
  r.unit = std::move(unit);
  r.needed = ByteRange::exactly(Bytes(needed));
  r.available = ByteRange::exactly(Bytes(available));
  r.explanation = std::move(why);
  list.push_back(std::move(r));
}

std::optional<LeverCandidate> raised_limits(const Assessment& assessment,
                                            std::span<const LimitOption> known) {
  LeverCandidate c;
  for (const Requirement& r : assessment.requirements) {
    if (r.kind != Requirement::Kind::workload || r.needed.likely <= r.available.likely) continue;
    const auto at = std::find_if(known.begin(), known.end(),
                                 [&](const LimitOption& option) { return option.what == r.what; });
    if (at == known.end()) continue;
    const int64_t needed = r.needed.likely.count();
    if (!c.change.empty()) {
      c.change += ", and ";
      c.option += ' ';
    }
    c.change += r.unit == "tokens" ? "take requests of " + format_grouped(needed) + " tokens"
                                   : "run " + format_grouped(needed) + " sequences at a time";
    c.option += std::string(at->flag) + format_integer(needed);
    c.options.emplace_back(std::string(at->option), json::Value(needed));
  }
  if (c.options.empty()) return std::nullopt;
  c.id = "limit";
  c.order = kOrder;
  c.cost = "more memory in use at full load";
  return c;
}

bool switched_on(const Settings& settings, std::string_view variable) {
  const auto at = settings.env.find(std::string(variable));
  if (at == settings.env.end()) return false;
  const std::string value = to_lower(at->second);
  return value == "1" || value == "true" || value == "yes" || value == "y";
}

}  // namespace vramwise::engines
