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
      : StepBase(scheduler, time, source, meter, sink), free_(scheduler.blocks) {
    if (s_.prefix_caching) pool_ = std::make_unique<BlockPool>(s_.blocks);
  }

 protected:
  bool impossible(const Arrival& r) const override { return blocks_for(reach(r)) > s_.blocks; }
  int64_t used() const override { return s_.blocks - free(); }
  void release(Job& job) override {
    if (pool_) {
      pool_->release(job.blocks);
      job.blocks.clear();
    } else {
      free_ += job.held;
    }
    job.held = 0;
  }
  void schedule() override {
    int64_t budget = s_.batch_tokens;
    if (!run_running(budget)) admit_waiting(budget);
  }

 private:
  int64_t whole(const Job& job) const { return blocks_for(reach(job.request)); }
  int64_t free() const { return pool_ ? pool_->free() : free_; }
  void take(Job& job, int64_t blocks) {
    job.held += blocks;
    if (pool_) {
      for (int64_t i = 0; i < blocks; ++i) job.blocks.push_back(pool_->take());
    } else {
      free_ -= blocks;
    }
  }
  // Blocks that this step fills can be found from now on, also by a later admission in the same
  // step.
  void index_full(Job& job, int64_t tokens) {
    if (!pool_) return;
    const int64_t full = std::min(job.computed + tokens, job.known()) / s_.block_tokens;
    for (; job.indexed < full; ++job.indexed) {
      pool_->index(job.blocks[size_t(job.indexed)],
                   identity_of(job.request, job.indexed, s_.block_tokens));
    }
  }
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
      hits_.clear();
      int64_t idle = 0;
      if (pool_) {
        // The last token is computed in any case, and with it its whole block.
        for (int64_t k = 0; k < (job->known() - 1) / s_.block_tokens; ++k) {
          const int32_t block = pool_->find(identity_of(job->request, k, s_.block_tokens));
          if (block < 0) break;
          hits_.push_back(block);
          if (pool_->idle(block)) ++idle;
        }
      }
      const int64_t hit_tokens = pool_ ? int64_t(hits_.size()) * s_.block_tokens : job->cached();
      int64_t tokens = job->known() - hit_tokens;
      if (s_.long_prefill_threshold > 0) tokens = std::min(tokens, s_.long_prefill_threshold);
      if (!s_.chunked_prefill && tokens > budget) return blocked(Cause::budget);
      tokens = std::min(tokens, budget);
      const int64_t goal = s_.reserve_full_prompt ? job->known() : hit_tokens + tokens;
      const int64_t water = running_.empty() ? 0 : s_.watermark_blocks;
      const int64_t hit_blocks = int64_t(hits_.size());
      if (s_.reserve_output) {
        // Blocks that those who run will still take.
        int64_t promised = 0;
        for (const Job* other : running_) promised += whole(*other) - other->held;
        if (whole(*job) + promised > free()) return blocked(Cause::memory);
      }
      if (blocks_for(goal) - hit_blocks + idle + water > free()) return blocked(Cause::memory);
      for (const int32_t block : hits_) {
        pool_->use(block);
        job->blocks.push_back(block);
      }
      job->held = hit_blocks;
      take(*job, blocks_for(hit_tokens + tokens) - hit_blocks);
      job->indexed = hit_blocks;
      job->computed = hit_tokens;
      if (job->admit < 0) job->hits = hit_tokens;
      admit(*job);
      waiting_.pop_front();
      running_.push_back(job);
      budget -= tokens;
      index_full(*job, tokens);
      scheduled_.push_back({job, tokens});
    }
  }

  int64_t free_;
  std::unique_ptr<BlockPool> pool_;
  std::vector<int32_t> hits_;
};

}  // namespace

std::unique_ptr<Engine> decode_first(const Scheduler& scheduler, const StepTime& time,
                                     Source& source, Meter* meter, FateSink* sink) {
  return std::make_unique<DecodeFirst>(scheduler, time, source, meter, sink);
}

}  // namespace vramwise::workload
