// The machine a plan is for.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "catalog/gpu.h"

namespace vramwise::engines {

struct Device {
  catalog::Gpu gpu;  // facts of the catalog; a bare size has id "custom"
  Bytes total;       // what the driver lets a process see
  Bytes total_uncertainty;
  Bytes used;  // already taken by others
  Bytes free() const { return total - used; }
};

enum class Backend { cuda, rocm, vulkan, metal, sycl, rpc, cpu };
std::string_view to_string(Backend backend);

struct Hardware {
  std::vector<Device> devices;  // empty: CPU only
  Backend backend = Backend::cuda;
  Bytes ram;  // 0 = not given
  bool is_cpu_only() const { return devices.empty(); }
};

}  // namespace vramwise::engines
