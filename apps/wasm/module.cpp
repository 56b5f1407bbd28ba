// The WebAssembly door: three C functions around api::handle, for the page's worker and the npm
// module.
//
//   caller                                        module
//   p = vramwise_alloc(n)                         room for the request
//   memory[p .. p+n) = UTF-8 JSON
//   r = vramwise_handle(p, n)                     u32 length (little-endian), then that many bytes
//   of JSON vramwise_free(p); read r; vramwise_free(r)    both belong to the caller
//
// A returned 0 means that the memory could not be had.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#if __has_include("api/api.h")
#include "api/api.h"
#else
// Until src/api is there the module answers with an error, so that the toolchain can be tried.
namespace vramwise::api {
static std::string handle(std::string_view) {
  return R"({"schema_version":1,"error":{"code":"unsupported","message":"built without src/api"}})";
}
}  // namespace vramwise::api
#endif

namespace {

// Far above any honest request (a config.json is a few KiB, a tensor table a few MiB) and small
// beside the 4 GiB of a 32-bit address space.
constexpr std::uint32_t kMaxRequestBytes = 256U << 20;

}  // namespace

extern "C" {

__attribute__((export_name("vramwise_alloc"))) void* vramwise_alloc(std::uint32_t size) {
  if (size > kMaxRequestBytes) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

__attribute__((export_name("vramwise_free"))) void vramwise_free(void* pointer) {
  std::free(pointer);
}

__attribute__((export_name("vramwise_handle"))) void* vramwise_handle(const char* request,
                                                                      std::uint32_t size) {
  const std::string answer = vramwise::api::handle(std::string_view(request, size));
  const auto length = static_cast<std::uint32_t>(answer.size());
  auto* result = static_cast<char*>(std::malloc(sizeof(length) + answer.size()));
  if (result == nullptr) return nullptr;
  std::memcpy(result, &length, sizeof(length));
  std::memcpy(result + sizeof(length), answer.data(), answer.size());
  return result;
}

}  // extern "C"
