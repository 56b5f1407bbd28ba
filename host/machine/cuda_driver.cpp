#include "host/machine/cuda_driver.h"

#include <array>

#include "base/text.h"
#include "host/environment.h"
#include "host/shared_library.h"

namespace vramwise::host {
namespace {

// As NVML writes it: "GPU-8c3b4b5e-…" in groups of 4-2-2-2-6 bytes.
std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

bool ask_cuda_totals(std::vector<Card>& cards) {
  static SharedLibrary library;
  const std::string chosen = env("VRAMWISE_CUDA_LIBRARY");
  if (!library && !(chosen.empty() ? library.open({"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                                   "/usr/local/nvidia/lib64/libcuda.so.1"})
                                   : library.open(chosen))) {
    return false;
  }
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*uuid)(unsigned char*, int) = nullptr;
  int (*total)(size_t*, int) = nullptr;
  if (!library.find("cuInit", init) || !library.find("cuDeviceGetCount", count) ||
      !library.find("cuDeviceGet", get) || !library.find("cuDeviceTotalMem_v2", total) ||
      !library.find("cuDeviceGetUuid", uuid)) {
    return false;
  }
  int devices = 0;
  if (init(0) != 0 || count(&devices) != 0) return false;
  for (int i = 0; i < devices; ++i) {
    int device = 0;
    std::array<unsigned char, 16> id{};
    size_t bytes = 0;
    if (get(&device, i) != 0 || uuid(id.data(), device) != 0 || total(&bytes, device) != 0)
      continue;
    for (Card& card : cards) {
      // A divided card is one CUDA device, but of the size of a slice.
      if (card.divided || !card.slice.empty() || to_lower(card.id) != to_lower(uuid_text(id))) {
        continue;
      }
      card.total = Bytes(int64_t(bytes));
      card.total_basis = "cuda";
    }
  }
  return true;
}

}  // namespace vramwise::host
