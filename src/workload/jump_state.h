// What the event-jumping engine knows at one moment, and how a request gets from one list to the
// next: enters, starts to decode, makes a token, is evicted, leaves. Decodes do not change from
// step to step; what they hold follows from the decode clock. In a header, so that the engine's two
// loops have all of it in line: a move is a hundred nanoseconds.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "workload/block_size.h"
#include "workload/finish_wheel.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/slot_table.h"
#include "workload/source.h"

namespace vramwise::workload {

struct JumpState {
  JumpState(const Scheduler& scheduler, Source& source, Meter* meter, FateSink* sink)
      : s_(scheduler),
        source_(source),
        meter_(meter),
        sink_(sink),
        block_(scheduler.block_tokens),
        free_(scheduler.blocks),
        needs_(size_t(scheduler.block_tokens)),
        wheel_(uint64_t(source.longest_output())) {}

  int64_t blocks_for(int64_t tokens) const { return block_.holding(tokens); }
  // The residue that needs a block in the next step.
  int64_t residue_due() const { return clock_residue_ == 0 ? 0 : s_.block_tokens - clock_residue_; }
  void advance_clock(int64_t steps) {
    clock_ += steps;
    clock_residue_ = block_.rest(clock_residue_ + steps);
  }

  void enter(const Arrival& request);
  void leave(int32_t i, bool rejected);
  void start_decoding(int32_t i, int64_t known);
  int64_t stop_decoding(int32_t i);  // answers the tokens it had computed
  void finish_due();
  void make_token(int32_t i);
  Cause head_blocked(int64_t decodes) const;
  int64_t evict_until(int64_t& need_decodes, int64_t& need_part, int64_t& part_tokens,
                      int64_t& decodes);

  const Scheduler& s_;
  Source& source_;
  Meter* meter_;
  FateSink* sink_;
  Totals totals_;
  double now_ = 0;
  double next_arrival_ = kNever;
  Cause last_cause_ = Cause::none;  // what last held the queue back

  const BlockSize block_;
  int64_t clock_ = 0;          // steps run
  int64_t clock_residue_ = 0;  // clock modulo block size
  int64_t free_;
  int64_t context_ = 0;         // tokens computed by all decodes
  std::vector<int64_t> needs_;  // decodes by residue
  SlotTable slots_;
  FinishWheel wheel_;
  // The one prompt that is not done; always the tail of the running ones.
  int32_t part_ = kNone;
  int64_t part_done_ = 0;
};

inline void JumpState::enter(const Arrival& request) {
  ++totals_.requests;
  const int32_t i = slots_.new_slot();
  slots_.at(i).request = request;
  if (blocks_for(int64_t{request.prompt} + request.output - 1) > s_.blocks) {
    leave(i, true);
    return;
  }
  slots_.wait_last(i);
}

inline void JumpState::leave(int32_t i, bool rejected) {
  const Slot& slot = slots_.at(i);
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
    fate.hit_tokens = slot.hits;
    fate.computed_tokens = slot.computed;
    fate.waited = slot.waited;
    fate.cause = slot.cause;
    totals_.end = now_;
  }
  slots_.release_slot(i);
  if (meter_ != nullptr) meter_->left(fate, now_);
  if (sink_ != nullptr) sink_->left(fate);
  source_.left(fate.request, now_);
  next_arrival_ = source_.next_time();
}

inline void JumpState::start_decoding(int32_t i, int64_t known) {
  Slot& slot = slots_.at(i);
  slot.joined = known - clock_;
  const int64_t residue = block_.rest(known) - clock_residue_;
  slot.residue = int32_t(residue < 0 ? residue + s_.block_tokens : residue);
  ++needs_[size_t(slot.residue)];
  context_ += known;
  slot.finish_clock = clock_ + slot.request.output - slot.generated;
  wheel_.put(slots_, i);
}

inline int64_t JumpState::stop_decoding(int32_t i) {
  Slot& slot = slots_.at(i);
  const int64_t computed = slot.joined + clock_;
  --needs_[size_t(slot.residue)];
  context_ -= computed;
  free_ += blocks_for(computed);
  return computed;
}

inline void JumpState::finish_due() {
  for (int32_t i = wheel_.take(clock_); i != kNone;) {
    const int32_t next = slots_.at(i).next_finish;
    const int64_t computed = stop_decoding(i);
    slots_.at(i).computed += computed;
    slots_.stop_running(i);
    leave(i, false);
    i = next;
  }
}

// The step that completed what is known of a request makes its next token.
inline void JumpState::make_token(int32_t i) {
  Slot& slot = slots_.at(i);
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
    slots_.stop_running(i);
    leave(i, false);
  } else {
    start_decoding(i, known);
  }
}

// Why the head of the queue cannot start now; none: it can.
inline Cause JumpState::head_blocked(int64_t decodes) const {
  const Slot& head = slots_.at(slots_.first_waiting());
  const int64_t budget = s_.batch_tokens - decodes;
  const int64_t known = head.known();
  const int64_t hit = head.cached();
  if (slots_.running() >= s_.max_sequences) return Cause::sequences;
  if (budget <= 0 || (!s_.chunked_prefill && known - hit > budget)) return Cause::budget;
  const int64_t goal = s_.reserve_full_prompt ? known : std::min(known, hit + budget);
  if (blocks_for(goal) + s_.watermark_blocks > free_) return Cause::memory;
  return Cause::none;
}

// Frees the youngest until what this step needs is there; answers how many went.
inline int64_t JumpState::evict_until(int64_t& need_decodes, int64_t& need_part,
                                      int64_t& part_tokens, int64_t& decodes) {
  int64_t evicted = 0;
  while (need_decodes + need_part > free_) {
    const int32_t victim = slots_.last_running();
    Slot& slot = slots_.at(victim);
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
      wheel_.remove(slots_, victim);
      const int64_t computed = stop_decoding(victim);
      if (block_.rest(computed) == 0) --need_decodes;
      slot.computed += computed;
      slot.last_token = now_;
      --decodes;
    }
    slots_.stop_running(victim);
    last_cause_ = Cause::memory;
    slots_.wait_first(victim);
    if (meter_ != nullptr) meter_->eviction();
  }
  totals_.preemptions += evicted;
  return evicted;
}

}  // namespace vramwise::workload
