#include "workload/jump_engine.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "workload/jump_state.h"
#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

constexpr int64_t kMaxInSystem = 2'000'000;  // requests; about 300 MB of state
constexpr int64_t kMovesBetweenLooks = 4096;

class JumpEngine final : public Engine, private JumpState {
 public:
  JumpEngine(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
             FateSink* sink)
      : JumpState(scheduler, source, meter, sink), time_(time) {}

  Result<bool> advance(double until, const Limits& limits) override;
  int64_t waiting() const override { return slots_.waiting(); }
  int64_t running() const override { return slots_.running(); }
  Totals totals() const override {
    Totals so_far = totals_;
    so_far.now = now_;
    return so_far;
  }

 private:
  bool stretch();
  void account_for_steps(double first, double slope, int64_t k);
  void step();

  const StepTime& time_;
  double previous_start_ = -1;  // start of the last executed step
  double until_ = kNever;       // nothing that arrives from here on is known yet
  std::vector<std::pair<int32_t, int64_t>> admitted_;
};

// Everything that runs decodes and nobody can join: as many steps as stay alike in one move.
bool JumpEngine::stretch() {
  const int64_t n = slots_.running();
  if (slots_.waiting() > 0) {
    const Cause cause = head_blocked(n);
    if (cause == Cause::none) return false;
    last_cause_ = cause;
  }
  const double first = time_.step(n, context_, 0, 0);
  const double slope = time_.per_context_token * double(n);
  int64_t k = wheel_.next_after(clock_) - clock_;
  if (slots_.waiting() == 0 && next_arrival_ < kNever) {
    // Fewest steps j with j·first + slope·j(j-1)/2 >= gap: the first step that starts at or after
    // the arrival.
    const double gap = next_arrival_ - now_;
    const auto lasts = [&](int64_t j) {
      return double(j) * first + slope * double(j) * double(j - 1) / 2;
    };
    if (lasts(k) >= gap) {
      const double half = first - slope / 2;
      const double root =
          slope > 0 ? (square_root(half * half + 2 * slope * gap) - half) / slope : gap / first;
      int64_t j = std::clamp<int64_t>(ceil_of(std::min(root, double(k))), 1, k);
      while (j > 1 && lasts(j - 1) >= gap) --j;
      while (j < k && lasts(j) < gap) ++j;
      k = j;
    }
  }
  // Blocks that the steps take: whole turns of the block size, and a part of one.
  const int64_t bs = s_.block_tokens;
  int64_t turns = block_.whole(k);
  const int64_t rest = block_.rest(k);
  int64_t need = turns * n;
  const int64_t due = residue_due();
  for (int64_t j = 0, x = due; j < rest; ++j) {
    need += needs_[size_t(x)];
    x = x == 0 ? bs - 1 : x - 1;
  }
  if (need > free_) {
    turns = std::min(turns, free_ / n);
    need = turns * n;
    k = turns * bs;
    for (int64_t x = due; need + needs_[size_t(x)] <= free_; ++k) {
      need += needs_[size_t(x)];
      x = x == 0 ? bs - 1 : x - 1;
    }
  }
  if (k <= 0) return false;
  const double duration = double(k) * first + slope * double(k) * double(k - 1) / 2;
  const double last = first + slope * double(k - 1);
  const int64_t used = s_.blocks - free_;
  const int64_t first_need = needs_[size_t(due)];
  if (meter_ != nullptr) {
    Piece piece;
    piece.start = now_;
    piece.duration = duration;
    piece.steps = k;
    piece.first_step = first;
    piece.last_step = last;
    piece.used_from = used + first_need;
    piece.used_to = used + need;
    piece.running = n;
    piece.decodes = n;
    piece.waiting = slots_.waiting();
    piece.held_from = context_;
    piece.held_to = context_ + n * k;
    meter_->stretch(piece);
  }
  if (sink_ != nullptr) account_for_steps(first, slope, k);
  free_ -= need;
  context_ += n * k;
  advance_clock(k);
  now_ += duration;
  previous_start_ = now_ - last;
  totals_.steps += k;
  totals_.scheduled_tokens += n * k;
  totals_.peak_blocks = std::max(totals_.peak_blocks, s_.blocks - free_);
  // Who arrived behind a queue that stood still the whole time.
  while (next_arrival_ <= previous_start_ && next_arrival_ < until_) {
    const Arrival request = source_.take();
    next_arrival_ = source_.next_time();
    enter(request);
  }
  totals_.peak_waiting = std::max(totals_.peak_waiting, slots_.waiting());
  finish_due();
  return true;
}

