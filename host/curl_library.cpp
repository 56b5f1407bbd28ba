#include "host/curl_library.h"

#include <dlfcn.h>

namespace vramwise::host {
namespace {

constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load() {
  void* library = nullptr;
  for (const char* name : kNames) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  CurlLibrary curl;
  const bool complete = library != nullptr && find(library, "curl_global_init", curl.global_init) &&
                        find(library, "curl_easy_init", curl.easy_init) &&
                        find(library, "curl_easy_reset", curl.easy_reset) &&
                        find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        find(library, "curl_easy_setopt", curl.easy_setopt) &&
                        find(library, "curl_easy_perform", curl.easy_perform) &&
                        find(library, "curl_easy_strerror", curl.easy_strerror) &&
                        find(library, "curl_slist_append", curl.slist_append) &&
                        find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!complete || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return fail(Error(ErrorCode::unsupported, "libcurl is needed to read from the network")
                    .hint("install it (Debian: libcurl4), or fetch the files and give their path"));
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> curl_library() {
  static const Result<CurlLibrary> library = load();
  if (!library) return fail(library.error());
  return &*library;
}

}  // namespace vramwise::host
