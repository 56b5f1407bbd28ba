// The program nvidia-smi, for machines where NVML itself cannot be loaded (a static build, a
// container with the program alone).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/machine/machine.h"

namespace vramwise::host {

struct SmiAnswer {
  std::string driver;
  std::vector<Card> cards;
};

// Errors: not_found when there is no such program, unsupported with its own words when it fails.
Result<SmiAnswer> ask_nvidia_smi();

// The two tables it prints (csv,noheader,nounits); separate for tests. The columns of `gpus` are
// those of kGpuColumns, of `processes` gpu_uuid, pid, process_name, used_memory.
SmiAnswer read_smi_tables(std::string_view gpus, std::string_view processes);

}  // namespace vramwise::host