// What only somebody who wants every event needs: each step of a stretch on its own.
void JumpEngine::account_for_steps(double first, double slope, int64_t k) {
  const bool each = sink_->wants_steps();
  std::vector<std::pair<int64_t, int64_t>> scheduled;
  if (each) {
    for (int32_t i = slots_.first_running(); i != 0; i = slots_.at(i).next_running) {
      scheduled.emplace_back(slots_.at(i).request.id, 1);
    }
  }
  int64_t used = s_.blocks - free_;
  for (int64_t j = 0, x = residue_due(); j < k; ++j) {
    used += needs_[size_t(x)];
    x = x == 0 ? s_.block_tokens - 1 : x - 1;
    totals_.block_steps += used;
    if (each) {
      const double start = now_ + double(j) * first + slope * double(j) * double(j - 1) / 2;
      sink_->step(start, scheduled, used);
    }
  }
}

// One step by the rules: what runs first, then admission.
void JumpEngine::step() {
  int64_t decodes = slots_.running() - (part_ != kNone ? 1 : 0);
  int64_t need_decodes = needs_[size_t(residue_due())];
  int64_t part_tokens = 0;
  int64_t need_part = 0;
  if (part_ != kNone) {
    part_tokens = std::min(slots_.at(part_).known() - part_done_, s_.batch_tokens - decodes);
    need_part = blocks_for(part_done_ + part_tokens) - blocks_for(part_done_);
  }
  const bool evicted = evict_until(need_decodes, need_part, part_tokens, decodes) > 0;
  free_ -= need_decodes + need_part;
  int64_t budget = s_.batch_tokens - decodes - part_tokens;
  int64_t prefill = part_tokens;
  double pairs = double(part_tokens) * double(2 * part_done_ + part_tokens);
  int64_t stored = part_ != kNone ? part_done_ : 0;  // of prompts, before this step
  admitted_.clear();
  if (!evicted) {
    while (slots_.waiting() > 0) {
      Slot& head = slots_.at(slots_.first_waiting());
      const int64_t known = head.known();
      const int64_t hit = head.cached();
      const int64_t tokens = std::min(known - hit, budget);
      if (slots_.running() >= s_.max_sequences) {
        last_cause_ = Cause::sequences;
        break;
      }
      if (budget <= 0 || (!s_.chunked_prefill && known - hit > budget)) {
        last_cause_ = Cause::budget;
        break;
      }
      const int64_t water = slots_.running() > 0 ? s_.watermark_blocks : 0;
      if (blocks_for(s_.reserve_full_prompt ? known : hit + tokens) + water > free_) {
        last_cause_ = Cause::memory;
        break;
      }
      const int32_t i = slots_.pop_waiting();
      free_ -= blocks_for(hit + tokens);
      budget -= tokens;
      prefill += tokens;
      stored += hit;
      pairs += double(tokens) * double(2 * hit + tokens);
      head.computed -= hit;  // what the tokens computed are counted from
      if (head.admit < 0) {
        head.admit = now_;
        head.hits = int32_t(hit);
        head.waited = head.request.time <= previous_start_;
        if (head.waited) head.cause = last_cause_;
      }
      slots_.run_last(i);
      admitted_.emplace_back(i, tokens);
    }
  }
  const double duration = time_.step(decodes, context_, prefill, pairs);
  const int64_t used = s_.blocks - free_;
  totals_.block_steps += used;
  if (sink_ != nullptr && sink_->wants_steps()) {
    std::vector<std::pair<int64_t, int64_t>> scheduled;
    // The prompts admitted in this step are the last of the ring.
    const int64_t before = slots_.running() - int64_t(admitted_.size());
    int64_t place = 0;
    for (int32_t i = slots_.first_running(); i != 0 && place < before;
         i = slots_.at(i).next_running, ++place) {
      const int64_t tokens = i == part_ ? part_tokens : 1;
      if (tokens > 0) scheduled.emplace_back(slots_.at(i).request.id, tokens);
    }
    for (const auto& [i, tokens] : admitted_)
      scheduled.emplace_back(slots_.at(i).request.id, tokens);
    sink_->step(now_, scheduled, used);
  }
  if (meter_ != nullptr) {
    Piece piece;
    piece.start = now_;
    piece.duration = duration;
    piece.used_from = piece.used_to = used;
    piece.running = slots_.running();
    piece.decodes = decodes;
    piece.waiting = slots_.waiting();
    piece.held_from = context_ + stored + prefill;
    piece.held_to = piece.held_from + decodes;
    piece.prefill_tokens = prefill;
    meter_->step(piece);
  }
  totals_.peak_blocks = std::max(totals_.peak_blocks, used);
  totals_.peak_running = std::max(totals_.peak_running, slots_.running());
  totals_.peak_waiting = std::max(totals_.peak_waiting, slots_.waiting());
  totals_.scheduled_tokens += decodes + prefill;
  previous_start_ = now_;
  now_ += duration;
  advance_clock(1);
  ++totals_.steps;
  context_ += decodes;
  if (part_ != kNone) {
    part_done_ += part_tokens;
    if (part_done_ == slots_.at(part_).known()) {
      const int32_t done = part_;
      part_ = kNone;
      make_token(done);
    }
  }
  for (const auto& [i, tokens] : admitted_) {
    const int64_t done = slots_.at(i).cached() + tokens;
    if (done < slots_.at(i).known()) {
      part_ = i;
      part_done_ = done;
    } else {
      make_token(i);
    }
  }
  finish_due();
}

