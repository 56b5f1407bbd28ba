// Any bytes as a server's log, in two pieces cut anywhere: reading never crashes, keeps to its
// limits, and what it read does not depend on the cut. Then the whole answer, with a plan where the
// bytes name a model of the catalog.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/verify.h"
#include "json/parse.h"
#include "verify/log_reader.h"
#include "verify/post_mortem.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Longer logs only repeat what shorter ones do.
  const std::string_view text(reinterpret_cast<const char*>(data),
                              std::min<size_t>(size, size_t{1} << 15));
  const verify::Log whole = verify::read_log(text);
  const size_t cut = text.empty() ? 0 : uint8_t(text[0]) * text.size() / 256;
  verify::LogReader pieces;
  pieces.feed(text.substr(0, cut));
  pieces.feed(text.substr(cut));
  pieces.finish();
  if (pieces.log().readings.size() != whole.readings.size()) std::abort();
  if (pieces.log().failures.size() != whole.failures.size()) std::abort();
  (void)verify::post_mortem(whole);
  api::LogSession session;
  session.feed(text);
  json::Value request = json::Value::object();
  const std::string answer = json::dump(session.answer(request));
  if (!json::parse(answer, "answer")) std::abort();
  return 0;
}
