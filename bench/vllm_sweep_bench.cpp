// How many vLLM budgets a second one core makes, as a sweep over cards, shares, lengths and batches
// does: the numeric kernel on a fixed model and layout. No allocation inside of the loop.
//
// The shape is a model with 12 page rules at most; the two here have one rule (Llama-like) and
// seven groups of windows and full layers (Gemma-like), the costliest usual case.
#include <benchmark/benchmark.h>

#include "engines/vllm/kernel.h"

namespace {

using vramwise::Bytes;
using vramwise::GiB;
using vramwise::MiB;
using namespace vramwise::engines::vllm;

VllmShape plain_shape() {
  VllmShape s;
  s.weights = GiB(15);
  s.rules[0] = PageRule{};
  s.rule_count = 1;
  s.block_bytes = Bytes(65536 * 32);
  s.groups = 1;
  s.stays_fixed = MiB(32);
  s.sampler_per_sequence = 14 * 128256;
  s.sampler_per_token = 8192;
  s.layer_per_token = 110592;
  s.non_torch = MiB(256);
  s.graph_piece_bytes = MiB(8);
  s.graph_full_bytes = MiB(1);
  s.graphs_charged = true;
  return s;
}

VllmShape windowed_shape() {
  VllmShape s = plain_shape();
  s.weights = GiB(51);
  s.block_bytes = Bytes(1310720);
  s.groups = 7;
  s.rules[1].kind = PageRule::Kind::window;
  s.rules[1].window = 1024;
  s.rules[1].groups = 6;
  s.rule_count = 2;
  s.in_flight_batches = 2;
  return s;
}

// Walks through cards of 24 to 280 GiB, ten shares, eight lengths and four batch sizes.
VllmPoint point(uint64_t i) {
  VllmPoint p;
  p.total = GiB(24 + int64_t(i % 64) * 4);
  p.utilisation = 0.80 + double(i % 10) * 0.015;
  p.max_model_len = int64_t{2048} << (i % 8);
  p.batch_tokens = int64_t{1024} << (i % 4);
  p.max_seqs = int64_t{16} << (i % 6);
  return p;
}

void sweep(benchmark::State& state, const VllmShape& shape) {
  uint64_t i = 0;
  for (auto _ : state) {
    const VllmTotals totals = evaluate(shape, point(i++));
    benchmark::DoNotOptimize(totals);
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_PlainModel(benchmark::State& state) { sweep(state, plain_shape()); }
BENCHMARK(BM_PlainModel);

void BM_WindowedModel(benchmark::State& state) { sweep(state, windowed_shape()); }
BENCHMARK(BM_WindowedModel);

// The inverse question: longest request by binary search.
void BM_LongestRequest(benchmark::State& state) {
  const VllmShape shape = windowed_shape();
  uint64_t i = 0;
  for (auto _ : state) {
    const VllmPoint p = point(i++);
    benchmark::DoNotOptimize(longest_request(shape, p.total / 2, int64_t{1} << 20, p.batch_tokens));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_LongestRequest);

}  // namespace
