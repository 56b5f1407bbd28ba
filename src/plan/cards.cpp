#include "plan/cards.h"

namespace vramwise::plan {

engines::Backend usual_backend(const catalog::Gpu& gpu) {
  if (gpu.vendor == "amd") return engines::Backend::rocm;
  if (gpu.vendor == "apple") return engines::Backend::metal;
  if (gpu.vendor == "intel") return engines::Backend::sycl;
  return engines::Backend::cuda;
}

Resolved on_cards(const Resolved& resolved, const catalog::Gpu& gpu, size_t count) {
  Resolved changed = resolved;
  engines::Device device;
  device.gpu = gpu;
  device.total = gpu.total;
  device.total_uncertainty = gpu.total_uncertainty;
  changed.hardware.devices.assign(count, device);
  changed.hardware.backend = usual_backend(gpu);
  return changed;
}

}  // namespace vramwise::plan
