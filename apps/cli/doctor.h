// `vramwise doctor`: what this machine has, what holds its memory, what is wrong and what to do.
#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "host/machine/machine.h"

namespace vramwise::cli {

class DoctorCommand : public Command {
 public:
  explicit DoctorCommand(const Program& program);
  // Exit status 0 when the machine could be read (without a GPU, too), 1 when something that is
  // there cannot be used.
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
};

// The report as text; separate for tests.
std::string doctor_text(const host::Machine& machine, const report::Style& style);

}  // namespace vramwise::cli
