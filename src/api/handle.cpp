#include "api/api.h"

#include "api/answer.h"
#include "api/asks.h"
#include "api/line.h"
#include "api/option_rows.h"
#include "api/verify.h"
#include "base/text.h"
#include "json/parse.h"

#ifndef VRAMWISE_VERSION
#define VRAMWISE_VERSION "0.0.0"
#endif

namespace vramwise::api {
namespace {

Result<json::Value> answer_ask(const json::Reader& request, const json::Value& id,
                               const Observer& observer) {
  if (!request.is_object()) {
    return fail(request.error(ErrorCode::invalid_input,
                              "a request must be a JSON object, not " +
                                  std::string(json::to_string(request.value().kind()))));
  }
  TRY_ASSIGN(const auto name, request.optional_string({"ask"}));
  const std::string ask = name.value_or("plan");
  // A launch line fills what the request leaves open; "launch" asks about the line itself, "verify"
  // has a log beside it.
  if (request.has("line") && ask != "launch" && ask != "verify") {
    TRY_ASSIGN(const FromLine from, request_from_line(request));
    TRY_ASSIGN(json::Value answer, answer_ask(json::Reader(from.request, "request"), id, observer));
    add_notes(answer, from.notes);
    // Only a plan that was asked for them has them.
    if (json::Value* rows = answer.find("options")) mark_line_options(*rows, from.reading);
    return answer;
  }
  std::vector<std::string_view> known;
  for (const Ask& candidate : asks()) {
    if (candidate.name == ask) {
      return candidate.watched != nullptr ? candidate.watched(request, id, observer)
                                          : candidate.answer(request, id);
    }
    known.push_back(candidate.name);
  }
  Error error(ErrorCode::unsupported, "unknown question '" + ask.substr(0, 60) + "'");
  for (const std::string& near : nearest_names(ask, known, 1)) {
    error.hints.push_back("a question with a similar name exists: " + near);
  }
  error.hints.push_back("questions: " + join({known.begin(), known.end()}, ", "));
  return fail(std::move(error).at("ask"));
}

}  // namespace

json::Value handle_value(const json::Value& request, std::string_view text,
                         const Observer& observer) {
  const json::Value* given_id = request.find("id");
  const json::Value id = given_id != nullptr ? *given_id : json::Value();
  auto answer = answer_ask(json::Reader(request, "request", text), id, observer);
  if (!answer) return error_answer(id, answer.error());
  const std::string pointer = find_too_large(*answer);
  if (!pointer.empty()) {
    return error_answer(
        id, Error(ErrorCode::too_large,
                  "the answer holds a number beyond 2^53 - 1, larger than any real machine's")
                .at(Where{"answer", pointer, 0, 0, -1})
                .hint("ask for fewer tokens, sequences or layers"));
  }
  return std::move(*answer);
}

std::string handle(std::string_view request) {
  const auto value = json::parse(request, "request");
  if (!value) return json::dump(error_answer(json::Value(), value.error()));
  return json::dump(handle_value(*value, request));
}

std::string handle(std::string_view request, std::span<const BlobPart> parts) {
  auto value = json::parse(request, "request");
  if (!value) return json::dump(error_answer(json::Value(), value.error()));
  const json::Value* given_id = value->find("id");
  const json::Value id = given_id != nullptr ? *given_id : json::Value();
  auto need = attach_headers(*value, parts);
  if (need && !*need) need = attach_log(*value, parts);
  if (!need) return json::dump(error_answer(id, need.error()));
  if (*need) {
    json::Value answer = answer_head(id);
    json::Value block = json::Value::object();
    block.set("blob", (*need)->blob);
    block.set("offset", (*need)->offset);
    block.set("bytes", (*need)->bytes);
    answer.set("need", std::move(block));
    return json::dump(answer);
  }
  // Values have moved: places of faults in the text would be wrong.
  return json::dump(handle_value(*value));
}

int exit_status(const json::Value& answer) {
  if (const json::Value* error = answer.find("error")) {
    const json::Value* code = error->find("code");
    const std::string name = code != nullptr ? code->as_string() : "";
    if (name == to_string(ErrorCode::not_found)) return 4;
    if (name == to_string(ErrorCode::internal)) return 70;
    return 3;
  }
  if (const json::Value* verified = answer.find("verify")) {
    const json::Value* status = verified->find("status");
    const json::Value* agrees = verified->find("agrees");
    const bool failed = status != nullptr && starts_with(status->as_string(), "failed");
    return failed || (agrees != nullptr && !agrees->as_boolean()) ? 1 : 0;
  }
  // A promise that is not kept is a no.
  if (const json::Value* simulated = answer.find("simulate")) {
    const json::Value* meets = simulated->find("meets");
    return meets != nullptr && !meets->as_boolean() ? 1 : 0;
  }
  const json::Value* outcome = answer.find("outcome");
  if (outcome == nullptr) return 0;
  const std::string& word = outcome->as_string();
  return word == "does_not_fit" || word == "refuses_to_start" ? 1 : 0;
}

std::string_view version() { return VRAMWISE_VERSION; }

}  // namespace vramwise::api
