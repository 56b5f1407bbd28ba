// From a pasted launch line to a request: what the line says fills what the request leaves open.
#pragma once

#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "engines/launch/reading.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::api {

struct FromLine {
  json::Value request;  // without the line
  engines::launch::Reading reading;
  std::vector<Note> notes;  // what was read but not understood, for the answer's warnings
};

// The request with model, engine, options, environment and number of cards taken from its "line".
// Members that the request gives itself win; its engine version decides which options are gone.
// Errors: unsupported for a line of an engine that is
// not planned or of none (saying what was read), invalid_input for what the program itself would
// refuse, with its reasons as hints.
Result<FromLine> request_from_line(const json::Reader& request);

// Puts the notes among the answer's warnings.
void add_notes(json::Value& answer, const std::vector<Note>& notes);

// {"ask":"launch","line":"vllm serve …"}: what was read, nothing planned.
Result<json::Value> ask_launch(const json::Reader& request, const json::Value& id);

}  // namespace vramwise::api
