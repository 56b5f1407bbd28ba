#include "engines/hardware.h"

namespace vramwise::engines {

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::cuda: return "cuda";
    case Backend::rocm: return "rocm";
    case Backend::vulkan: return "vulkan";
    case Backend::metal: return "metal";
    case Backend::sycl: return "sycl";
    case Backend::rpc: return "rpc";
    case Backend::cpu: return "cpu";
  }
  return "";
}

}  // namespace vramwise::engines
