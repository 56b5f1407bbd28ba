// A pool of cache blocks with the prefix index: which block holds which text, in which order free
// blocks are taken again.
//
// Rules of vLLM's block pool (v1/core/block_pool.py): freed blocks go to the end of the free queue,
// a request's last block first; taking from the front drops that block's identity; a block keeps
// its identity while it is free. Of several blocks with one identity the earliest indexed is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "workload/source.h"

namespace vramwise::workload {

struct BlockIdentity {
  int64_t text = 0;  // stream, piece of a chain, or the request itself
  int64_t place = 0;
  bool operator==(const BlockIdentity&) const = default;
};

// What block `k` of a request holds once it is full.
BlockIdentity identity_of(const Arrival& request, int64_t k, int64_t block_tokens);

class BlockPool {
 public:
  explicit BlockPool(int64_t blocks);

  int64_t free() const { return free_; }
  int64_t used() const { return int64_t(blocks_.size()) - free_; }
  // Block with that content, or -1.
  int32_t find(const BlockIdentity& identity) const;
  bool idle(int32_t block) const { return blocks_[size_t(block)].users == 0; }
  int32_t take();  // there must be a free one
  void use(int32_t block);
  void index(int32_t block, const BlockIdentity& identity);
  // Gives back a request's blocks, in the order of its text.
  void release(const std::vector<int32_t>& held);

 private:
  static constexpr int32_t kNone = -1;
  struct Block {
    BlockIdentity identity;
    bool indexed = false;
    int32_t users = 0;
    int32_t next_free = kNone, previous_free = kNone;
    int32_t next_same = kNone, previous_same = kNone;
  };
  struct Same {
    int32_t first = kNone, last = kNone;
  };
  struct Hash {
    size_t operator()(const BlockIdentity& i) const {
      uint64_t h = uint64_t(i.text) * 0x9e3779b97f4a7c15ULL ^ uint64_t(i.place);
      h ^= h >> 32;
      h *= 0xd6e8feb86659fd93ULL;
      return size_t(h ^ (h >> 32));
    }
  };
  void append_free(int32_t block);
  void remove_free(int32_t block);
  void forget(int32_t block);

  std::vector<Block> blocks_;
  // Looked up, never iterated.
  std::unordered_map<BlockIdentity, Same, Hash> index_;
  int32_t free_head_ = kNone, free_tail_ = kNone;
  int64_t free_ = 0;
};

}  // namespace vramwise::workload
