#include "workload/jump_engine.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

constexpr int32_t kNone = -1;
constexpr int64_t kMaxInSystem = 2'000'000;  // requests; about 300 MB of state
constexpr int64_t kMovesBetweenLooks = 4096;

// A request in the system. Decoding ones do not change from step to step: what they hold follows
// from the decode clock.
struct Slot {
  Arrival request;
  double admit = -1;
  double first = -1;
  double last_token = -1;  // when an evicted one made its last token; -1: not evicted
  int64_t joined = 0;      // decode clock less tokens computed, while decoding
  int64_t finish_clock = -1;
  int64_t computed = 0;  // all tokens computed so far, recomputation included; settled on leaving
  int32_t generated = 0;
  int32_t preemptions = 0;
  int32_t residue = 0;  // needs a block when the clock has this residue
  int32_t next_running = kNone, previous_running = kNone;
  int32_t next_waiting = kNone;
  int32_t next_finish = kNone, previous_finish = kNone;
  bool waited = false;
  Cause cause = Cause::none;

  int64_t known() const { return int64_t{request.prompt} + generated; }
};

class JumpEngine {
 public:
  JumpEngine(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
             FateSink* sink)
      : s_(scheduler),
        time_(time),
        source_(source),
        meter_(meter),
        sink_(sink),
        free_(scheduler.blocks),
        needs_(size_t(scheduler.block_tokens)) {
    const uint64_t size = std::bit_ceil(uint64_t(source.longest_output()) + 2);
    wheel_.assign(size < 64 ? 64 : size, kNone);
    mask_ = int64_t(wheel_.size()) - 1;
    occupied_.assign(wheel_.size() / 64, 0);
    slots_.resize(1);  // slot 0 is the sentinel of the running ring
    slots_[0].next_running = slots_[0].previous_running = 0;
  }

  Result<Totals> run(const Limits& limits);

 private:
  int64_t blocks_for(int64_t tokens) const {
    return (tokens + s_.block_tokens - 1) / s_.block_tokens;
  }
  // The residue that needs a block in the step at clock + `ahead`.
  int64_t residue_due() const { return clock_residue_ == 0 ? 0 : s_.block_tokens - clock_residue_; }
  void advance_clock(int64_t steps) {
    clock_ += steps;
    clock_residue_ = (clock_residue_ + steps) % s_.block_tokens;
  }

  int32_t new_slot() {
    if (spare_ != kNone) {
      const int32_t i = spare_;
      spare_ = slots_[size_t(i)].next_waiting;
      slots_[size_t(i)] = Slot();
      return i;
    }
    slots_.emplace_back();
    return int32_t(slots_.size()) - 1;
  }
  void release_slot(int32_t i) {
    slots_[size_t(i)].next_waiting = spare_;
    spare_ = i;
  }
  Slot& at(int32_t i) { return slots_[size_t(i)]; }

  void wait_last(int32_t i) {
    at(i).next_waiting = kNone;
    if (waiting_tail_ != kNone) {
      at(waiting_tail_).next_waiting = i;
    } else {
      waiting_head_ = i;
    }
    waiting_tail_ = i;
    ++waiting_;
  }
  void wait_first(int32_t i) {
    at(i).next_waiting = waiting_head_;
    waiting_head_ = i;
    if (waiting_tail_ == kNone) waiting_tail_ = i;
    ++waiting_;
  }
  int32_t pop_waiting() {
    const int32_t i = waiting_head_;
    waiting_head_ = at(i).next_waiting;
    if (waiting_head_ == kNone) waiting_tail_ = kNone;
    --waiting_;
    return i;
  }
  void run_last(int32_t i) {
    Slot& sentinel = at(0);
    at(i).previous_running = sentinel.previous_running;
    at(i).next_running = 0;
    at(sentinel.previous_running).next_running = i;
    sentinel.previous_running = i;
    ++running_;
  }
  void stop_running(int32_t i) {
    at(at(i).previous_running).next_running = at(i).next_running;
    at(at(i).next_running).previous_running = at(i).previous_running;
    --running_;
  }

