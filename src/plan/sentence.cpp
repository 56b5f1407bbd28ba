#include "plan/sentence.h"

#include "base/text.h"
#include "plan/held.h"

namespace vramwise::plan {
namespace {

std::string without_stop(std::string text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string counted(int64_t n, std::string_view one, std::string_view many) {
  return format_grouped(n) + " " + std::string(n == 1 ? one : many);
}

}  // namespace

std::string describe(const engines::Hardware& hardware) {
  if (hardware.is_cpu_only()) return "CPU only";
  std::string text;
  for (size_t i = 0; i < hardware.devices.size();) {
    size_t j = i;
    while (j < hardware.devices.size() &&
           hardware.devices[j].gpu.id == hardware.devices[i].gpu.id &&
           hardware.devices[j].total == hardware.devices[i].total) {
      ++j;
    }
    if (!text.empty()) text += " + ";
    if (j - i > 1) text += format_integer(int64_t(j - i)) + " x ";
    text += hardware.devices[i].gpu.id;
    i = j;
  }
  return text;
}

std::string share_text(Bytes part, Bytes whole) {
  const std::string of = format_bytes(whole);
  return (ends_with(of, " GiB") ? format_gib(part) : format_bytes(part)) + " of " + of;
}

std::string sentence(const Plan& plan) {
  const Verdict& verdict = plan.verdict;
  const engines::Assessment& assessment = plan.assessment;
  const engines::Workload& workload = plan.resolved.workload;
  const std::string why = without_stop(verdict.explanation);
  switch (verdict.outcome) {
    case Outcome::refuses_to_start:
      return std::string(plan.resolved.engine->name()) + " refuses to start: " + why;
    case Outcome::does_not_fit:
      return verdict.starts ? "Does not hold what was asked, although the server starts: " + why
                            : "Does not fit: " + why;
    case Outcome::tight: return "Tight, decided only inside the error bars: " + why;
    case Outcome::fits: break;
  }
  std::string text = "Fits: ";
  const engines::Ledger& ledger = held_ledger(assessment);
  if (plan.resolved.hardware.is_cpu_only()) {
    text += format_bytes(ledger.total(engines::kHost).likely) + " of host memory";
  } else {
    const auto& device = plan.resolved.hardware.devices[size_t(assessment.fullest_device)];
    const Bytes taken = ledger.total(assessment.fullest_device).likely;
    text += share_text(taken, device.total) + " taken on " + describe(plan.resolved.hardware) +
            ", " + format_bytes(device.free() - taken) + " free";
    if (plan.resolved.hardware.devices.size() > 1) text += " on the fullest card";
  }
  const bool asked = workload.sequence_tokens.count() > 0;
  if (assessment.users == 0 && !asked && assessment.kv.max_sequence_tokens > 0) {
    // An engine that starts all the same with a pool below its longest request.
    text += "; room for one request of up to " + format_grouped(assessment.kv.max_sequence_tokens) +
            " tokens";
  } else if (assessment.users >= 0) {
    const int64_t tokens =
        asked ? workload.sequence_tokens.count() : assessment.kv.max_sequence_tokens;
    text += "; room for " + counted(assessment.users, "user", "users");
    if (tokens > 0) text += " of " + format_grouped(tokens) + " tokens";
  }
  return text;
}

}  // namespace vramwise::plan
