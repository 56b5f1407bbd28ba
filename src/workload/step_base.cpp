#include "workload/step_base.h"

namespace vramwise::workload {
namespace {

constexpr int64_t kMaxInSystem = 1'000'000;
constexpr int64_t kStepsBetweenLooks = 1024;

}  // namespace

// A draft is accepted with the same chance each time, and only after the one before it: drawn by a
// number that depends on the request and the place alone (splitmix64), so that every engine and
// platform draws alike.
int64_t StepBase::made(const Job& job) const {
  int64_t accepted = 0;
  if (s_.draft_tokens > 0) {
    uint64_t x = uint64_t(job.request.id) * 0x9e3779b97f4a7c15ULL + uint64_t(job.generated);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    const double u = double((x ^ (x >> 31)) >> 11) * 0x1p-53;
    for (double chance = s_.acceptance; accepted < s_.draft_tokens && u < chance; ++accepted) {
      chance *= s_.acceptance;
    }
  }
  return std::min<int64_t>(1 + accepted, job.request.output - job.generated);
}

void StepBase::take(Job& job, int64_t blocks) {
  job.held += blocks;
  if (pool_) {
    for (int64_t i = 0; i < blocks; ++i) job.blocks.push_back(pool_->take());
  } else {
    free_ -= blocks;
  }
}

void StepBase::give_back(Job& job) {
  if (pool_) {
    pool_->release(job.blocks);
    job.blocks.clear();
  } else {
    free_ += job.held;
  }
  job.held = 0;
}

void StepBase::index_full(Job& job, int64_t tokens) {
  if (!pool_) return;
  const int64_t full = std::min(job.computed + tokens, job.known()) / s_.block_tokens;
  for (; job.indexed < full; ++job.indexed) {
    pool_->index(job.blocks[size_t(job.indexed)],
                 identity_of(job.request, job.indexed, s_.block_tokens));
  }
}

StepBase::Hits StepBase::find_hits(const Job& job) {
  Hits hits;
  if (!pool_) {
    hits.tokens = job.cached();
    return hits;
  }
  hits_.clear();
  for (int64_t k = 0; k < (job.known() - 1) / s_.block_tokens; ++k) {
    const int32_t block = pool_->find(identity_of(job.request, k, s_.block_tokens));
    if (block < 0) break;
    hits_.push_back(block);
    if (pool_->idle(block)) ++hits.idle;
  }
  hits.blocks = int64_t(hits_.size());
  hits.tokens = hits.blocks * s_.block_tokens;
  return hits;
}

void StepBase::use_hits(Job& job, const Hits& hits) {
  if (pool_) {
    for (const int32_t block : hits_) {
      pool_->use(block);
      job.blocks.push_back(block);
    }
  }
  job.held = hits.blocks;
  job.indexed = hits.blocks;
  job.computed = hits.tokens;
  if (job.admit < 0) job.hits = hits.tokens;
}

Job* StepBase::new_job() {
  if (!spare_.empty()) {
    Job* job = spare_.back();
    spare_.pop_back();
    std::vector<int32_t> blocks = std::move(job->blocks);
    blocks.clear();
    *job = Job();
    job->blocks = std::move(blocks);
    return job;
  }
  jobs_.push_back(std::make_unique<Job>());
  return jobs_.back().get();
}

void StepBase::leave(Job* job, bool rejected) {
  Fate fate;
  fate.request = job->request;
  fate.rejected = rejected;
  if (rejected) {
    ++totals_.rejected;
  } else {
    fate.admit = job->admit;
    fate.first = job->first;
    fate.finish = now_;
    fate.preemptions = job->preemptions;
    fate.hit_tokens = job->hits;
    fate.computed_tokens = job->work;
    fate.waited = job->waited;
    fate.cause = job->cause;
    totals_.end = now_;
  }
  spare_.push_back(job);
  if (meter_ != nullptr) meter_->left(fate, now_);
  if (sink_ != nullptr) sink_->left(fate);
  source_.left(fate.request, now_);
}

void StepBase::evict(Job* job) {
  release(*job);
  // A prompt that had made no token yet has no gap between tokens.
  if (job->decoding && job->last_token < 0) job->last_token = now_;
  job->computed = 0;
  job->indexed = 0;
  job->decoding = false;
  last_cause_ = Cause::memory;
  ++job->preemptions;
  ++totals_.preemptions;
  if (meter_ != nullptr) meter_->eviction();
  waiting_.push_front(job);
}

void StepBase::take_arrivals() {
  while (source_.next_time() <= now_) {
    const Arrival request = source_.take();
    ++totals_.requests;
    Job* job = new_job();
    job->request = request;
    if (impossible(request)) {
      leave(job, true);
    } else {
      waiting_.push_back(job);
    }
  }
}

void StepBase::execute() {
  int64_t decodes = 0;
  int64_t context = 0;
  int64_t prefill = 0;
  int64_t stored = 0;    // of prompts, before this step
  int64_t produced = 0;  // by decodes
  double pairs = 0;
  for (Scheduled& s : scheduled_) {
    if (s.job->decoding) {
      ++decodes;
      s.made = made(*s.job);
      produced += s.made;
      context += s.job->computed;
    } else {
      prefill += s.tokens;
      stored += s.job->computed;
      pairs += double(s.tokens) * double(2 * s.job->computed + s.tokens);
    }
  }
  const double duration = time_.step(decodes, context, prefill, pairs);
  const int64_t blocks = used();
  const int64_t waiting = int64_t(waiting_.size());
  totals_.block_steps += blocks;
  totals_.peak_blocks = std::max(totals_.peak_blocks, blocks);
  totals_.peak_running = std::max(totals_.peak_running, int64_t(running_.size()));
  totals_.peak_waiting = std::max(totals_.peak_waiting, waiting);
  totals_.scheduled_tokens += decodes * decode_tokens() + prefill;
  if (sink_ != nullptr && sink_->wants_steps()) {
    shown_.clear();
    for (const Scheduled& s : scheduled_) shown_.emplace_back(s.job->request.id, s.tokens);
    sink_->step(now_, shown_, blocks);
  }
  if (meter_ != nullptr) {
    Piece piece;
    piece.start = now_;
    piece.duration = duration;
    piece.used_from = piece.used_to = blocks;
    piece.running = int64_t(running_.size());
    piece.decodes = decodes;
    piece.waiting = waiting;
    piece.held_from = context + stored + prefill;
    piece.held_to = piece.held_from + produced;
    piece.accepted = produced - decodes;
    piece.prefill_tokens = prefill;
    meter_->step(piece);
  }
  previous_start_ = now_;
  now_ += duration;
  ++totals_.steps;
  bool finished = false;
  for (const Scheduled& s : scheduled_) {
    Job& job = *s.job;
    // What is drafted and not accepted is forgotten.
    const int64_t kept = job.decoding ? s.made : s.tokens;
    job.computed += kept;
    job.work += kept;
    if (job.computed < job.known()) continue;
    job.generated += job.decoding ? s.made : 1;
    job.decoding = true;
    if (job.first < 0) job.first = now_;
    if (job.last_token >= 0) {
      if (meter_ != nullptr) meter_->gap(now_ - job.last_token);
      job.last_token = -1;
    }
    if (job.generated == job.request.output) {
      release(job);
      finished = true;
    }
  }
  if (!finished) return;
  std::vector<Job*> gone;
  std::erase_if(running_, [&](Job* job) {
    if (job->generated < job->request.output) return false;
    gone.push_back(job);
    return true;
  });
  for (Job* job : gone) leave(job, false);
}

Result<bool> StepBase::advance(double until, const Limits& limits) {
  for (;;) {
    if (now_ >= until) return true;
    take_arrivals();
    if (running_.empty() && waiting_.empty()) {
      const double next = source_.next_time();
      if (!(next < kNever)) break;
      if (meter_ != nullptr) meter_->idle(now_, next - now_);
      now_ = next;
      continue;
    }
    if (meter_ != nullptr) {
      meter_->look(totals_.requests, totals_.steps, source_.draining(), now_);
    }
    if (++totals_.moves % kStepsBetweenLooks == 0) {
      if (int64_t(waiting_.size()) > kMaxInSystem) {
        return fail(Error(ErrorCode::too_large,
                          "more than " + format_grouped(kMaxInSystem) +
                              " requests are waiting: the server is far behind its load")
                        .hint("lower the rate of arrival"));
      }
      const int64_t in_system = int64_t(running_.size() + waiting_.size());
      if (limits.keep_going != nullptr &&
          !limits.keep_going(limits.context, totals_.requests - in_system)) {
        totals_.stopped = true;
        break;
      }
    }
    if (totals_.moves > limits.moves) {
      totals_.stopped = true;
      break;
    }
    scheduled_.clear();
    schedule();
    if (scheduled_.empty()) {
      // Only an impossible setting gets here; nothing will ever move again.
      return fail(Error(ErrorCode::inconsistent,
                        "the scheduler can run nothing although requests wait: the head of the "
                        "queue does not fit into an empty pool or budget")
                      .at("scheduler")
                      .hint("raise batch_tokens or blocks, or lower watermark_blocks"));
    }
    execute();
  }
  return true;
}

}  // namespace vramwise::workload