Result<bool> JumpEngine::advance(double until, const Limits& limits) {
  until_ = until;
  next_arrival_ = source_.next_time();
  for (;;) {
    if (now_ >= until) return true;
    while (next_arrival_ <= now_) {
      const Arrival request = source_.take();
      next_arrival_ = source_.next_time();
      enter(request);
    }
    if (slots_.running() == 0 && slots_.waiting() == 0) {
      if (!(next_arrival_ < kNever)) break;
      if (meter_ != nullptr) meter_->idle(now_, next_arrival_ - now_);
      now_ = next_arrival_;
      continue;
    }
    if (meter_ != nullptr) {
      meter_->look(totals_.requests, totals_.steps, source_.draining(), now_);
    }
    if (++totals_.moves % kMovesBetweenLooks == 0) {
      if (int64_t(slots_.size()) > kMaxInSystem) {
        return fail(Error(ErrorCode::too_large,
                          "more than " + format_grouped(kMaxInSystem) +
                              " requests are waiting: the server is far behind its load")
                        .hint("lower the rate of arrival"));
      }
      if (limits.keep_going != nullptr &&
          !limits.keep_going(limits.context,
                             totals_.requests - slots_.running() - slots_.waiting())) {
        totals_.stopped = true;
        break;
      }
    }
    if (totals_.moves > limits.moves) {
      totals_.stopped = true;
      break;
    }
    totals_.peak_running = std::max(totals_.peak_running, slots_.running());
    if (part_ == kNone && slots_.running() > 0 && stretch()) continue;
    step();
  }
  return true;
}

}  // namespace

bool can_jump(const Scheduler& scheduler) {
  return scheduler.policy == Policy::decode_first && scheduler.long_prefill_threshold == 0 &&
         !scheduler.prefix_caching && !scheduler.reserve_output && scheduler.draft_tokens == 0 &&
         scheduler.batch_tokens >= scheduler.max_sequences;
}

std::unique_ptr<Engine> jumping(const Scheduler& scheduler, const StepTime& time, Source& source,
                                Meter* meter, FateSink* sink) {
  return std::make_unique<JumpEngine>(scheduler, time, source, meter, sink);
}

Result<Totals> run_jumping(const Scheduler& scheduler, const StepTime& time, Source& source,
                           Meter* meter, FateSink* sink, const Limits& limits) {
  TRY(check(scheduler));
  return jumping(scheduler, time, source, meter, sink)->run(limits);
}

}  // namespace vramwise::workload
