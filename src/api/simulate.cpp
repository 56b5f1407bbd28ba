#include "api/simulate.h"

#include "api/answer.h"

namespace vramwise::api {

Result<json::Value> simulate(const json::Reader& request, const json::Value& id,
                             const Observer& observer) {
  json::Value answer = answer_head(id);
  TRY_ASSIGN(json::Value block, simulate_scenario(request, observer));
  answer.set("simulate", std::move(block));
  return answer;
}

Result<json::Value> ask_simulate(const json::Reader& request, const json::Value& id) {
  return simulate(request, id, Observer());
}

}  // namespace vramwise::api