  void enter(const Arrival& request);
  void leave(int32_t i, bool rejected);
  void start_decoding(int32_t i, int64_t known);
  int64_t stop_decoding(int32_t i);  // answers the tokens it had computed
  void leave_wheel(int32_t i);
  int64_t next_finish() const;
  void finish_due();
  void make_token(int32_t i);
  Cause head_blocked(int64_t decodes) const;
  bool stretch();
  void account_for_steps(double first, double slope, int64_t k);
  void step();
  int64_t evict_until(int64_t& need_decodes, int64_t& need_part, int64_t& part_tokens,
                      int64_t& decodes);

  const Scheduler& s_;
  const StepTime& time_;
  Source& source_;
  Meter* meter_;
  FateSink* sink_;
  Totals totals_;
  double now_ = 0;
  double previous_start_ = -1;  // start of the last executed step
  double next_arrival_ = kNever;
  Cause last_cause_ = Cause::none;  // what last held the queue back

  int64_t clock_ = 0;          // steps run
  int64_t clock_residue_ = 0;  // clock modulo block size
  int64_t free_;
  int64_t context_ = 0;         // tokens computed by all decodes
  std::vector<int64_t> needs_;  // decodes by residue
  std::vector<int32_t> wheel_;  // by finish clock, head of a list
  std::vector<uint64_t> occupied_;
  int64_t mask_ = 0;

  std::vector<Slot> slots_;
  int32_t spare_ = kNone;
  int64_t running_ = 0;
  int32_t waiting_head_ = kNone, waiting_tail_ = kNone;
  int64_t waiting_ = 0;
  // The one prompt that is not done; always the tail of the running ones.
  int32_t part_ = kNone;
  int64_t part_done_ = 0;
  std::vector<std::pair<int32_t, int64_t>> admitted_;
};

void JumpEngine::enter(const Arrival& request) {
  ++totals_.requests;
  const int32_t i = new_slot();
  at(i).request = request;
  if (blocks_for(int64_t{request.prompt} + request.output - 1) > s_.blocks) {
    leave(i, true);
    return;
  }
  wait_last(i);
}

void JumpEngine::leave(int32_t i, bool rejected) {
  const Slot& slot = at(i);
  Fate fate;
  fate.request = slot.request;
  fate.rejected = rejected;
  if (rejected) {
    ++totals_.rejected;
  } else {
    fate.admit = slot.admit;
    fate.first = slot.first;
    fate.finish = now_;
    fate.preemptions = slot.preemptions;
    fate.computed_tokens = slot.computed;
    fate.waited = slot.waited;
    fate.cause = slot.cause;
    totals_.end = now_;
  }
  release_slot(i);
  if (meter_ != nullptr) meter_->left(fate, now_);
  if (sink_ != nullptr) sink_->left(fate);
  source_.left(fate.request, now_);
  next_arrival_ = source_.next_time();
}

void JumpEngine::start_decoding(int32_t i, int64_t known) {
  Slot& slot = at(i);
  slot.joined = known - clock_;
  const int64_t residue = known % s_.block_tokens - clock_residue_;
  slot.residue = int32_t(residue < 0 ? residue + s_.block_tokens : residue);
  ++needs_[size_t(slot.residue)];
  context_ += known;
  slot.finish_clock = clock_ + slot.request.output - slot.generated;
  const int64_t place = slot.finish_clock & mask_;
  slot.next_finish = wheel_[size_t(place)];
  slot.previous_finish = kNone;
  if (slot.next_finish != kNone) at(slot.next_finish).previous_finish = i;
  wheel_[size_t(place)] = i;
  occupied_[size_t(place >> 6)] |= uint64_t{1} << (place & 63);
}

