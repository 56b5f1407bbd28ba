#include "host/machine/local_hardware.h"

#include <optional>

#include "base/text.h"
#include "host/environment.h"

namespace vramwise::host {
namespace {

using json::Value;

constexpr std::string_view kLocal = "local";

// The text behind "gpu" when it means this machine.
std::optional<std::string> local_choice(const Value& hardware) {
  const Value* gpu = hardware.find("gpu");
  if (gpu == nullptr || !gpu->is_string()) return std::nullopt;
  const std::string name = to_lower(trim(gpu->as_string()));
  if (name == kLocal) return std::string();
  if (starts_with(name, "local:")) return name.substr(6);
  return std::nullopt;
}

Error no_card(const Machine& machine) {
  Error error(ErrorCode::not_found, "no GPU was found on this machine");
  error.where.source = "--gpu local";
  for (const Finding& finding : machine.findings) {
    if (finding.weight != Finding::Weight::problem) continue;
    error.message += ": " + finding.text;
    if (!finding.next.empty()) error.hints.push_back(finding.next);
    break;
  }
  error.hints.push_back("vramwise doctor says what was looked at; --gpu none plans without a GPU");
  return error;
}

// Those that CUDA_VISIBLE_DEVICES names, in its order; all when it is not set. Like CUDA, an entry
// that fits nothing hides itself and all behind it.
std::vector<Card> visible(std::vector<Card> cards) {
  const std::string chosen = env("CUDA_VISIBLE_DEVICES");
  if (chosen.empty()) return cards;
  std::vector<Card> kept;
  for (const std::string_view part : split(chosen, ',')) {
    const std::string_view name = trim(part);
    const auto number = parse_integer(name);
    bool found = false;
    for (const Card& card : cards) {
      if (card.vendor != "nvidia") return cards;
      found = number ? card.slice.empty() && card.index == *number
                     : !name.empty() && starts_with(card.id, name);
      if (found) kept.push_back(card);
      if (found) break;
    }
    if (!found) break;
  }
  return kept;
}

Result<std::vector<Card>> choose(const std::vector<Card>& cards, const std::string& choice) {
  if (choice.empty()) {
    auto all = visible(cards);
    if (all.empty()) {
      return fail(
          Error(ErrorCode::not_found, "CUDA_VISIBLE_DEVICES=" + env("CUDA_VISIBLE_DEVICES") +
                                          " hides every GPU of this machine")
              .at("--gpu local")
              .hint("unset it, or name the cards: --gpu local:0"));
    }
    // A process can use one slice at a time.
    if (!all.front().slice.empty()) all.resize(1);
    return all;
  }
  std::vector<Card> chosen;
  for (const std::string_view part : split(choice, ',')) {
    const auto number = parse_integer(trim(part));
    if (!number || *number < 0 || *number >= int64_t(cards.size())) {
      return fail(Error(ErrorCode::not_found,
                        "this machine has no GPU '" + std::string(part.substr(0, 20)) +
                            "', only 0 to " + std::to_string(cards.size() - 1))
                      .at("--gpu local:" + choice.substr(0, 40))
                      .hint("vramwise doctor lists them"));
    }
    chosen.push_back(cards[size_t(*number)]);
  }
  return chosen;
}

}  // namespace

std::vector<Card> usable_cards(const Machine& machine) {
  std::vector<Card> usable;
  for (const Card& card : machine.cards) {
    if (!card.divided && card.total > Bytes()) usable.push_back(card);
  }
  return usable;
}

Result<void> apply_machine(Value& hardware, const Machine& machine) {
  const auto usable = usable_cards(machine);
  if (usable.empty()) return fail(no_card(machine));
  TRY_ASSIGN(std::vector<Card> cards, choose(usable, local_choice(hardware).value_or("")));
  if (const Value* count = hardware.find("count"); count != nullptr && count->is_integer()) {
    const int64_t wanted = count->as_integer();
    if (wanted < 1 || wanted > int64_t(cards.size())) {
      return fail(Error(ErrorCode::not_found, std::to_string(wanted) +
                                                  " GPUs are asked for, this machine offers " +
                                                  std::to_string(cards.size()))
                      .at("--count")
                      .hint("plan for more of the same kind by name: --gpu " +
                            (cards.front().gpu.empty() ? "ID" : cards.front().gpu) + " --count " +
                            std::to_string(wanted)));
    }
    cards.resize(size_t(wanted));
  }
  Value devices = Value::array();
  for (const Card& card : cards) {
    Value& device = devices.push(Value::object());
    if (!card.gpu.empty()) device.set("gpu", card.gpu);
    const Value* total = hardware.find("total_bytes");
    const Value* used = hardware.find("used_bytes");
    device.set("total_bytes", total != nullptr ? *total : Value(card.total));
    device.set("used_bytes", used != nullptr ? *used : Value(card.used));
  }
  for (const char* key : {"gpu", "count", "total_bytes", "used_bytes"}) hardware.erase(key);
  hardware.set("devices", std::move(devices));
  if (hardware.find("ram_bytes") == nullptr && machine.host.usable() > Bytes()) {
    hardware.set("ram_bytes", machine.host.usable());
  }
  // Every card is of one vendor; an unknown one still has a backend.
  if (hardware.find("backend") == nullptr && cards.front().gpu.empty()) {
    const std::string& vendor = cards.front().vendor;
    hardware.set("backend", vendor == "amd" ? "rocm" : vendor == "apple" ? "metal" : "cuda");
  }
  return {};
}

Result<void> resolve_local_hardware(Value& request) {
  std::optional<Machine> machine;
  for (Value* holder : {&request, request.find("a"), request.find("b")}) {
    Value* hardware = holder == nullptr ? nullptr : holder->find("hardware");
    if (hardware == nullptr || !local_choice(*hardware)) continue;
    if (!machine) machine = detect_machine();
    TRY(apply_machine(*hardware, *machine));
  }
  return {};
}

}  // namespace vramwise::host
