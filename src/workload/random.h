// Random numbers that are the same everywhere: xoshiro256** seeded by splitmix64, one stream a
// purpose, so that more draws of lengths do not change the arrivals. Never std:: distributions,
// whose results differ between libraries.
// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021.
#pragma once

#include <cstdint>

namespace vramwise::workload {

enum class Stream : uint64_t { arrivals = 1, lengths = 2, think = 3, sessions = 4, order = 5 };

class Random {
 public:
  // `replication` numbers independent repetitions of one seed.
  Random(uint64_t seed, Stream stream, uint64_t replication = 0);

  uint64_t bits() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }
  // In (0, 1): never an end, so that logarithms and quantiles are finite.
  double uniform() { return (double(bits() >> 12) + 0.5) * 0x1p-52; }
  // Whole number in [0, n), n >= 1; the bias is below n / 2^64.
  uint64_t below(uint64_t n) {
    return uint64_t((static_cast<unsigned __int128>(bits()) * n) >> 64);
  }
  double normal();
  double exponential();  // mean 1
  // Gamma with this shape and mean `shape`. Source: Marsaglia and Tsang 2000.
  double gamma(double shape);

 private:
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t state_[4];
};

}  // namespace vramwise::workload
