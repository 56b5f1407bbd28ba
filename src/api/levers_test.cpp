// A lever's "set" is what a page applies when somebody tries the change: the request with it,
// planned again, must give the verdict that the lever promised.
#include <gtest/gtest.h>

#include <string>

#include "api/api.h"
#include "json/parse.h"

namespace vramwise::api {
namespace {

using json::Value;

// RFC 7396.
Value merged(Value target, const Value& patch) {
  if (!patch.is_object()) return patch;
  if (!target.is_object()) target = Value::object();
  for (const json::Member& member : patch.as_object()) {
    if (member.value.is_null()) {
      target.erase(member.key);
      continue;
    }
    const Value* old = target.find(member.key);
    target.set(member.key, merged(old != nullptr ? *old : Value(), member.value));
  }
  return target;
}

const char* const kRequests[] = {
    R"({"model":{"ref":"meta-llama/Llama-3.1-70B"},"weights":"Q4_K_M","engine":{"name":"llama.cpp"},
        "hardware":{"gpu":"h100-sxm"},"workload":{"sequence_tokens":65536,"concurrency":2}})",
    R"({"model":{"ref":"Qwen/Qwen3-32B"},"engine":{"name":"vllm"},
        "hardware":{"gpu":"h100-sxm"},"workload":{"sequence_tokens":40960,"concurrency":4}})",
    R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"sglang"},
        "hardware":{"gpu":"h100-sxm"},"workload":{"sequence_tokens":8192,"concurrency":50}})",
    R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"trtllm"},
        "hardware":{"gpu":"rtx-4090"},"workload":{"sequence_tokens":8192,"concurrency":8}})",
};

TEST(Levers, SetIsTheChange) {
  for (const char* text : kRequests) {
    const auto request = json::parse(text, "request");
    ASSERT_TRUE(request);
    const Value answer = handle_value(*request);
    const Value* levers = answer.find("levers");
    ASSERT_NE(levers, nullptr) << json::dump(answer);
    ASSERT_GT(levers->as_array().size(), 2U) << text;
    for (const Value& lever : levers->as_array()) {
      Value changed = merged(*request, *lever.find("set"));
      changed.set("levers", false);
      const Value after = handle_value(changed);
      const std::string where = text + json::dump(lever);
      ASSERT_NE(after.find("outcome"), nullptr) << where << json::dump(after);
      EXPECT_EQ(after.find("outcome")->as_string(), lever.find("outcome")->as_string()) << where;
      if (const Value* users = lever.find("users")) {
        EXPECT_EQ(after.find("users")->as_integer(), users->as_integer()) << where;
      }
      EXPECT_TRUE(after.find("levers")->as_array().empty());
    }
  }
}

TEST(Limit, IsWhatThePoolOrTheCardHolds) {
  for (const char* text : kRequests) {
    const Value answer = handle_value(*json::parse(text, "request"));
    const Value& device = answer.find("devices")->as_array().front();
    const int64_t limit = device.find("limit_bytes")->as_integer();
    const int64_t need = answer.find("readings")->find("need")->find("total_bytes")->as_integer();
    EXPECT_LE(limit, device.find("total_bytes")->as_integer());
    if (answer.find("outcome")->as_string() == "fits") {
      EXPECT_LE(need, limit) << text;
    }
    if (answer.find("outcome")->as_string() == "does_not_fit") {
      EXPECT_GT(need, limit) << text;
    }
  }
}

}  // namespace
}  // namespace vramwise::api
