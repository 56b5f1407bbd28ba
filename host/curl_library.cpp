#include "host/curl_library.h"

#include "host/shared_library.h"

namespace vramwise::host {
namespace {

Result<CurlLibrary> load() {
  SharedLibrary library;
  CurlLibrary curl;
  const bool complete = library.open({"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"}) &&
                        library.find("curl_global_init", curl.global_init) &&
                        library.find("curl_easy_init", curl.easy_init) &&
                        library.find("curl_easy_reset", curl.easy_reset) &&
                        library.find("curl_easy_cleanup", curl.easy_cleanup) &&
                        library.find("curl_easy_setopt", curl.easy_setopt) &&
                        library.find("curl_easy_getinfo", curl.easy_getinfo) &&
                        library.find("curl_easy_perform", curl.easy_perform) &&
                        library.find("curl_easy_strerror", curl.easy_strerror) &&
                        library.find("curl_slist_append", curl.slist_append) &&
                        library.find("curl_slist_free_all", curl.slist_free_all) &&
                        library.find("curl_multi_init", curl.multi_init) &&
                        library.find("curl_multi_cleanup", curl.multi_cleanup) &&
                        library.find("curl_multi_add_handle", curl.multi_add_handle) &&
                        library.find("curl_multi_remove_handle", curl.multi_remove_handle) &&
                        library.find("curl_multi_perform", curl.multi_perform) &&
                        library.find("curl_multi_poll", curl.multi_poll) &&
                        library.find("curl_multi_info_read", curl.multi_info_read) &&
                        library.find("curl_multi_setopt", curl.multi_setopt);
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
