#include "engines/vllm/log_lines.h"

#include <algorithm>

namespace vramwise::engines::vllm {

std::vector<LogLine> log_lines(const Build& b, const Budget& budget) {
  std::vector<LogLine> lines;
  if (budget.devices.empty()) return lines;
  const DeviceBudget& d = budget.full();
  const VllmShape& shape = d.stage->shape;
  const Pool& pool = d.stage->pool;
  lines.push_back({"Model loading took", double(d.totals.weights.count()), "bytes"});
  if (pool.raised) {
    lines.push_back({"Setting attention block size to", double(pool.block_tokens), "tokens"});
    lines.push_back({"Padding mamba page size by", pool.state_padding * 100, "percent"});
  }
  if (pool.padding_layers > 0) {
    lines.push_back({"padding layers, may waste at most", pool.padding_share * 100, "percent"});
  }
  if (shape.graphs_charged && d.totals.graphs.count() > 0) {
    lines.push_back({"Estimated CUDA graph memory", double(d.totals.graphs.count()), "bytes"});
  }
  const VllmPoint point{.max_model_len = budget.max_model_len,
                        .batch_tokens = b.decided.batch_tokens,
                        .max_seqs = b.decided.max_seqs};
  if (const int64_t items = profiled_items(shape, point); items > 0 && !b.now.first_engine) {
    lines.push_back({"Encoder cache will be initialized with a budget of",
                     double(std::max(shape.item_tokens, b.decided.batch_tokens)), "tokens"});
    lines.push_back({"profiled with items of the maximum feature size", double(items), "count"});
  }
  if (b.now.first_engine) {
    lines.push_back({"PyTorch activation peak memory takes",
                     double(d.totals.activations.peak.count()), "bytes"});
    lines.push_back({"non_torch_memory takes", double(d.non_torch.likely.count()), "bytes"});
    lines.push_back({"the rest of the memory reserved for KV Cache is",
                     double(d.available.likely.count()), "bytes"});
    lines.push_back({"# GPU blocks", double(budget.blocks), "count"});
  } else {
    lines.push_back({"Available KV cache memory", double(d.available.likely.count()), "bytes"});
    const int64_t tokens =
        pool_figure(shape, budget.blocks, budget.max_model_len, b.decided.batch_tokens);
    lines.push_back({"GPU KV cache size", double(tokens), "tokens"});
  }
  const int64_t pages = pages_of(shape, budget.max_model_len, b.decided.batch_tokens);
  if (pages > 0) {
    lines.push_back(
        {"Maximum concurrency for " + std::to_string(budget.max_model_len) + " tokens per request",
         double(budget.blocks) / double(pages), "x"});
  }
  if (d.totals.graph_counts.all() > 0) {
    const Bytes printed = d.graphs_taken.likely - d.freed_by_capture;
    lines.push_back({"Graph capturing finished, took", double(printed.count()), "bytes"});
  }
  return lines;
}

std::optional<LogCheck> log_check(const Build& b, const Budget& budget, const Demand& demand) {
  const VllmShape& shape = budget.shape();
  if (shape.groups == 0) return std::nullopt;
  // Block 0 is never handed out.
  const int64_t pages = pages_of(shape, demand.tokens, b.decided.batch_tokens);
  const int64_t needed = saturating_multiply(pages, demand.requests) + 1;
  if (b.now.first_engine) return LogCheck{"# GPU blocks", budget.blocks, needed, "blocks"};
  const auto tokens = [&](int64_t blocks) {
    return pool_figure(shape, blocks, budget.max_model_len, b.decided.batch_tokens);
  };
  return LogCheck{"GPU KV cache size", tokens(budget.blocks), tokens(needed), "tokens"};
}

}  // namespace vramwise::engines::vllm
