// A GPU of the catalog, with the facts that memory planning uses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace vramwise::catalog {

struct Gpu {
  std::string id;
  std::string name;
  std::string vendor;          // "nvidia", "amd", "intel", "apple", "google", ...
  std::string architecture;    // "Hopper"
  int compute_capability = 0;  // 90 for 9.0; 0 when not NVIDIA
  int sm_count = 0;            // streaming multiprocessors; 0 when unknown
  Bytes total;                 // what a process sees (cudaMemGetInfo total)
  Bytes driver_total;          // what nvidia-smi prints as total; 0 when unknown
  Bytes marketing;             // the number on the box, GB decimal x 10^9... kept for display
  enum class Basis { measured, inferred } basis = Basis::inferred;
  Bytes total_uncertainty;      // half width of the bar when inferred, else small
  bool unified_memory = false;  // memory shared with the host (GB10, GH200, Apple, APUs)
  double bandwidth_gbs = 0;     // 0 when unknown
  double bf16_tflops = 0;
  double fp8_tflops = 0;
  double fp4_tflops = 0;
  double int8_tops = 0;
  double power_w = 0;
  int max_per_node = 0;
  std::string interconnect;
  std::string source;  // public source of `total`
  std::vector<std::string> aliases;
};

// By id, alias or slice ("h100-sxm:1g.10gb"). Errors: not_found with the nearest names, or slices.
Result<Gpu> find_gpu(std::string_view id_or_alias);

}  // namespace vramwise::catalog
