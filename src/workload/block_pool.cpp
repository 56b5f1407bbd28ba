#include "workload/block_pool.h"

namespace vramwise::workload {

BlockIdentity identity_of(const Arrival& r, int64_t k, int64_t block_tokens) {
  const int64_t end = (k + 1) * block_tokens;
  // Own text has odd numbers, streams and chain pieces are told apart by their second bit.
  if (r.chain != nullptr && end <= int64_t{r.chain_length} * r.chain_tokens) {
    const int64_t piece = (end - 1) / r.chain_tokens;
    return {int64_t{r.chain[piece]} * 4, k};
  }
  if (r.stream >= 0 && end <= r.stream_tokens) return {r.stream * 4 + 2, k};
  return {r.id * 2 + 1, k};
}

BlockPool::BlockPool(int64_t blocks) : blocks_(size_t(blocks)) {
  for (int32_t i = 0; i < int32_t(blocks); ++i) append_free(i);
}

void BlockPool::append_free(int32_t block) {
  Block& b = blocks_[size_t(block)];
  b.previous_free = free_tail_;
  b.next_free = kNone;
  if (free_tail_ != kNone) {
    blocks_[size_t(free_tail_)].next_free = block;
  } else {
    free_head_ = block;
  }
  free_tail_ = block;
  ++free_;
}

void BlockPool::remove_free(int32_t block) {
  const Block& b = blocks_[size_t(block)];
  if (b.previous_free != kNone) {
    blocks_[size_t(b.previous_free)].next_free = b.next_free;
  } else {
    free_head_ = b.next_free;
  }
  if (b.next_free != kNone) {
    blocks_[size_t(b.next_free)].previous_free = b.previous_free;
  } else {
    free_tail_ = b.previous_free;
  }
  --free_;
}

int32_t BlockPool::find(const BlockIdentity& identity) const {
  const auto it = index_.find(identity);
  return it != index_.end() ? it->second.first : kNone;
}

void BlockPool::forget(int32_t block) {
  Block& b = blocks_[size_t(block)];
  if (!b.indexed) return;
  const auto it = index_.find(b.identity);
  Same& same = it->second;
  if (b.previous_same != kNone) {
    blocks_[size_t(b.previous_same)].next_same = b.next_same;
  } else {
    same.first = b.next_same;
  }
  if (b.next_same != kNone) {
    blocks_[size_t(b.next_same)].previous_same = b.previous_same;
  } else {
    same.last = b.previous_same;
  }
  if (same.first == kNone) index_.erase(it);
  b.indexed = false;
}

int32_t BlockPool::take() {
  const int32_t block = free_head_;
  remove_free(block);
  forget(block);
  blocks_[size_t(block)].users = 1;
  return block;
}

void BlockPool::use(int32_t block) {
  Block& b = blocks_[size_t(block)];
  if (b.users == 0) remove_free(block);
  ++b.users;
}

void BlockPool::index(int32_t block, const BlockIdentity& identity) {
  Block& b = blocks_[size_t(block)];
  if (b.indexed) {
    if (b.identity == identity) return;
    forget(block);
  }
  b.identity = identity;
  b.indexed = true;
  Same& same = index_[identity];
  b.previous_same = same.last;
  b.next_same = kNone;
  if (same.last != kNone) {
    blocks_[size_t(same.last)].next_same = block;
  } else {
    same.first = block;
  }
  same.last = block;
}

void BlockPool::release(const std::vector<int32_t>& held) {
  for (size_t i = held.size(); i-- > 0;) {
    Block& b = blocks_[size_t(held[i])];
    if (--b.users == 0) append_free(held[i]);
  }
}

}  // namespace vramwise::workload
