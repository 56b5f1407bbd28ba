#include "host/machine/card_reader.h"

#include "host/environment.h"
#include "host/machine/amdgpu.h"
#include "host/machine/apple.h"
#include "host/machine/host_memory.h"
#include "host/machine/nvidia_smi.h"
#include "host/machine/nvml.h"

namespace vramwise::host {
namespace {

void add_problem(std::vector<Finding>& findings, const Error& error) {
  findings.push_back({Finding::Weight::problem, error.where.source, error.message,
                      error.hints.empty() ? "" : error.hints.front()});
}

}  // namespace

CardReader::CardReader() = default;
CardReader::~CardReader() = default;

bool CardReader::open_nvml(std::vector<Finding>& findings) {
  auto nvml = Nvml::open();
  if (nvml) {
    nvml_ = std::move(*nvml);
    source_ = "nvml";
    driver_ = nvml_->driver_version();
    cuda_ = nvml_->cuda_version();
    return true;
  }
  // No library: other ways are tried without a word. A driver that does not answer is told.
  if (nvml.error().code != ErrorCode::not_found) add_problem(findings, nvml.error());
  return false;
}

std::vector<Card> CardReader::read(std::vector<Finding>& findings, Detail detail) {
  std::vector<Card> cards;
  const size_t before = findings.size();
  const bool first = !chosen_;
  chosen_ = true;
  if (nvml_ || (first && open_nvml(findings))) cards = nvml_->cards(findings);
  if (source_ == "nvidia-smi" || (first && source_.empty() && findings.size() == before)) {
    auto answer = ask_nvidia_smi();
    if (answer) {
      source_ = "nvidia-smi";
      driver_ = answer->driver;
      cards = std::move(answer->cards);
    } else if (answer.error().code != ErrorCode::not_found) {
      add_problem(findings, answer.error());
    }
  }
  if (source_ == "amdgpu" || (cards.empty() && first)) {
    auto amd = read_amd_cards();
    if (!amd.empty()) {
      source_ = "amdgpu";
      driver_ = amd_driver_version();
      if (detail == Detail::everything) add_amd_processes(amd);
      cards = std::move(amd);
    }
  }
#ifdef __APPLE__
  if (cards.empty()) {
    source_ = "metal";
    cards.push_back(read_apple_card());
  }
#endif
  if (cards.empty()) return cards;
  HostMemory host;
  for (const Card& card : cards) {
    if (!card.unified) continue;
    host = read_host_memory();
    break;
  }
  for (Card& card : cards) complete_card(card, host);
  return cards;
}

}  // namespace vramwise::host
