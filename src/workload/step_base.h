// What the step-by-step schedulers share: requests in the system, the clock, arrivals, and the end
// of a step. Each policy adds how a step is put together.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "base/text.h"
#include "workload/block_pool.h"
#include "workload/engine.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

struct Job {
  Arrival request;
  double admit = -1;
  double first = -1;
  double last_token = -1;  // when an evicted one made its last token
  int64_t generated = 0;
  int64_t computed = 0;
  int64_t indexed = 0;  // blocks known to the prefix index
  int64_t work = 0;
  int64_t hits = 0;
  int64_t held = 0;             // blocks
  std::vector<int32_t> blocks;  // the same by number, where prefixes are cached
  int32_t preemptions = 0;
  int32_t slot = -1;  // where it runs (llama.cpp)
  int32_t asked = 0;  // answer tokens that the client asked for (SGLang)
  bool decoding = false;
  bool waited = false;
  Cause cause = Cause::none;

  int64_t known() const { return request.prompt + generated; }
  // Of what is known, what need not be computed: the last token always is.
  int64_t cached() const { return std::min<int64_t>(request.cached, known() - 1); }
};

class StepBase : public Engine {
 public:
  StepBase(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
           FateSink* sink)
      : s_(scheduler),
        time_(time),
        source_(source),
        meter_(meter),
        sink_(sink),
        free_(scheduler.blocks) {}

  Result<bool> advance(double until, const Limits& limits) override;
  int64_t waiting() const override { return int64_t(waiting_.size()); }
  int64_t running() const override { return int64_t(running_.size()); }
  Totals totals() const override {
    Totals so_far = totals_;
    so_far.now = now_;
    return so_far;
  }

 protected:
  struct Scheduled {
    Job* job;
    int64_t tokens;
    int64_t made = 1;  // tokens of the answer, of a decode
  };
  // Chooses who runs in this step into scheduled_.
  virtual void schedule() = 0;
  // Whether a request of that size could ever run.
  virtual bool impossible(const Arrival& request) const = 0;
  virtual void release(Job& job) { give_back(job); }
  virtual int64_t used() const { return s_.blocks - free(); }

  // The pool: blocks by number where prefixes are cached (index_blocks), else a count alone.
  void index_blocks() { pool_ = std::make_unique<BlockPool>(s_.blocks); }
  bool indexed() const { return pool_ != nullptr; }
  int64_t free() const { return pool_ ? pool_->free() : free_; }
  void take(Job& job, int64_t blocks);
  void give_back(Job& job);
  // Blocks that this step fills can be found from now on, also by a later admission in the same
  // step.
  void index_full(Job& job, int64_t tokens);
  // What the cache holds of a request's text. The last token is computed in any case, and with it
  // its whole block.
  struct Hits {
    int64_t tokens = 0;
    int64_t blocks = 0;
    int64_t idle = 0;  // of them, those that count as free until they are used
  };
  Hits find_hits(const Job& job);
  // Takes the blocks that find_hits found last.
  void use_hits(Job& job, const Hits& hits);

  // Tokens that a decode computes in a step.
  int64_t decode_tokens() const { return 1 + s_.draft_tokens; }
  // Tokens that a decode makes in a step: its own and the accepted drafts, no more than are asked.
  int64_t made(const Job& job) const;
  // Where the pool has to reach for a whole request: the last token's keys and values are never
  // stored, drafts are before they are checked.
  int64_t reach(const Arrival& request) const {
    return int64_t{request.prompt} + request.output - 1 + s_.draft_tokens;
  }
  int64_t blocks_for(int64_t tokens) const { return ceil_div(tokens, s_.block_tokens); }
  void admit(Job& job) {
    if (job.admit >= 0) return;
    job.admit = now_;
    job.waited = job.request.time <= previous_start_;
    if (job.waited) job.cause = last_cause_;
  }
  // Takes everything from a running job and puts it in front of the queue. The caller has taken it
  // out of running_.
  void evict(Job* job);
  void take_arrivals();
  void execute();
  void leave(Job* job, bool rejected);

  const Scheduler& s_;
  const StepTime& time_;
  Source& source_;
  Meter* meter_;
  FateSink* sink_;
  Totals totals_;
  double now_ = 0;
  double previous_start_ = -1;
  Cause last_cause_ = Cause::none;  // what last held the queue back
  std::vector<Job*> running_;
  std::deque<Job*> waiting_;
  std::vector<Scheduled> scheduled_;
  int64_t free_;  // blocks, where none are indexed

 private:
  std::unique_ptr<BlockPool> pool_;
  std::vector<int32_t> hits_;
  Job* new_job();
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<Job*> spare_;
  std::vector<std::pair<int64_t, int64_t>> shown_;
};

}  // namespace vramwise::workload
