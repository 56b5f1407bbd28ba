// Model files that the caller holds (a page, a program of its own): the core asks for the ranges it
// needs and never for a whole file.
//
//   {"model":{"blob":0,"size_bytes":N,"name":"x.gguf"},…}
//   {"model":{"files":[{"name":"config.json","blob":0,"size_bytes":N},…],"file":"…"},…}
//
// Without the bytes that are needed the answer is {"need":{"blob":0,"offset":…,"bytes":…}}: fetch
// them, add them to the parts of the call and ask again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::api {

struct BlobPart {
  int64_t blob = 0;
  int64_t offset = 0;
  std::string_view bytes;
};

struct Need {
  int64_t blob = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// Replaces files by what their headers say ("header", "config") in the request's model, and in the
// models of the two sides of a comparison. Answers what is lacking, if anything.
Result<std::optional<Need>> attach_headers(json::Value& request, std::span<const BlobPart> parts);

}  // namespace vramwise::api
