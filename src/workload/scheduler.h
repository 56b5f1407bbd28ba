// What lives in src/workload: requests with lengths and arrival times, the schedulers of the
// serving engines simulated on a block pool, and what follows from it: occupancy, waiting, latency,
// throughput, cost. Called by src/api; knows no file and no clock.
//
// This header: the settings of a scheduler and what a step takes.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vramwise::workload {

// Who decides what runs next.
enum class Policy {
  decode_first,   // vLLM V1: decodes first, chunked prompts, the youngest is evicted
  prefill_first,  // prompts first, admission charges part of the answer, retraction
  slots,          // llama.cpp: a fixed slot a user, no eviction
};
std::string_view to_string(Policy policy);

// Names are vLLM's concepts; docs/workload.md says what each engine calls them.
struct Scheduler {
  Policy policy = Policy::decode_first;
  int64_t block_tokens = 16;
  int64_t blocks = 0;  // usable: vLLM's logged number of GPU blocks less the null block
  int64_t max_sequences = 256;
  int64_t batch_tokens = 8192;
  int64_t long_prefill_threshold = 0;  // 0: no limit beside the budget
  bool reserve_full_prompt = true;
  bool chunked_prefill = true;
  int64_t watermark_blocks = 0;
  bool prefix_caching = false;
  bool reserve_output = false;  // admission waits until whole answers fit: nobody is ever evicted
  // Speculative decoding: tokens that a decode drafts beside its own, and the share of them that is
  // accepted, each only after the one before it.
  int64_t draft_tokens = 0;
  double acceptance = 0;
  // SGLang alone.
  double conservativeness = 1.0;
  int64_t max_new_tokens = 0;      // what clients ask for; 0: exactly what they get
  int64_t prefill_tokens = 16384;  // most prompt tokens of one prefill batch
  bool mixed_chunk = false;
  // llama.cpp alone: cells shared by all slots (else blocks / max_sequences each).
  bool unified = true;

  // Tokens that a decode makes in a step on average: 1 + a + a² + … + a^drafts.
  double made_per_step() const {
    double sum = 1;
    double chance = acceptance;
    for (int64_t j = 0; j < draft_tokens; ++j, chance *= acceptance) sum += chance;
    return sum;
  }
};

// Errors: invalid_input for settings that no engine runs with.
Result<bool> check(const Scheduler& scheduler);

// Seconds (or steps, or nanoseconds: the caller's unit) that one step takes:
//   fixed + per_decode·n + per_context_token·K + per_prefill_token·c + per_prefill_pair·q
//         + by_tokens[n·tokens_per_decode + c]
// n sequences decode, K tokens are read by them, c prompt tokens are computed, and q sums
// chunk·(2·start + chunk) over the prompt chunks (attention inside the prompts).
// Additions stay exact as long as everything is an integer below 2^53.
struct StepTime {
  double fixed = 1;
  double per_decode = 0;
  double per_context_token = 0;
  double per_prefill_token = 0;
  double per_prefill_pair = 0;
  // Weights and arithmetic by the number of tokens in the step; beyond the table the last slope
  // goes on. Empty: none.
  std::vector<double> by_tokens;
  double beyond_table = 0;
  int64_t tokens_per_decode = 1;  // more where drafts are checked
  // Of a measured server: what a decode beyond so many costs more (or less) than those before it.
  int64_t many_decodes = std::numeric_limits<int64_t>::max();
  double per_decode_beyond = 0;

  double tokens_part(int64_t tokens) const {
    if (by_tokens.empty()) return 0;
    const int64_t last = int64_t(by_tokens.size()) - 1;
    if (tokens <= last) return by_tokens[size_t(tokens)];
    return by_tokens.back() + beyond_table * double(tokens - last);
  }
  double step(int64_t decodes, int64_t context, int64_t prefill, double pairs) const {
    const double even = fixed + per_decode * double(decodes) + per_context_token * double(context) +
                        per_prefill_token * double(prefill) + per_prefill_pair * pairs +
                        tokens_part(decodes * tokens_per_decode + prefill);
    if (decodes <= many_decodes) return even;
    return even + per_decode_beyond * double(decodes - many_decodes);
  }
  // The same times a factor.
  StepTime scaled(double factor) const;
};

}  // namespace vramwise::workload
