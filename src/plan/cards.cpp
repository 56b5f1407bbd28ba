#include "plan/cards.h"

namespace vramwise::plan {

engines::Backend usual_backend(const catalog::Gpu& gpu) {
  if (gpu.vendor == "amd") return engines::Backend::rocm;
  if (gpu.vendor == "apple") return engines::Backend::metal;
  if (gpu.vendor == "intel") return engines::Backend::sycl;
  return engines::Backend::cuda;
}

bool has_backend(const catalog::Gpu& gpu, engines::Backend backend) {
  if (gpu.vendor.empty()) return true;  // memory alone was given
  switch (backend) {
    case engines::Backend::cuda: return gpu.vendor == "nvidia";
    case engines::Backend::rocm: return gpu.vendor == "amd";
    case engines::Backend::metal: return gpu.vendor == "apple";
    // Its compilers have plug-ins for the cards of the others.
    case engines::Backend::sycl: return gpu.vendor != "apple";
    default: return true;
  }
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
