// From a pasted launch line to a request: what the line says fills what the request leaves open.
#pragma once

#include "base/result.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::api {

// The request with model, engine, options, environment and number of cards taken from its "line".
// Members that the request gives itself win. Errors: unsupported for a line of an engine that is
// not planned or of none (saying what was read), invalid_input for what the program itself would
// refuse, with its reasons as hints.
Result<json::Value> request_from_line(const json::Reader& request);

// {"ask":"launch","line":"vllm serve …"}: what was read, nothing planned.
Result<json::Value> ask_launch(const json::Reader& request, const json::Value& id);

}  // namespace vramwise::api
