// The one contract: a JSON request in, a JSON answer out (docs/json-contract.md). The command line,
// the page, the C ABI and the npm module all speak this.
#pragma once

#include <string>
#include <string_view>

#include "api/blobs.h"
#include "json/value.h"

namespace vramwise::api {

// Who watches a long question (a simulation): called now and then with the requests done so far;
// false ends it, and the answer is what is known by then.
struct Observer {
  bool (*keep_going)(void* context, int64_t requests_done) = nullptr;
  void* context = nullptr;
};

// Always answers one JSON object; an error is an answer. Never throws, never aborts on input.
std::string handle(std::string_view request);
json::Value handle_value(const json::Value& request, std::string_view text = {},
                         const Observer& observer = {});
// The same for requests that name model files by blob (api/blobs.h); the answer may be a "need".
std::string handle(std::string_view request, std::span<const BlobPart> parts);

// Outcome as a process exit status: 0 fits, tight or answered; 1 no; 3, 4, 70 for errors.
int exit_status(const json::Value& answer);

// "0.1.0"
std::string_view version();

}  // namespace vramwise::api
