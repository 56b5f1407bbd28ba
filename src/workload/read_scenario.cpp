#include "workload/read_scenario.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace vramwise::workload {
namespace {

constexpr int64_t kMaxBlocks = int64_t{1} << 36;
constexpr int64_t kMaxBatch = int64_t{1} << 32;
constexpr int64_t kMaxSequences = int64_t{1} << 24;
constexpr size_t kMaxListed = 2'000'000;

Result<bool> take(const json::Reader& from, std::string_view key, int64_t& value, int64_t least,
                  int64_t most) {
  TRY_ASSIGN(const auto given, from.optional_integer({key}, least, most));
  if (given) value = *given;
  return true;
}

Result<bool> take(const json::Reader& from, std::string_view key, double& value, double most) {
  TRY_ASSIGN(const auto given, from.optional_number({key}, 0, most));
  if (given) value = *given;
  return true;
}

Result<bool> only(const json::Reader& from, std::initializer_list<std::string_view> known) {
  if (!from.is_object()) {
    return fail(from.error(ErrorCode::invalid_input, "must be an object"));
  }
  for (const json::Member& member : from.value().as_object()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    Error error = from.error(ErrorCode::invalid_input,
                             "'" + member.key.substr(0, 60) + "' is not a member of this object");
    for (const std::string& near :
         nearest_names(member.key, std::vector<std::string_view>(known), 1)) {
      error.hints.push_back("a similar member exists: " + near);
    }
    return fail(std::move(error));
  }
  return true;
}

}  // namespace

Result<bool> read_scheduler(const json::Reader& from, Scheduler& s) {
  TRY(only(from,
           {"policy", "block_tokens", "blocks", "max_sequences", "batch_tokens",
            "long_prefill_threshold", "reserve_full_prompt", "chunked_prefill", "watermark_blocks",
            "prefix_caching", "conservativeness", "max_new_tokens", "prefill_tokens", "mixed_chunk",
            "unified", "reserve_output", "draft_tokens", "acceptance"}));
  TRY_ASSIGN(const auto policy, from.optional_string({"policy"}));
  if (policy) {
    if (*policy == "decode_first") {
      s.policy = Policy::decode_first;
    } else if (*policy == "prefill_first") {
      s.policy = Policy::prefill_first;
    } else if (*policy == "slots") {
      s.policy = Policy::slots;
    } else {
      return fail(
          Error(ErrorCode::not_found, "unknown scheduler policy '" + policy->substr(0, 60) + "'")
              .at("scheduler.policy")
              .hint("policies: decode_first (vLLM), prefill_first (SGLang), slots (llama.cpp)"));
    }
  }
  TRY(take(from, "block_tokens", s.block_tokens, 1, int64_t{1} << 20));
  TRY(take(from, "blocks", s.blocks, 1, kMaxBlocks));
  TRY(take(from, "max_sequences", s.max_sequences, 1, kMaxSequences));
  TRY(take(from, "batch_tokens", s.batch_tokens, 1, kMaxBatch));
  TRY(take(from, "long_prefill_threshold", s.long_prefill_threshold, 0, kMaxBatch));
  TRY(take(from, "watermark_blocks", s.watermark_blocks, 0, kMaxBlocks));
  TRY(take(from, "max_new_tokens", s.max_new_tokens, 0, kMaxOutput));
  TRY(take(from, "prefill_tokens", s.prefill_tokens, 1, kMaxBatch));
  TRY(take(from, "conservativeness", s.conservativeness, 100));
  TRY(take(from, "draft_tokens", s.draft_tokens, 0, 64));
  TRY(take(from, "acceptance", s.acceptance, 1));
  TRY_ASSIGN(s.reserve_full_prompt,
             from.boolean_or({"reserve_full_prompt"}, s.reserve_full_prompt));
  TRY_ASSIGN(s.chunked_prefill, from.boolean_or({"chunked_prefill"}, s.chunked_prefill));
  TRY_ASSIGN(s.prefix_caching, from.boolean_or({"prefix_caching"}, s.prefix_caching));
  TRY_ASSIGN(s.reserve_output, from.boolean_or({"reserve_output"}, s.reserve_output));
  TRY_ASSIGN(s.mixed_chunk, from.boolean_or({"mixed_chunk"}, s.mixed_chunk));
  TRY_ASSIGN(s.unified, from.boolean_or({"unified"}, s.unified));
  return true;
}

Result<bool> read_step_time(const json::Reader& from, StepTime& time, std::string& unit) {
  TRY(only(from, {"unit", "fixed", "per_decode", "per_context_token", "per_prefill_token"}));
  TRY_ASSIGN(const auto name, from.optional_string({"unit"}));
  if (name) unit = *name;
  if (unit != "seconds" && unit != "nanoseconds" && unit != "steps") {
    return fail(from.error(ErrorCode::invalid_input, "unknown unit '" + unit.substr(0, 60) + "'")
                    .hint("units: seconds, nanoseconds, steps"));
  }
  constexpr double kMost = 1e15;
  TRY(take(from, "fixed", time.fixed, kMost));
  TRY(take(from, "per_decode", time.per_decode, kMost));
  TRY(take(from, "per_context_token", time.per_context_token, kMost));
  TRY(take(from, "per_prefill_token", time.per_prefill_token, kMost));
  if (time.fixed <= 0) {
    return fail(from.error(ErrorCode::invalid_input, "a step must take some time: fixed is zero"));
  }
  return true;
}

Result<std::vector<Arrival>> read_requests(const json::Reader& from) {
  TRY_ASSIGN(const auto items, from.items());
  if (items.size() > kMaxListed) {
    return fail(from.error(ErrorCode::too_large, "more than 2,000,000 requests in a list")
                    .hint("give them as a trace"));
  }
  std::vector<Arrival> requests;
  requests.reserve(items.size());
  std::map<std::string, int64_t> streams;
  for (const json::Reader& item : items) {
    Arrival r;
    r.id = int64_t(requests.size());
    TRY_ASSIGN(const auto arrival, item.optional_number({"arrival", "arrival_seconds"}, 0, 1e15));
    TRY_ASSIGN(const int64_t prompt,
               item.require_integer({"prompt", "prompt_tokens"}, 1, kMaxPrompt));
    TRY_ASSIGN(const int64_t output,
               item.require_integer({"output", "output_tokens"}, 1, kMaxOutput));
    TRY_ASSIGN(const auto stream, item.optional_string({"stream"}));
    TRY_ASSIGN(r.stream_tokens, item.integer_or({"stream_tokens"}, 0));
    r.time = arrival.value_or(0);
    TRY_ASSIGN(const int64_t cached, item.integer_or({"cached_tokens"}, 0, 0, kMaxPrompt));
    r.cached = int32_t(cached);
    r.prompt = int32_t(prompt);
    r.output = int32_t(output);
    if (stream) r.stream = streams.emplace(*stream, int64_t(streams.size())).first->second;
    requests.push_back(r);
  }
  return requests;
}

}  // namespace vramwise::workload
