// The answer in one sentence.
#pragma once

#include <string>

#include "plan/plan.h"

namespace vramwise::plan {

std::string sentence(const Plan& plan);
// "2 x h100-sxm", "CPU only", "rtx-4090 + rtx-3090"
std::string describe(const engines::Hardware& hardware);
// "3.50 of 24.00 GiB": one unit where both have it.
std::string share_text(Bytes part, Bytes whole);

}  // namespace vramwise::plan
