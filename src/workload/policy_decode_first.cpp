// vLLM V1's scheduler, step by step.
//
// Source: vllm v1/core/sched/scheduler.py, v1/core/kv_cache_manager.py and v1/core/block_pool.py
// (2026-05). Valid for: first-come policy, one KV cache group.
#include "workload/policies.h"
#include "workload/step_base.h"

namespace vramwise::workload {
namespace {

class DecodeFirst final : public StepBase {
 public:
  DecodeFirst(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
              FateSink* sink)
      : StepBase(scheduler, time, source, meter, sink) {
    if (s_.prefix_caching) index_blocks();
  }

 protected:
  bool impossible(const Arrival& r) const override { return blocks_for(reach(r)) > s_.blocks; }
  void schedule() override {
    int64_t budget = s_.batch_tokens;
    if (!run_running(budget)) admit_waiting(budget);
  }

 private:
  int64_t whole(const Job& job) const { return blocks_for(reach(job.request)); }
  int64_t wanted(int64_t tokens, int64_t budget) const {
    if (s_.long_prefill_threshold > 0) tokens = std::min(tokens, s_.long_prefill_threshold);
    return std::min(tokens, budget);
  }

  // Who runs goes on, in the order of admission. True when somebody was evicted.
  bool run_running(int64_t& budget) {
    bool evicted = false;
    for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
      Job* job = running_[i];
      // Drafts take part in the budget and in the cache before they are checked.
      const int64_t drafts = job->decoding ? s_.draft_tokens : 0;
      const int64_t tokens = wanted(job->known() - job->computed + drafts, budget);
      const int64_t need = std::max<int64_t>(0, blocks_for(job->computed + tokens) - job->held);
      while (need > free()) {
        Job* victim = running_.back();
        running_.pop_back();
        evict(victim);
        evicted = true;
        if (victim == job) return true;
      }
      take(*job, need);
      budget -= tokens;
      index_full(*job, tokens);
      scheduled_.push_back({job, tokens});
    }
    return evicted;
  }

  void admit_waiting(int64_t& budget) {
    while (!waiting_.empty()) {
      Job* job = waiting_.front();
      const auto blocked = [&](Cause cause) { last_cause_ = cause; };
      if (budget <= 0) return blocked(Cause::budget);
      if (int64_t(running_.size()) >= s_.max_sequences) return blocked(Cause::sequences);
      const Hits hits = find_hits(*job);
      int64_t tokens = job->known() - hits.tokens;
      if (s_.long_prefill_threshold > 0) tokens = std::min(tokens, s_.long_prefill_threshold);
      if (!s_.chunked_prefill && tokens > budget) return blocked(Cause::budget);
      tokens = std::min(tokens, budget);
      const int64_t goal = s_.reserve_full_prompt ? job->known() : hits.tokens + tokens;
      const int64_t water = running_.empty() ? 0 : s_.watermark_blocks;
      if (s_.reserve_output) {
        // Blocks that those who run will still take.
        int64_t promised = 0;
        for (const Job* other : running_) promised += whole(*other) - other->held;
        if (whole(*job) + promised > free()) return blocked(Cause::memory);
      }
      if (blocks_for(goal) - hits.blocks + hits.idle + water > free())
        return blocked(Cause::memory);
      use_hits(*job, hits);
      take(*job, blocks_for(hits.tokens + tokens) - hits.blocks);
      admit(*job);
      waiting_.pop_front();
      running_.push_back(job);
      budget -= tokens;
      index_full(*job, tokens);
      scheduled_.push_back({job, tokens});
    }
  }
};

}  // namespace

std::unique_ptr<Engine> decode_first(const Scheduler& scheduler, const StepTime& time,
                                     Source& source, Meter* meter, FateSink* sink) {
  return std::make_unique<DecodeFirst>(scheduler, time, source, meter, sink);
}

}  // namespace vramwise::workload
