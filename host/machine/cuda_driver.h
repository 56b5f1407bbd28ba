// What CUDA itself says of the memory of each card: exact, but starting CUDA takes up to seconds.
#pragma once

#include <vector>

#include "host/machine/machine.h"

namespace vramwise::host {

// Sets `total` (basis "cuda") of the cards that CUDA shows to this process; leaves the others
// alone. No context is created, so no memory is taken. False when CUDA cannot be started.
bool ask_cuda_totals(std::vector<Card>& cards);

}  // namespace vramwise::host
