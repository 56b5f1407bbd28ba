// The C interface (include/vramwise/vramwise.h) on top of api::handle.

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "vramwise/vramwise.h"

namespace {

using vramwise::api::BlobPart;

// Far above any honest request (a config.json is a few KiB, a tensor table a few MiB) and small
// beside the 4 GiB of a 32-bit address space.
constexpr uint32_t kMaxRequestBytes = 256U << 20;

void* to_buffer(const std::string& answer) {
  const auto length = static_cast<uint32_t>(answer.size());
  auto* buffer = static_cast<char*>(std::malloc(sizeof(length) + answer.size() + 1));
  if (buffer == nullptr) return nullptr;
  std::memcpy(buffer, &length, sizeof(length));
  std::memcpy(buffer + sizeof(length), answer.c_str(), answer.size() + 1);
  return buffer;
}

}  // namespace

extern "C" {

void* vramwise_alloc(uint32_t size) {
  if (size > kMaxRequestBytes) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

void vramwise_free(void* pointer) { std::free(pointer); }

void* vramwise_handle(const char* request, uint32_t size) {
  return to_buffer(vramwise::api::handle(std::string_view(request, size)));
}

void* vramwise_handle_parts(const char* request, uint32_t size, const vramwise_part* parts,
                            uint32_t count) {
  std::vector<BlobPart> given;
  given.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const vramwise_part& part = parts[i];
    given.push_back({part.blob, static_cast<int64_t>(part.offset),
                     std::string_view(static_cast<const char*>(part.bytes), part.size)});
  }
  return to_buffer(vramwise::api::handle(std::string_view(request, size), given));
}

}  // extern "C"
