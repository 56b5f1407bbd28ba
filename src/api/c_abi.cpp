// The C interface (include/vramwise/vramwise.h) on top of api::handle.

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "api/api.h"
#include "vramwise/vramwise.h"

namespace {

// Far above any honest request (a config.json is a few KiB, a tensor table a few MiB) and small
// beside the 4 GiB of a 32-bit address space.
constexpr uint32_t kMaxRequestBytes = 256U << 20;

}  // namespace

extern "C" {

void* vramwise_alloc(uint32_t size) {
  if (size > kMaxRequestBytes) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

void vramwise_free(void* pointer) { std::free(pointer); }

void* vramwise_handle(const char* request, uint32_t size) {
  const std::string answer = vramwise::api::handle(std::string_view(request, size));
  const auto length = static_cast<uint32_t>(answer.size());
  auto* buffer = static_cast<char*>(std::malloc(sizeof(length) + answer.size() + 1));
  if (buffer == nullptr) return nullptr;
  std::memcpy(buffer, &length, sizeof(length));
  std::memcpy(buffer + sizeof(length), answer.c_str(), answer.size() + 1);
  return buffer;
}

}  // extern "C"
