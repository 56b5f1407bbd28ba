#include "base/text.h"
#include "plan/node.h"
#include "plan/sentence.h"

namespace vramwise::plan {
namespace {

std::string counted_programs(size_t n) {
  return format_integer(int64_t(n)) + (n == 1 ? " program" : " programs");
}

std::string without_stop(std::string text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

// The card with the least room in the end.
size_t fullest_card(const NodeQuestion& question, const NodePlan& plan) {
  const auto left = [&](size_t d) {
    return question.hardware.devices[d].free() - plan.taken[d].likely;
  };
  size_t best = 0;
  for (size_t d = 1; d < plan.taken.size(); ++d) {
    if (left(d) < left(best)) best = d;
  }
  return best;
}

}  // namespace

std::string sentence(const NodeQuestion& question, const NodePlan& plan) {
  const NodeProcess& decides = question.processes[plan.decides];
  std::string who = decides.name;
  if (decides.server) who += " (" + std::string(decides.server->engine->name()) + ")";
  const std::string why = without_stop(plan.verdict.explanation);
  switch (plan.verdict.outcome) {
    case Outcome::refuses_to_start: return who + " refuses to start: " + why;
    case Outcome::does_not_fit:
      return who +
             (plan.verdict.starts ? " does not hold what was asked, although it starts: "
                                  : " does not fit: ") +
             why;
    case Outcome::tight: return who + " is tight, decided only inside the error bars: " + why;
    case Outcome::fits: break;
  }
  std::string text =
      "Fits: " + counted_programs(question.processes.size()) + " on " + describe(question.hardware);
  if (plan.taken.empty()) return text;
  const size_t card = fullest_card(question, plan);
  const engines::Device& device = question.hardware.devices[card];
  const Bytes taken = device.used + plan.taken[card].likely;
  text += ", " + share_text(taken, device.total) + " taken";
  if (plan.taken.size() > 1) text += " on the fullest, card " + format_integer(int64_t(card));
  return text + ", " + format_bytes(device.total - taken) + " free";
}

}  // namespace vramwise::plan
