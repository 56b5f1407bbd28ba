#include "workload/scheduler.h"

namespace vramwise::workload {

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::decode_first: return "decode_first";
    case Policy::prefill_first: return "prefill_first";
    case Policy::slots: return "slots";
  }
  return "";
}

StepTime StepTime::scaled(double factor) const {
  StepTime t = *this;
  t.fixed *= factor;
  t.per_decode *= factor;
  t.per_decode_beyond *= factor;
  t.per_context_token *= factor;
  t.per_prefill_token *= factor;
  t.per_prefill_pair *= factor;
  t.beyond_table *= factor;
  for (double& value : t.by_tokens) value *= factor;
  return t;
}

Result<bool> check(const Scheduler& s) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const auto bad = [](std::string what, std::string hint) {
    return fail(Error(ErrorCode::invalid_input, std::move(what)).at("scheduler").hint(hint));
  };
  if (s.block_tokens < 1 || s.block_tokens > (int64_t{1} << 20)) {
    return bad("block_tokens must lie between 1 and 1,048,576", "vLLM's default is 16");
  }
  if (s.blocks < 1 || s.blocks > kMost) {
    return bad("the pool has no blocks", "give \"blocks\", or a model and hardware to derive it");
  }
  if (s.max_sequences < 1 || s.batch_tokens < 1) {
    return bad("max_sequences and batch_tokens must be at least 1", "256 and 8192 are common");
  }
  // Where prompts run alone, batch_tokens is the chunk and no limit to decodes.
  if (s.batch_tokens < s.max_sequences && s.policy != Policy::prefill_first) {
    return bad("batch_tokens is smaller than max_sequences: not every sequence could decode",
               "raise batch_tokens");
  }
  if (s.draft_tokens < 0 || s.draft_tokens > 64 || s.acceptance < 0 || s.acceptance > 1) {
    return bad("between 0 and 64 tokens are drafted, and a share of them between 0 and 1 accepted",
               "3 to 8 tokens are common");
  }
  return true;
}

}  // namespace vramwise::workload
