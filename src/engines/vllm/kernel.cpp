#include "engines/vllm/kernel.h"

#include <algorithm>

namespace vramwise::engines::vllm {
namespace {

int64_t pages_of_rule(const PageRule& rule, int64_t tokens, int64_t in_flight, int64_t ranks) {
  switch (rule.kind) {
    case PageRule::Kind::growing: return ceil_div(ceil_div(tokens, ranks), rule.block_tokens);
    case PageRule::Kind::window:
      return ceil_div(std::min(rule.window - 1 + in_flight, tokens), rule.block_tokens) + 1;
    case PageRule::Kind::chunk:
      return ceil_div(std::min(rule.window + in_flight, tokens), rule.block_tokens);
    case PageRule::Kind::fixed: return rule.pages;
    case PageRule::Kind::every: return ceil_div(tokens, rule.block_tokens) + rule.pages;
    case PageRule::Kind::cross: return ceil_div(rule.window, rule.block_tokens);
  }
  return 0;
}

// Captured sizes at or below n: 1, 2, 4, then multiples of 8 below 256, then of `step`.
int64_t sizes_up_to(int64_t n, int64_t step) {
  int64_t count = (n >= 1) + (n >= 2) + (n >= 4);
  if (n >= 8) count += std::min<int64_t>(n, 255) / 8;
  if (n >= 256) count += (n - 256) / step + 1;
  return count;
}

int64_t largest_capture(const VllmShape& shape, const VllmPoint& point) {
  if (shape.listed_largest > 0) return std::min(shape.listed_largest, point.batch_tokens);
  if (shape.graph_largest_given) return std::min(shape.graph_largest, point.batch_tokens);
  const int64_t decode = saturating_multiply(point.max_seqs, (1 + shape.speculative_tokens) * 2);
  return std::min({decode, shape.graph_largest, point.batch_tokens});
}

}  // namespace

Bytes requested_bytes(Bytes total, double utilisation) {
  const double exact = double(total.count()) * utilisation;
  const auto whole = int64_t(exact);
  return Bytes(whole + (double(whole) < exact ? 1 : 0));
}

int64_t profiled_items(const VllmShape& s, const VllmPoint& p) {
  if (s.item_tokens <= 0) return 0;
  int64_t each = std::max<int64_t>(1, p.max_model_len / s.item_tokens);
  if (s.items_per_prompt > 0) each = std::min(each, s.items_per_prompt);
  const int64_t brought = saturating_multiply(p.max_seqs, each);
  return std::max<int64_t>(1, std::min(p.batch_tokens / s.item_tokens, brought));
}

Bytes sampler_buffer(const VllmShape& s, int64_t sequences) {
  int64_t rows = 1;
  while (rows < sequences && rows < s.sampler_buffer_rows) rows *= 2;
  return Bytes(s.sampler_buffer_row) * std::min(rows, s.sampler_buffer_rows);
}

VllmActivations activations(const VllmShape& s, const VllmPoint& p) {
  const int64_t t = p.batch_tokens;
  const int64_t n = std::min(p.max_seqs, t);
  VllmActivations a;
  a.stays = s.stays_fixed + Bytes(s.stays_per_length) * p.max_model_len;
  if (s.experts_per_token > 0) {
    int64_t rows = saturating_multiply(std::min(t, s.expert_token_cap), s.experts_per_token);
    if (s.expert_extra_rows > 0) rows = round_up(rows + s.expert_extra_rows, 128);
    a.experts = Bytes(rows) * s.expert_row_bytes;
  }
  if (s.samples) {
    a.sampler =
        Bytes(s.sampler_per_sequence) * n + Bytes(s.sampler_per_token) * t + sampler_buffer(s, n);
  }
  a.layer = Bytes(s.layer_per_token + s.expert_layer_per_token) * t;
  if (s.latent_row_bytes > 0) {
    // Rows of the chunked-prefill up-projection: vllm v1/attention/backends/mla/common.py.
    const int64_t blocks = saturating_multiply(p.max_seqs, 16);
    const int64_t wanted =
        std::max(saturating_multiply(p.max_model_len, 8), saturating_multiply(blocks, 4));
    a.layer += Bytes(s.latent_row_bytes) * std::max(std::min<int64_t>(wanted, 65536), blocks);
  }
  if (s.expert_workspace_stays) {
    a.stays += a.experts;
  } else {
    a.layer += a.experts;
  }
  if (s.item_tokens > 0) {
    const int64_t items = profiled_items(s, p);
    a.encoder = Bytes(s.item_transient_bytes) * items;
    const int64_t rows = s.item_rows > 0 ? s.item_rows : std::max(p.batch_tokens, s.item_tokens);
    a.outputs = (Bytes(s.item_input_bytes) + Bytes(s.item_row_bytes) * rows) * items;
  }
  a.compile = s.first_compile;
  a.peak =
      a.stays + a.outputs + std::max({a.sampler, a.layer, a.encoder, a.compile}) + s.measured_shift;
  return a;
}

Bytes all_reduce_buffers(const VllmShape& s, int64_t batch_tokens) {
  if (s.all_reduce_row == 0) return {};
  const int64_t parts =
      saturating_multiply(s.all_reduce_row, std::min(batch_tokens, s.all_reduce_tokens));
  const int64_t step = s.all_reduce_step.count();
  return Bytes(round_up(parts, step) + round_up(s.all_reduce_flags, step) +
               round_up(saturating_multiply(parts, 3), step));
}

GraphCounts graph_counts(const VllmShape& s, const VllmPoint& p) {
  if (!s.graphs_captured) return {};
  const int64_t decode = saturating_multiply(p.max_seqs, 1 + s.speculative_tokens);
  int64_t sizes = s.listed_sizes;
  int64_t full = s.listed_sizes;
  const int64_t largest = largest_capture(s, p);
  if (s.listed_sizes == 0) {
    sizes = sizes_up_to(largest, s.graph_sizes_step);
    full = sizes_up_to(std::min(largest, decode), s.graph_sizes_step);
  }
  return {s.piecewise_graphs ? sizes : 0, s.full_graphs ? full : 0, largest,
          std::min(largest, decode)};
}

Bytes graph_pool(const VllmShape& s, const GraphCounts& sizes) {
  Bytes pool = s.graph_first + Bytes(s.graph_first_per_token) * sizes.largest;
  if (sizes.full > 0) pool += Bytes(s.graph_split_per_token) * sizes.largest_full;
  return pool;
}

int64_t pages_of(const VllmShape& s, int64_t tokens, int64_t batch_tokens) {
  const int64_t in_flight = saturating_multiply(batch_tokens, s.in_flight_batches);
  int64_t pages = 0;
  for (int32_t i = 0; i < s.rule_count; ++i) {
    const PageRule& rule = s.rules[size_t(i)];
    pages = saturating_add(
        pages,
        saturating_multiply(rule.groups, pages_of_rule(rule, tokens, in_flight, s.context_ranks)));
  }
  return pages;
}

Bytes asked_block(const VllmShape& s) {
  return s.asked_block_bytes.count() > 0 ? s.asked_block_bytes : s.block_bytes;
}

namespace {

int64_t longest_in_pages(const VllmShape& s, int64_t pages, int64_t limit, int64_t batch_tokens) {
  int64_t low = 0, high = limit;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (pages_of(s, middle, batch_tokens) <= pages) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

Bytes need_of(const VllmShape& s, int64_t tokens, int64_t batch_tokens) {
  return asked_block(s) * pages_of(s, tokens, batch_tokens);
}

int64_t longest_request(const VllmShape& s, Bytes available, int64_t limit, int64_t batch_tokens) {
  const Bytes block = asked_block(s);
  if (block.count() <= 0) return limit;
  return longest_in_pages(s, available.count() < 0 ? -1 : available / block, limit, batch_tokens);
}

int64_t longest_request_in_blocks(const VllmShape& s, int64_t blocks, int64_t requests,
                                  int64_t limit, int64_t batch_tokens) {
  if (s.block_bytes.count() <= 0) return limit;
  return longest_in_pages(s, requests > 0 ? blocks / requests : 0, limit, batch_tokens);
}

int64_t pool_figure(const VllmShape& s, int64_t blocks, int64_t max_model_len,
                    int64_t batch_tokens) {
  if (s.groups == 0 || blocks <= 0) return 0;
  if (s.figure_by_concurrency) {
    const int64_t pages = pages_of(s, max_model_len, batch_tokens);
    if (pages <= 0) return 0;
    const double figure = double(blocks) / double(pages) * double(max_model_len);
    return figure < double(kLargestExactInteger) ? int64_t(figure) : kLargestExactInteger;
  }
  return saturating_multiply(blocks / s.groups, s.smallest_block * s.context_ranks);
}

VllmTotals evaluate(const VllmShape& s, const VllmPoint& p) {
  VllmTotals r;
  r.requested = requested_bytes(p.total, p.utilisation);
  r.weights = s.weights + s.weights_per_batch_token * p.batch_tokens;
  r.activations = activations(s, p);
  r.all_reduce = all_reduce_buffers(s, p.batch_tokens);
  r.sampler_state = Bytes(s.sampler_state) * p.max_seqs;
  if (s.first_compile_stays) r.compile_left = s.first_compile;
  r.non_torch = s.non_torch + r.all_reduce + r.sampler_state + r.compile_left;
  r.graph_counts = graph_counts(s, p);
  if (r.graph_counts.all() > 0) {
    r.graphs_taken = s.graph_piece_bytes * r.graph_counts.piecewise +
                     s.graph_full_bytes * r.graph_counts.full + graph_pool(s, r.graph_counts);
    const Bytes workspace = r.graph_counts.full > 0 ? s.graph_workspace : Bytes();
    r.graphs = std::max(r.graphs_taken + workspace + s.graph_shift, Bytes());
  }
  r.available = r.requested - r.weights - r.activations.peak - r.non_torch;
  if (s.graphs_charged) r.available -= r.graphs;
  if (p.fixed_cache.count() > 0) r.available = p.fixed_cache;
  if (s.groups == 0) return r;
  r.blocks = std::max<int64_t>(0, r.available / s.block_bytes);
  if (p.fixed_blocks > 0) r.blocks = p.fixed_blocks;
  r.pages_per_request = pages_of(s, p.max_model_len, p.batch_tokens);
  if (r.pages_per_request > 0) r.concurrency = double(r.blocks) / double(r.pages_per_request);
  r.pool_tokens = pool_figure(s, r.blocks, p.max_model_len, p.batch_tokens);
  return r;
}

}  // namespace vramwise::engines::vllm
