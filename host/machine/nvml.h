// The NVIDIA driver's management library, loaded when it is there. Its functions and structures are
// declared here from NVIDIA's published reference of the interface (docs.nvidia.com, NVML API).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/machine/machine.h"

namespace vramwise::host {

class Nvml {
 public:
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Errors: not_found when there is no library; unsupported when the driver does not answer, with
  // the driver's words in the message and the next step as a hint; `where.source` is the finding's
  // id ("driver_mismatch", …).
  static Result<std::unique_ptr<Nvml>> open();

  std::string driver_version() const;
  std::string cuda_version() const;  // "12.8"
  // Cards, and the slices of divided cards right behind theirs. May be asked again and again. What
  // goes wrong with single cards is added to `findings`.
  std::vector<Card> cards(std::vector<Finding>& findings) const;

 private:
  struct Functions;
  Nvml();
  std::unique_ptr<Functions> call_;
};

}  // namespace vramwise::host
