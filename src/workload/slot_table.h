// The requests of the event-jumping engine and the three lists they stand in: the running ones in
// order of admission, the waiting queue, and free places. Links are indices, so that a move costs
// no allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workload/meter.h"
#include "workload/source.h"

namespace vramwise::workload {

inline constexpr int32_t kNone = -1;

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
  int32_t hits = 0;     // tokens found in the prefix cache at first admission
  int32_t residue = 0;  // needs a block when the clock has this residue
  int32_t next_running = kNone, previous_running = kNone;
  int32_t next_waiting = kNone;
  int32_t next_finish = kNone, previous_finish = kNone;
  bool waited = false;
  Cause cause = Cause::none;

  int64_t known() const { return int64_t{request.prompt} + generated; }
  // Of what is known, what need not be computed: the last token always is.
  int64_t cached() const { return std::min<int64_t>(request.cached, known() - 1); }
  // As new, for another request. The lists set their links when it joins them.
  void clear() {
    admit = first = last_token = -1;
    computed = 0;
    generated = preemptions = hits = 0;
    waited = false;
    cause = Cause::none;
  }
};

class SlotTable {
 public:
  SlotTable() {
    slots_.resize(1);  // place 0 is the sentinel of the running ring
    slots_[0].next_running = slots_[0].previous_running = 0;
  }

  Slot& at(int32_t i) { return slots_[size_t(i)]; }
  const Slot& at(int32_t i) const { return slots_[size_t(i)]; }

  int32_t new_slot() {
    if (spare_ != kNone) {
      const int32_t i = spare_;
      spare_ = slots_[size_t(i)].next_waiting;
      slots_[size_t(i)].clear();
      return i;
    }
    slots_.emplace_back();
    return int32_t(slots_.size()) - 1;
  }
  void release_slot(int32_t i) {
    slots_[size_t(i)].next_waiting = spare_;
    spare_ = i;
  }

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

  int64_t running() const { return running_; }
  int32_t first_running() const { return slots_[0].next_running; }  // 0: none
  int32_t last_running() const { return slots_[0].previous_running; }
  size_t size() const { return slots_.size(); }
  int64_t waiting() const { return waiting_; }
  int32_t first_waiting() const { return waiting_head_; }  // kNone: none

 private:
  std::vector<Slot> slots_;
  int32_t spare_ = kNone;
  int64_t running_ = 0;
  int32_t waiting_head_ = kNone, waiting_tail_ = kNone;
  int64_t waiting_ = 0;
};

}  // namespace vramwise::workload
