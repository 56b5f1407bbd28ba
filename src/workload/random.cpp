#include "workload/random.h"

#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

uint64_t splitmix(uint64_t& x) {
  x += 0x9e3779b97f4a7c15ULL;
  uint64_t z = x;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed, Stream stream, uint64_t replication) {
  // Each part passes the mixer on its own: neighbouring seeds give unrelated streams.
  uint64_t x = seed;
  x = splitmix(x) ^ (uint64_t(stream) << 32);
  x = splitmix(x) ^ replication;
  for (uint64_t& word : state_) word = splitmix(x);
}

double Random::normal() { return inverse_normal(uniform()); }

double Random::exponential() { return -log_of(uniform()); }

double Random::gamma(double shape) {
  if (shape < 1) {
    // A shape below one from the one above it.
    const double boost = power_of(uniform(), 1 / shape);
    return gamma(shape + 1) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / square_root(9 * d);
  for (;;) {
    const double x = normal();
    const double t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    const double u = uniform();
    if (log_of(u) < 0.5 * x * x + d - d * v + d * log_of(v)) return d * v;
  }
}

}  // namespace vramwise::workload
