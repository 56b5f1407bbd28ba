// The cards of the machine, read again and again from the best source there is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/machine/machine.h"

namespace vramwise::host {

class Nvml;

class CardReader {
 public:
  enum class Detail {
    memory,      // what changes: cheap enough for every second
    everything,  // and what takes other programs to find out
  };
  CardReader();
  ~CardReader();
  CardReader(const CardReader&) = delete;
  CardReader& operator=(const CardReader&) = delete;

  // The first call chooses the source. Faults become findings; no card is an empty list.
  std::vector<Card> read(std::vector<Finding>& findings, Detail detail = Detail::memory);

  const std::string& source() const { return source_; }
  const std::string& driver() const { return driver_; }
  const std::string& cuda() const { return cuda_; }

 private:
  bool open_nvml(std::vector<Finding>& findings);

  bool chosen_ = false;
  std::unique_ptr<Nvml> nvml_;
  std::string source_;
  std::string driver_;
  std::string cuda_;
};

// Fills in the catalog's id and, from it, what the driver left open. Part of read().
void complete_card(Card& card, const HostMemory& host);

}  // namespace vramwise::host