int64_t JumpEngine::stop_decoding(int32_t i) {
  Slot& slot = at(i);
  const int64_t computed = slot.joined + clock_;
  --needs_[size_t(slot.residue)];
  context_ -= computed;
  free_ += blocks_for(computed);
  return computed;
}

void JumpEngine::leave_wheel(int32_t i) {
  Slot& slot = at(i);
  const int64_t place = slot.finish_clock & mask_;
  if (slot.previous_finish != kNone) {
    at(slot.previous_finish).next_finish = slot.next_finish;
  } else {
    wheel_[size_t(place)] = slot.next_finish;
  }
  if (slot.next_finish != kNone) at(slot.next_finish).previous_finish = slot.previous_finish;
  if (wheel_[size_t(place)] == kNone) {
    occupied_[size_t(place >> 6)] &= ~(uint64_t{1} << (place & 63));
  }
}

// The first clock after now at which a decode ends; there is at least one decode.
int64_t JumpEngine::next_finish() const {
  const int64_t from = (clock_ + 1) & mask_;
  size_t word = size_t(from >> 6);
  uint64_t bits = occupied_[word] & (~uint64_t{0} << (from & 63));
  for (size_t looked = 0; bits == 0 && looked <= occupied_.size(); ++looked) {
    word = word + 1 == occupied_.size() ? 0 : word + 1;
    bits = occupied_[word];
  }
  const int64_t place = int64_t(word << 6) + std::countr_zero(bits);
  return clock_ + 1 + ((place - (clock_ + 1)) & mask_);
}

void JumpEngine::finish_due() {
  const int64_t place = clock_ & mask_;
  int32_t i = wheel_[size_t(place)];
  if (i == kNone) return;
  wheel_[size_t(place)] = kNone;
  occupied_[size_t(place >> 6)] &= ~(uint64_t{1} << (place & 63));
  while (i != kNone) {
    const int32_t next = at(i).next_finish;
    const int64_t computed = stop_decoding(i);
    at(i).computed += computed;
    stop_running(i);
    leave(i, false);
    i = next;
  }
}

// The step that completed what is known of a request makes its next token.
void JumpEngine::make_token(int32_t i) {
  Slot& slot = at(i);
  const int64_t known = slot.known();
  ++slot.generated;
  if (slot.first < 0) slot.first = now_;
  if (slot.last_token >= 0) {
    if (meter_ != nullptr) meter_->gap(now_ - slot.last_token);
    slot.last_token = -1;
  }
  if (slot.generated == slot.request.output) {
    slot.computed += known;
    free_ += blocks_for(known);
    stop_running(i);
    leave(i, false);
  } else {
    start_decoding(i, known);
  }
}

// Why the head of the queue cannot start now; none: it can.
Cause JumpEngine::head_blocked(int64_t decodes) const {
  const Slot& head = slots_[size_t(waiting_head_)];
  const int64_t budget = s_.batch_tokens - decodes;
  const int64_t known = head.known();
  if (running_ >= s_.max_sequences) return Cause::sequences;
  if (budget <= 0 || (!s_.chunked_prefill && known > budget)) return Cause::budget;
  const int64_t goal = s_.reserve_full_prompt ? known : std::min(known, budget);
  if (blocks_for(goal) + s_.watermark_blocks > free_) return Cause::memory;
  return Cause::none;
}

