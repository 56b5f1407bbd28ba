// Tokens to blocks. Block sizes are powers of two on nearly every server, where a shift does what
// otherwise takes a division of some twenty cycles, several times a move.
#pragma once

#include <bit>
#include <cstdint>

namespace vramwise::workload {

class BlockSize {
 public:
  // tokens >= 1.
  explicit BlockSize(int64_t tokens)
      : tokens_(tokens),
        shift_(std::has_single_bit(uint64_t(tokens)) ? std::countr_zero(uint64_t(tokens)) : -1) {}

  int64_t tokens() const { return tokens_; }
  // All of n >= 0: whole blocks, what is left over, and blocks that hold n.
  int64_t whole(int64_t n) const { return shift_ >= 0 ? n >> shift_ : n / tokens_; }
  int64_t rest(int64_t n) const { return shift_ >= 0 ? n & (tokens_ - 1) : n % tokens_; }
  int64_t holding(int64_t n) const { return whole(n + tokens_ - 1); }

 private:
  int64_t tokens_;
  int shift_;
};

}  // namespace vramwise::workload
