// What servers answer while they run: streamed events and metrics. Both readers take any bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/stream/event_stream.h"
#include "formats/stream/exposition.h"
#include "formats/stream/metric_histogram.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > (1 << 16)) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto found = vramwise::formats::read_exposition(text);
  for (const auto& sample : found.samples) {
    found.sum(sample.name);
    const std::string_view name = sample.name;
    const size_t end = name.rfind("_count");
    if (end == name.npos) continue;
    // Between nothing and what is there is what is there; quantiles never fall.
    const auto histogram = vramwise::formats::histogram_of(found, name.substr(0, end));
    if (!histogram) continue;
    const auto passed = vramwise::formats::between({}, *histogram);
    if (!passed || passed->count != histogram->count) __builtin_trap();
    double before = 0;
    for (int p = 0; p <= 10; ++p) {
      const auto q = passed->quantile(double(p) / 10);
      if (q && !(*q >= before)) __builtin_trap();
      before = q.value_or(before);
    }
  }
  // The first byte says how the events arrive in pieces; the result may not depend on it.
  const size_t piece = size_t{data[0]} % 97 + 1;
  size_t whole = 0;
  size_t pieces = 0;
  vramwise::formats::EventStream at_once;
  vramwise::formats::EventStream in_pieces;
  at_once.feed(text, [&](std::string_view event) { whole += event.size() + 1; });
  for (size_t i = 0; i < text.size(); i += piece) {
    in_pieces.feed(text.substr(i, piece),
                   [&](std::string_view event) { pieces += event.size() + 1; });
  }
  if (whole != pieces) __builtin_trap();
  return 0;
}