// Everything that runs decodes and nobody can join: as many steps as stay alike in one move.
bool JumpEngine::stretch() {
  const int64_t n = running_;
  if (waiting_ > 0) {
    const Cause cause = head_blocked(n);
    if (cause == Cause::none) return false;
    last_cause_ = cause;
  }
  const double first = time_.step(n, context_, 0, 0);
  const double slope = time_.per_context_token * double(n);
  int64_t k = next_finish() - clock_;
  if (waiting_ == 0 && next_arrival_ < kNever) {
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
  int64_t turns = k / bs;
  const int64_t rest = k % bs;
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
    piece.waiting = waiting_;
    piece.tokens_from = context_;
    piece.tokens_to = context_ + n * k;
    meter_->piece(piece);
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
  while (next_arrival_ <= previous_start_) {
    const Arrival request = source_.take();
    next_arrival_ = source_.next_time();
    enter(request);
  }
  totals_.peak_waiting = std::max(totals_.peak_waiting, waiting_);
  finish_due();
  return true;
}

// What only somebody who wants every event needs: each step of a stretch on its own.
void JumpEngine::account_for_steps(double first, double slope, int64_t k) {
  const bool each = sink_->wants_steps();
  std::vector<std::pair<int64_t, int64_t>> scheduled;
  if (each) {
    for (int32_t i = at(0).next_running; i != 0; i = at(i).next_running) {
      scheduled.emplace_back(at(i).request.id, 1);
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

// Frees the youngest until what this step needs is there; answers how many went.
int64_t JumpEngine::evict_until(int64_t& need_decodes, int64_t& need_part, int64_t& part_tokens,
                                int64_t& decodes) {
  int64_t evicted = 0;
  while (need_decodes + need_part > free_) {
    const int32_t victim = at(0).previous_running;
    Slot& slot = at(victim);
    ++evicted;
    ++slot.preemptions;
    if (victim == part_) {
      free_ += blocks_for(part_done_);
      slot.computed += part_done_;
      part_ = kNone;
      part_tokens = 0;
      need_part = 0;
    } else {
      slot.generated = int32_t(slot.request.output - (slot.finish_clock - clock_));
      leave_wheel(victim);
      const int64_t computed = stop_decoding(victim);
      if (computed % s_.block_tokens == 0) --need_decodes;
      slot.computed += computed;
      slot.last_token = now_;
      --decodes;
    }
    stop_running(victim);
    last_cause_ = Cause::memory;
    wait_first(victim);
    if (meter_ != nullptr) meter_->eviction();
  }
  totals_.preemptions += evicted;
  return evicted;
}

// One step by the rules: what runs first, then admission.
void JumpEngine::step() {
  int64_t decodes = running_ - (part_ != kNone ? 1 : 0);
  int64_t need_decodes = needs_[size_t(residue_due())];
  int64_t part_tokens = 0;
  int64_t need_part = 0;
  if (part_ != kNone) {
    part_tokens = std::min(at(part_).known() - part_done_, s_.batch_tokens - decodes);
    need_part = blocks_for(part_done_ + part_tokens) - blocks_for(part_done_);
  }
  const bool evicted = evict_until(need_decodes, need_part, part_tokens, decodes) > 0;
  free_ -= need_decodes + need_part;
  int64_t budget = s_.batch_tokens - decodes - part_tokens;
  int64_t prefill = part_tokens;
  double pairs = double(part_tokens) * double(2 * part_done_ + part_tokens);
  admitted_.clear();
  if (!evicted) {
    while (waiting_ > 0) {
      Slot& head = at(waiting_head_);
      const int64_t known = head.known();
      const int64_t tokens = std::min(known, budget);
      if (running_ >= s_.max_sequences) {
        last_cause_ = Cause::sequences;
        break;
      }
      if (budget <= 0 || (!s_.chunked_prefill && known > budget)) {
        last_cause_ = Cause::budget;
        break;
      }
      const int64_t water = running_ > 0 ? s_.watermark_blocks : 0;
      if (blocks_for(s_.reserve_full_prompt ? known : tokens) + water > free_) {
        last_cause_ = Cause::memory;
        break;
      }
      const int32_t i = pop_waiting();
      free_ -= blocks_for(tokens);
      budget -= tokens;
      prefill += tokens;
      pairs += double(tokens) * double(tokens);
      if (head.admit < 0) {
        head.admit = now_;
        head.waited = head.request.time <= previous_start_;
        if (head.waited) head.cause = last_cause_;
      }
      run_last(i);
      admitted_.emplace_back(i, tokens);
    }
  }
  const double duration = time_.step(decodes, context_, prefill, pairs);
  const int64_t used = s_.blocks - free_;
  totals_.block_steps += used;
  if (sink_ != nullptr && sink_->wants_steps()) {
    std::vector<std::pair<int64_t, int64_t>> scheduled;
    // The prompts admitted in this step are the last of the ring.
    const int64_t before = running_ - int64_t(admitted_.size());
    int64_t place = 0;
    for (int32_t i = at(0).next_running; i != 0 && place < before;
         i = at(i).next_running, ++place) {
      const int64_t tokens = i == part_ ? part_tokens : 1;
      if (tokens > 0) scheduled.emplace_back(at(i).request.id, tokens);
    }
    for (const auto& [i, tokens] : admitted_) scheduled.emplace_back(at(i).request.id, tokens);
    sink_->step(now_, scheduled, used);
  }
  if (meter_ != nullptr) {
    Piece piece;
    piece.start = now_;
    piece.duration = duration;
    piece.first_step = piece.last_step = duration;
    piece.used_from = piece.used_to = used;
    piece.running = running_;
    piece.decodes = decodes;
    piece.waiting = waiting_;
    piece.tokens_from = context_;
    piece.tokens_to = context_ + decodes;
    piece.prefill_tokens = prefill;
    meter_->piece(piece);
  }
  totals_.peak_blocks = std::max(totals_.peak_blocks, used);
  totals_.peak_running = std::max(totals_.peak_running, running_);
  totals_.peak_waiting = std::max(totals_.peak_waiting, waiting_);
  totals_.scheduled_tokens += decodes + prefill;
  previous_start_ = now_;
  now_ += duration;
  advance_clock(1);
  ++totals_.steps;
  context_ += decodes;
  if (part_ != kNone) {
    part_done_ += part_tokens;
    if (part_done_ == at(part_).known()) {
      const int32_t done = part_;
      part_ = kNone;
      make_token(done);
    }
  }
  for (const auto& [i, tokens] : admitted_) {
    if (tokens < at(i).known()) {
      part_ = i;
      part_done_ = tokens;
    } else {
      make_token(i);
    }
  }
  finish_due();
}

Result<Totals> JumpEngine::run(const Limits& limits) {
  next_arrival_ = source_.next_time();
  for (;;) {
    while (next_arrival_ <= now_) {
      const Arrival request = source_.take();
      next_arrival_ = source_.next_time();
      enter(request);
    }
    if (running_ == 0 && waiting_ == 0) {
      if (!(next_arrival_ < kNever)) break;
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
          !limits.keep_going(limits.context, totals_.requests - running_ - waiting_)) {
        totals_.stopped = true;
        break;
      }
    }
    if (totals_.moves > limits.moves) {
      totals_.stopped = true;
      break;
    }
    totals_.peak_running = std::max(totals_.peak_running, running_);
    if (part_ == kNone && running_ > 0 && stretch()) continue;
    step();
  }
  totals_.now = now_;
  return totals_;
}

}  // namespace

bool can_jump(const Scheduler& scheduler) {
  return scheduler.policy == Policy::decode_first && scheduler.long_prefill_threshold == 0 &&
         !scheduler.prefix_caching && !scheduler.reserve_output &&
         scheduler.batch_tokens >= scheduler.max_sequences;
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
  if (s.batch_tokens < s.max_sequences) {
    return bad("batch_tokens is smaller than max_sequences: not every sequence could decode",
               "raise batch_tokens");
  }
  return true;
}

Result<Totals> run_jumping(const Scheduler& scheduler, const StepTime& time, Source& source,
                           Meter* meter, FateSink* sink, const Limits& limits) {
  TRY(check(scheduler));
  JumpEngine engine(scheduler, time, source, meter, sink);
  return engine.run(limits);
}

}  // namespace vramwise::workload
