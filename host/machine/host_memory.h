// Host memory, its limits by control groups (versions 1 and 2), and shared memory.
#pragma once

#include "host/machine/machine.h"

namespace vramwise::host {

HostMemory read_host_memory();

}  // namespace vramwise::host
