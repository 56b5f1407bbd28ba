// Header lines of an HTTP answer and what is read out of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "formats/http/head.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  formats::HttpHead head;
  for (const std::string_view line : split(text, '\n')) head.add_line(line);
  const formats::Url base = *formats::parse_url("https://hub.example/a/b?c");
  for (const auto& [name, value] : head.fields) {
    if (const auto range = formats::parse_content_range(value)) {
      if (range->first > range->last) std::abort();
    }
    if (const auto seconds = formats::parse_retry_after(value, 1'700'000'000)) {
      if (*seconds < 0) std::abort();
    }
    (void)formats::next_link(value);
    if (const auto url = formats::resolve_location(base, value)) {
      // What is accepted is read the same way again and holds nothing that splits a request.
      const auto again = formats::parse_url(url->to_text());
      if (!again || again->to_text() != url->to_text()) std::abort();
      if (url->to_text().find_first_of("\r\n @\\") < url->origin().size()) std::abort();
    }
    (void)formats::encode_path_part(value);
  }
  return 0;
}
