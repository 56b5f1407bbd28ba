// llama.cpp's server: a slot is a user. Each pass takes one token of every slot that generates,
// then prompts in the order of their slots until the batch is full. Nobody is evicted; who finds no
// slot waits.
//
// Source: llama.cpp tools/server/server-context.cpp. Valid for: reuse of a slot's old text off;
// with a unified cache a pass that finds no cells leaves the youngest out until cells are free (the
// program halves the batch and fails the request at one token; counted here as an eviction).
#include "workload/policies.h"
#include "workload/step_base.h"

namespace vramwise::workload {
namespace {

class Slots final : public StepBase {
 public:
  Slots(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
        FateSink* sink)
      : StepBase(scheduler, time, source, meter, sink), free_(scheduler.blocks) {}

 protected:
  bool impossible(const Arrival& r) const override {
    const int64_t cells = s_.unified ? s_.blocks : s_.blocks / s_.max_sequences;
    return blocks_for(reach(r)) > cells;
  }
  int64_t used() const override { return s_.blocks - free_; }
  void release(Job& job) override {
    free_ += job.held;
    job.held = 0;
  }
  void schedule() override {
    while (!waiting_.empty() && int64_t(running_.size()) < s_.max_sequences) {
      Job* job = waiting_.front();
      // A first token needs a first cell.
      if (s_.unified && free_ <= 0) {
        last_cause_ = Cause::memory;
        break;
      }
      job->computed = job->cached();
      if (job->admit < 0) job->hits = job->computed;
      admit(*job);
      waiting_.pop_front();
      running_.push_back(job);
    }
    if (!waiting_.empty() && int64_t(running_.size()) >= s_.max_sequences) {
      last_cause_ = Cause::sequences;
    }
    int64_t budget = s_.batch_tokens;
    for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
      if (running_[i]->decoding) add(i, std::min(decode_tokens(), budget), budget);
    }
    for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
      const Job& job = *running_[i];
      if (!job.decoding) add(i, std::min(job.known() - job.computed, budget), budget);
    }
  }

 private:
  void add(size_t place, int64_t tokens, int64_t& budget) {
    Job* job = running_[place];
    const int64_t need = std::max<int64_t>(0, blocks_for(job->computed + tokens) - job->held);
    while (s_.unified && need > free_) {
      Job* victim = running_.back();
      if (victim == job) break;
      // Someone already in this pass keeps its cells.
      bool in_pass = false;
      for (const Scheduled& s : scheduled_) in_pass = in_pass || s.job == victim;
      if (in_pass) break;
      running_.pop_back();
      evict(victim);
    }
    if (s_.unified && need > free_) {
      if (running_.back() == job && scheduled_.size() + 1 == running_.size() &&
          running_.size() > 1) {
        running_.pop_back();
        evict(job);
      }
      return;
    }
    free_ -= need;
    job->held += need;
    budget -= tokens;
    scheduled_.push_back({job, tokens});
  }

  int64_t free_;
};

}  // namespace

std::unique_ptr<Engine> slots(const Scheduler& scheduler, const StepTime& time, Source& source,
                              Meter* meter, FateSink* sink) {
  return std::make_unique<Slots>(scheduler, time, source, meter, sink);
}

}  // namespace vramwise::workload
