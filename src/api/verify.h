// {"ask":"verify"}: a server's log beside the plan of the same start.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "api/blobs.h"
#include "base/result.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::api {

// A log that comes in pieces: gigabytes in constant memory, or a file that still grows. What the
// command line uses; requests carry the text itself.
class LogSession {
 public:
  LogSession();
  ~LogSession();
  LogSession(LogSession&&) noexcept;
  LogSession& operator=(LogSession&&) noexcept;

  void feed(std::string_view bytes);
  // The answer for what was fed so far. `request` as for ask "verify", without "log".
  json::Value answer(const json::Value& request);
  // Whether the log says that the server is up, or that it died.
  bool settled() const;
  // Lines that told something so far; a change is a reason to answer again.
  int64_t matched() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// {"log":{"blob":0,"size_bytes":N}}: asks for the bytes that are lacking (the head and the tail of
// a log beyond 32 MiB), then puts the text in their place.
Result<std::optional<Need>> attach_log(json::Value& request, std::span<const BlobPart> parts);

Result<json::Value> ask_verify(const json::Reader& request, const json::Value& id);

}  // namespace vramwise::api
