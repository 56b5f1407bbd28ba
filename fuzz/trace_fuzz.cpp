// Traces of requests from any bytes: the reader refuses with a place or answers rows within limits.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workload/source.h"
#include "workload/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramwise::workload;
  // Beyond this, inputs only repeat themselves.
  if (size > (size_t{1} << 18)) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool named : {false, true}) {
    TraceColumns columns;
    if (named) {
      columns.prompt = "a";
      columns.output = "b";
    }
    auto trace = read_trace(text, "fuzz", columns);
    if (!trace) {
      if (trace.error().message.empty()) __builtin_trap();
      continue;
    }
    spread_ticks(*trace);
    double before = 0;
    for (const TraceRow& row : trace->rows) {
      if (row.prompt < 1 || row.prompt > kMaxPrompt || row.output < 1 || row.output > kMaxOutput ||
          !(row.arrival >= before)) {
        __builtin_trap();
      }
      before = row.arrival;
    }
  }
  return 0;
}
