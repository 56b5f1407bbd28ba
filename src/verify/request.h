// From a log to the question that predicts it.
#pragma once

#include "base/note.h"
#include "json/value.h"
#include "verify/log.h"

namespace vramwise::verify {

// A request of the contract (model, weights, engine, hardware) for what the log started. Members of
// `given` win: a whole model, single options, single hardware facts. Absent members could not be
// found out; `lacking` then says which ("engine", "model", "hardware").
struct LogRequest {
  json::Value request;
  std::vector<std::string> lacking;
  Notes notes;
};
LogRequest request_of(const Log& log, const json::Value& given);

}  // namespace vramwise::verify
