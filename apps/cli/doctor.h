// `vramwise doctor`: what this machine has, what holds its memory, what is wrong and what to do.
#pragma once

#include <string>

#include "apps/cli/output.h"
#include "host/machine/machine.h"

namespace vramwise::cli {

// Exit status 0 when the machine could be read (without a GPU, too), 1 when something that is there
// cannot be used.
int run_doctor(const Output& output);

// The report as text; separate for tests.
std::string doctor_text(const host::Machine& machine, const report::Style& style);

}  // namespace vramwise::cli
