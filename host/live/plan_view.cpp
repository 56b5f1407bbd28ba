#include "host/live/plan_view.h"

#include "api/api.h"
#include "host/files.h"
#include "host/machine/local_hardware.h"
#include "host/model_source.h"
#include "json/parse.h"

namespace vramwise::host {
namespace {

constexpr int64_t kMostText = int64_t{64} << 20;

int64_t integer(const json::Value* value) {
  return value != nullptr && value->is_integer() ? value->as_integer() : 0;
}

std::string text(const json::Value* value) {
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

const json::Value* at(const json::Value& value, const char* a, const char* b) {
  const json::Value* part = value.find(a);
  return part == nullptr ? nullptr : part->find(b);
}

}  // namespace

Result<PlanView> view_plan(const json::Value& answer) {
  if (const json::Value* error = answer.find("error")) {
    Error problem(ErrorCode::invalid_input, "the plan failed: " + text(error->find("message")));
    if (text(error->find("code")) == "not_found") problem.code = ErrorCode::not_found;
    if (const json::Value* hints = error->find("hints"); hints != nullptr && hints->is_array()) {
      for (const json::Value& hint : hints->as_array()) problem.hints.push_back(text(&hint));
    }
    problem.where.source = text(error->find("where"));
    return fail(std::move(problem));
  }
  const json::Value* devices = answer.find("devices");
  if (answer.find("outcome") == nullptr || devices == nullptr || !devices->is_array()) {
    return fail(Error(ErrorCode::invalid_input, "this is no answer to a plan")
                    .hint("make one: vramwise plan MODEL … --json > plan.json"));
  }
  PlanView view;
  view.model = text(at(answer, "model", "id"));
  view.engine = text(at(answer, "engine", "name"));
  for (const json::Value& device : devices->as_array()) {
    view.reserved.emplace_back(integer(device.find("reserved_bytes")));
    view.free.emplace_back(integer(device.find("free_bytes")));
  }
  if (const int64_t tokens = integer(at(answer, "kv", "pool_tokens")); tokens > 0) {
    view.pool_tokens = tokens;
  }
  if (answer.find("users") != nullptr) view.users = integer(answer.find("users"));
  view.sequence_tokens = integer(at(answer, "workload", "sequence_tokens"));
  view.concurrency = integer(at(answer, "workload", "concurrency"));
  return view;
}

Result<PlanView> read_plan_file(const std::string& path) {
  TRY_ASSIGN(const std::string document, read_file(path, kMostText));
  TRY_ASSIGN(json::Value value, json::parse(document, path));
  if (const json::Value* answer = value.find("answer"); answer != nullptr && answer->is_object()) {
    return view_plan(*answer);
  }
  if (value.find("outcome") != nullptr || value.find("error") != nullptr) return view_plan(value);
  if (json::Value* request = value.find("request"); request != nullptr && request->is_object()) {
    json::Value inner = *request;
    value = std::move(inner);
  }
  TRY(resolve_sources(value, {}));
  TRY(resolve_local_hardware(value));
  return view_plan(api::handle_value(value));
}

}  // namespace vramwise::host
