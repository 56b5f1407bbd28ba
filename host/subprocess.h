// Another program, run to its end with bounds on time and output. No shell is involved.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace vramwise::host {

struct ProgramResult {
  int status = 0;  // exit status; 128 + signal when killed
  std::string output;
  std::string errors;
};

// `words[0]` is looked up in PATH. Errors: not_found when there is no such program, invalid_input
// when it does not end in time (it is killed), too_large beyond 4 MiB of output.
Result<ProgramResult> run_program(const std::vector<std::string>& words,
                                  std::chrono::milliseconds limit = std::chrono::seconds(10));

}  // namespace vramwise::host
