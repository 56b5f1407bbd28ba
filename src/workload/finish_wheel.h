// Decodes by the step in which they end: a ring of lists with a bit for every list that is not
// empty, so that the next end is found by looking at a few words whatever the number of decodes.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "workload/slot_table.h"

namespace vramwise::workload {

class FinishWheel {
 public:
  // No decode may end more than `longest` steps after it is put in.
  explicit FinishWheel(uint64_t longest) {
    const uint64_t size = std::bit_ceil(longest + 2);
    heads_.assign(size < 64 ? 64 : size, kNone);
    mask_ = int64_t(heads_.size()) - 1;
    occupied_.assign(heads_.size() / 64, 0);
  }

  // At its finish_clock.
  void put(SlotTable& slots, int32_t i) {
    Slot& slot = slots.at(i);
    const int64_t place = slot.finish_clock & mask_;
    slot.next_finish = heads_[size_t(place)];
    slot.previous_finish = kNone;
    if (slot.next_finish != kNone) slots.at(slot.next_finish).previous_finish = i;
    heads_[size_t(place)] = i;
    occupied_[size_t(place >> 6)] |= bit(place);
  }

  void remove(SlotTable& slots, int32_t i) {
    Slot& slot = slots.at(i);
    const int64_t place = slot.finish_clock & mask_;
    if (slot.previous_finish != kNone) {
      slots.at(slot.previous_finish).next_finish = slot.next_finish;
    } else {
      heads_[size_t(place)] = slot.next_finish;
    }
    if (slot.next_finish != kNone) {
      slots.at(slot.next_finish).previous_finish = slot.previous_finish;
    }
    if (heads_[size_t(place)] == kNone) occupied_[size_t(place >> 6)] &= ~bit(place);
  }

  // The list that ends at `clock`, linked by next_finish; it leaves the wheel.
  int32_t take(int64_t clock) {
    const int64_t place = clock & mask_;
    const int32_t head = heads_[size_t(place)];
    if (head == kNone) return head;
    heads_[size_t(place)] = kNone;
    occupied_[size_t(place >> 6)] &= ~bit(place);
    return head;
  }

  // The first clock after `clock` at which a decode ends; there is at least one.
  int64_t next_after(int64_t clock) const {
    const int64_t from = (clock + 1) & mask_;
    size_t word = size_t(from >> 6);
    uint64_t bits = occupied_[word] & (~uint64_t{0} << (from & 63));
    for (size_t looked = 0; bits == 0 && looked <= occupied_.size(); ++looked) {
      word = word + 1 == occupied_.size() ? 0 : word + 1;
      bits = occupied_[word];
    }
    const int64_t place = int64_t(word << 6) + std::countr_zero(bits);
    return clock + 1 + ((place - (clock + 1)) & mask_);
  }

 private:
  static constexpr uint64_t bit(int64_t place) { return uint64_t{1} << (place & 63); }

  std::vector<int32_t> heads_;
  std::vector<uint64_t> occupied_;
  int64_t mask_ = 0;
};

}  // namespace vramwise::workload
