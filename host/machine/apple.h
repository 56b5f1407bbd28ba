// Apple machines: one memory for processor and GPU, of which Metal lets a process have a part.
#pragma once

#include <string>

#include "base/units.h"
#include "host/machine/machine.h"

namespace vramwise::host {

// Metal's default for the working set: two thirds of the memory up to 36 GiB, three quarters of
// more (recommendedMaxWorkingSetSize of published llama.cpp logs); sysctl iogpu.wired_limit_mb
// replaces it. `chip` as sysctl machdep.cpu.brand_string says: "Apple M3 Max".
Card apple_card(std::string chip, Bytes memory, Bytes wired_limit);

#ifdef __APPLE__
// Both compiled on macOS only, and never run by the project's own tests.
Bytes apple_memory();
Card read_apple_card();
#endif

}  // namespace vramwise::host
