// AMD cards: the amdgpu driver's files below /sys/class/drm, names from libdrm's table of ids.
#pragma once

#include <vector>

#include "host/machine/machine.h"

namespace vramwise::host {

// Empty when there is none.
std::vector<Card> read_amd_cards();
// Adds the processes that rocm-smi lists, where it is installed.
void add_amd_processes(std::vector<Card>& cards);
// Version of the kernel's driver; empty when unknown.
std::string amd_driver_version();

}  // namespace vramwise::host
