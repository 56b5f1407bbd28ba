// SGLang's scheduler: prompts run first and alone, admission charges part of the answer in advance,
// and a decode that does not fit sends the least advanced back to the queue.
//
// Source: sglang python/sglang/srt/managers/schedule_policy.py, schedule_batch.py and
// new_token_ratio_tracker.py, mem_cache/radix_cache.py. Valid for: first-come order, page size
// >= 1. The radix cache is an index of blocks, evicted by last use from the ends of texts; a page
// of one token is simulated in blocks of several (question.cpp), so that reuse is found in whole
// blocks.
#include "workload/policies.h"
#include "workload/step_base.h"

namespace vramwise::workload {
namespace {

// schedule_policy.py: clips the estimate of what a request will still take.
constexpr int64_t kClipMaxNewTokens = 4096;
// Initial share of the answer that admission charges, its floor as a share of that, and the decode
// steps between the two (environ.py: SGLANG_INIT_NEW_TOKEN_RATIO, …MIN_…_FACTOR, …DECAY_STEPS).
constexpr double kInitialRatio = 0.7;
constexpr double kFloorFactor = 0.14;
constexpr double kDecaySteps = 600;
// Decode steps that a retraction makes room for (SGLANG_RETRACT_DECODE_STEPS).
constexpr int64_t kRetractSteps = 20;

class PrefillFirst final : public StepBase {
 public:
  PrefillFirst(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
               FateSink* sink)
      : StepBase(scheduler, time, source, meter, sink),
        initial_(std::min(1.0, kInitialRatio * scheduler.conservativeness)),
        floor_(initial_ * kFloorFactor),
        ratio_(initial_) {
    if (s_.prefix_caching) index_blocks();
  }

 protected:
  bool impossible(const Arrival& r) const override { return blocks_for(reach(r)) > s_.blocks; }
  // The tree learns a prompt when it is computed and an answer when it is done; what a retracted
  // request had made is not kept.
  void release(Job& job) override {
    if (job.generated == job.request.output) index_full(job, 0);
    give_back(job);
  }
  void schedule() override {
    form_prefill();
    const bool has_prompt = !scheduled_.empty();
    if (has_prompt && !s_.mixed_chunk) return;
    if (!has_prompt) {
      retract_until_fits();
      ratio_ = std::max(floor_, ratio_ - (initial_ - floor_) / kDecaySteps);
    }
    for (Job* job : running_) {
      if (!job->decoding || !grow(*job, decode_tokens())) continue;
      scheduled_.push_back({job, decode_tokens()});
    }
  }

 private:
  int64_t asked(const Job& job) const {
    return std::max<int64_t>(s_.max_new_tokens, job.request.output);
  }
  // Tokens that a running request is still charged with.
  double reserved(const Job& job) const {
    const int64_t left = std::min(asked(job) - job.generated, kClipMaxNewTokens);
    return ratio_ * double(std::max<int64_t>(left, 0));
  }
  bool grow(Job& job, int64_t tokens) {
    const int64_t need = std::max<int64_t>(0, blocks_for(job.computed + tokens) - job.held);
    if (need > free()) return false;
    take(job, need);
    return true;
  }

  // The chunked prompt goes on, then new ones while tokens and charges allow.
  void form_prefill() {
    int64_t budget = s_.prefill_tokens;
    int64_t chunk = s_.chunked_prefill ? s_.batch_tokens : s_.prefill_tokens;
    double free_tokens = double(free() * s_.block_tokens);
    for (const Job* job : running_) free_tokens -= reserved(*job);
    for (Job* job : running_) {
      if (job->decoding) continue;
      const int64_t tokens = std::min({job->known() - job->computed, budget, chunk});
      if (tokens <= 0 || !grow(*job, tokens)) continue;
      budget -= tokens;
      chunk -= tokens;
      free_tokens -= double(tokens);
      index_full(*job, tokens);
      scheduled_.push_back({job, tokens});
      // Only one prompt is cut at a time.
      if (job->computed + tokens < job->known()) return;
    }
    while (!waiting_.empty()) {
      Job* job = waiting_.front();
      if (int64_t(running_.size()) >= s_.max_sequences) {
        last_cause_ = Cause::sequences;
        return;
      }
      if (budget <= 0 || chunk <= 0) {
        last_cause_ = Cause::budget;
        return;
      }
      const int64_t answer = std::min(asked(*job) - job->generated, kClipMaxNewTokens);
      const Hits hits = find_hits(*job);
      // What is found is not computed; what nobody used of it leaves what could be evicted.
      const int64_t found = indexed() ? hits.tokens : 0;
      const double charge =
          double(job->known() - found + answer + s_.block_tokens + hits.idle * s_.block_tokens);
      // An empty server takes whoever comes.
      if (charge > free_tokens && !running_.empty()) {
        last_cause_ = Cause::memory;
        return;
      }
      int64_t tokens = std::min(job->known() - hits.tokens, chunk);
      if (tokens > budget) {
        if (!scheduled_.empty()) {
          last_cause_ = Cause::budget;
          return;
        }
        tokens = budget;
      }
      if (blocks_for(hits.tokens + tokens) - hits.blocks + hits.idle > free()) {
        last_cause_ = Cause::memory;
        return;
      }
      use_hits(*job, hits);
      grow(*job, tokens);
      index_full(*job, tokens);
      admit(*job);
      waiting_.pop_front();
      running_.push_back(job);
      budget -= tokens;
      chunk -= tokens;
      free_tokens -= charge;
      scheduled_.push_back({job, tokens});
      if (hits.tokens + tokens < job->known()) return;
    }
  }

  int64_t next_decode_blocks() const {
    int64_t need = 0;
    for (const Job* job : running_) {
      if (job->decoding) {
        need += std::max<int64_t>(0, blocks_for(job->computed + decode_tokens()) - job->held);
      }
    }
    return need;
  }

  void retract_until_fits() {
    if (next_decode_blocks() <= free()) return;
    while (next_decode_blocks() > free() && running_.size() > 1) {
      // Fewest produced first, then the longest prompt, then the youngest.
      size_t worst = 0;
      for (size_t i = 1; i < running_.size(); ++i) {
        const Job& a = *running_[i];
        const Job& b = *running_[worst];
        if (a.generated < b.generated ||
            (a.generated == b.generated && a.request.prompt >= b.request.prompt)) {
          worst = i;
        }
      }
      Job* victim = running_[worst];
      running_.erase(running_.begin() + int64_t(worst));
      evict(victim);
      // Retracted requests go behind those that wait.
      waiting_.pop_front();
      waiting_.push_back(victim);
    }
    int64_t produced = 0;
    int64_t most = 0;
    for (const Job* job : running_) {
      produced += job->generated;
      most += asked(*job);
    }
    const double after =
        double(produced + kRetractSteps * int64_t(running_.size())) / double(most + 1);
    ratio_ = std::min(1.0, after);
  }

  double initial_, floor_, ratio_;
};

}  // namespace

std::unique_ptr<Engine> prefill_first(const Scheduler& scheduler, const StepTime& time,
                                      Source& source, Meter* meter, FateSink* sink) {
  return std::make_unique<PrefillFirst>(scheduler, time, source, meter, sink);
}

}  // namespace vramwise::workload
