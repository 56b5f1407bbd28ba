#include "host/machine/apple.h"

#ifdef __APPLE__
#include <sys/sysctl.h>

#include <array>
#endif

namespace vramwise::host {

Card apple_card(std::string chip, Bytes memory, Bytes wired_limit) {
  Card card;
  card.vendor = "apple";
  card.unified = true;
  card.name = chip + " " + std::to_string(memory / GiB(1)) + "GB";
  card.driver_total = memory;
  card.total_basis = "driver";
  card.total = wired_limit > Bytes() && wired_limit < memory ? wired_limit
               : memory <= GiB(36)                           ? memory * 2 / 3
                                                             : memory * 3 / 4;
  card.free = card.total;
  return card;
}

#ifdef __APPLE__
namespace {

int64_t number(const char* name) {
  int64_t value = 0;
  size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

}  // namespace

Bytes apple_memory() { return Bytes(number("hw.memsize")); }

Card read_apple_card() {
  std::array<char, 128> chip{};
  size_t size = chip.size() - 1;
  ::sysctlbyname("machdep.cpu.brand_string", chip.data(), &size, nullptr, 0);
  return apple_card(chip.data(), apple_memory(), MiB(number("iogpu.wired_limit_mb")));
}
#endif

}  // namespace vramwise::host
