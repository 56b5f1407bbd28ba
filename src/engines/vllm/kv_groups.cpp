#include "engines/vllm/kv_groups.h"

#include <algorithm>

namespace vramwise::engines::vllm {
namespace {

using Kind = LayerCache::Kind;

// Layers with equal caches, in the order of their first layer.
struct Bucket {
  LayerCache cache;
  std::vector<int32_t> layers;
  int64_t page = 0;  // bytes of one block
  int64_t block_tokens = 0;
  int64_t count() const { return int64_t(layers.size()); }
};

bool keeps_every_token(const LayerCache& c) {
  return c.kind == Kind::full || c.kind == Kind::latent || c.kind == Kind::indexer;
}

std::vector<Bucket> buckets_of(const std::vector<LayerCache>& caches) {
  std::vector<Bucket> buckets;
  for (const LayerCache& cache : caches) {
    auto found = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) {
      // Latent and plain caches of one row size are the same to the pool.
      LayerCache a = b.cache, c = cache;
      if (keeps_every_token(a) && keeps_every_token(c)) a.kind = c.kind = Kind::full;
      return a.same_shape(c);
    });
    if (found == buckets.end()) {
      buckets.push_back({cache, {}, 0, 0});
      found = buckets.end() - 1;
    }
    found->layers.push_back(cache.layer);
  }
  return buckets;
}

PageRule rule_of(const LayerCache& cache, const GroupingRules& rules, int64_t block_tokens,
                 int64_t groups) {
  PageRule rule;
  rule.block_tokens = block_tokens;
  rule.groups = groups;
  rule.window = cache.window;
  switch (cache.kind) {
    case Kind::window: rule.kind = PageRule::Kind::window; break;
    case Kind::chunk: rule.kind = PageRule::Kind::chunk; break;
    case Kind::cross: rule.kind = PageRule::Kind::cross; break;
    case Kind::state:
      switch (rules.state_mode) {
        case StateMode::one:
          rule.kind = PageRule::Kind::fixed;
          rule.pages = 1 + rules.speculative_tokens;
          break;
        case StateMode::aligned:
          rule.kind = PageRule::Kind::fixed;
          rule.pages = 2 + rules.speculative_tokens;
          break;
        case StateMode::every:
          rule.kind = PageRule::Kind::every;
          rule.pages = rules.speculative_tokens;
          break;
      }
      break;
    default: rule.kind = PageRule::Kind::growing; break;
  }
  return rule;
}

void add_rule(VllmShape& shape, const PageRule& rule) {
  if (rule.groups <= 0) return;
  for (int32_t i = 0; i < shape.rule_count; ++i) {
    PageRule& other = shape.rules[size_t(i)];
    if (other.kind == rule.kind && other.block_tokens == rule.block_tokens &&
        other.window == rule.window && other.pages == rule.pages) {
      other.groups += rule.groups;
      return;
    }
  }
  if (size_t(shape.rule_count) < kMaxPageRules) shape.rules[size_t(shape.rule_count++)] = rule;
}

int64_t in_stage(const std::vector<int32_t>& layers, int32_t first, int32_t end) {
  return std::count_if(layers.begin(), layers.end(),
                       [&](int32_t l) { return l >= first && l < end; });
}

// Largest number of layers of one group on this stage; groups take every n-th layer of a bucket.
int64_t largest_group_part(const std::vector<Bucket>& buckets, int64_t group_size, int32_t first,
                           int32_t end) {
  int64_t largest = 0;
  for (const Bucket& b : buckets) {
    const int64_t groups = ceil_div(b.count(), group_size);
    for (int64_t g = 0; g < groups; ++g) {
      int64_t here = 0;
      for (int64_t i = g; i < b.count(); i += groups) {
        here += b.layers[size_t(i)] >= first && b.layers[size_t(i)] < end;
      }
      largest = std::max(largest, here);
    }
  }
  return largest;
}

// DeepSeek-V4: compressed caches and the windows beside them share the blocks of one pool; every
// page is rounded to a multiple of the fp8 row group. Source: vllm v1/core/kv_cache_utils.py,
// _get_kv_cache_groups_uniform_groups and the planners behind it; block sizes of the states:
// vllm models/deepseek_v4/compressor.py.
constexpr int64_t kCompressedPageStep = 576;
constexpr int64_t kWindowBlock = 64;

// One compression ratio: rows of the compressed cache and the buffers of unfinished blocks. Ratio 4
// looks back over two blocks, 128 over one.
struct Ratio {
  int64_t ratio, row, state_bytes, layers;
  int64_t window() const { return (ratio < 64 ? 2 : 1) * ratio; }
  int64_t state_block() const { return ratio < 64 ? ratio : 8; }
};

// Layers of the largest group when `layers` are dealt out to groups of at most `d`.
int64_t dealt(int64_t layers, int64_t d) {
  return layers == 0 ? 0 : ceil_div(layers, ceil_div(layers, d));
}

// Bytes of one block of the pool. Up to 0.24 every group reserves d tuples of all page sizes; then
// each page size has as many slots as its fullest group has layers; from 0.27 the groups lie over
// each other and the widest of them rules.
int64_t compressed_block_bytes(const std::vector<Ratio>& ratios, int64_t block, int64_t index_page,
                               int64_t index_layers, int64_t windows, int64_t window_row, int64_t d,
                               PackedBlocks packing) {
  int64_t largest = round_up(kWindowBlock * window_row, kCompressedPageStep);
  const int64_t window_page = largest;
  int64_t kept = index_page * index_layers, tuple = index_page;
  int64_t in_largest = dealt(windows, d), widest = window_page * dealt(windows, d);
  for (const Ratio& r : ratios) {
    const int64_t page = round_up(block / r.ratio * r.row, kCompressedPageStep);
    tuple += page;
    kept += page * r.layers;
    largest = std::max(largest, page);
  }
  int64_t slots = kept;
  for (const Ratio& r : ratios) {
    const int64_t page = round_up(block / r.ratio * r.row, kCompressedPageStep);
    if (page == largest) {
      slots -= page * r.layers;
      in_largest = std::max(in_largest, r.layers);
    }
    if (r.state_bytes == 0) continue;
    in_largest = std::max(in_largest, dealt(r.layers, d));
    const int64_t states =
        round_up(r.state_bytes / r.window() * r.state_block(), kCompressedPageStep);
    widest = std::max(widest, states * dealt(r.layers, d));
  }
  switch (packing) {
    case PackedBlocks::tuples: return d * tuple;
    case PackedBlocks::slots: return slots + largest * in_largest;
    case PackedBlocks::overlaid: return std::max(kept, widest);
  }
  return d * tuple;
}

void lay_out_compressed(const std::vector<LayerCache>& caches, const Profile& profile,
                        VllmShape& shape, Pool& pool) {
  std::vector<Ratio> ratios;
  int64_t windows = 0, window_tokens = 0, window_row = 0, indexer_row = 0, indexer_ratio = 1;
  int64_t indexers = 0;
  for (const LayerCache& c : caches) {
    if (c.kind == Kind::row_window) {
      ++windows;
      window_tokens = c.window;
      window_row = c.token_bytes;
    } else if (c.kind == Kind::indexer) {
      ++indexers;
      indexer_row = c.token_bytes;
      indexer_ratio = c.tokens_per_entry;
    } else if (c.kind == Kind::compressed) {
      auto found = std::find_if(ratios.begin(), ratios.end(),
                                [&](const Ratio& r) { return r.ratio == c.tokens_per_entry; });
      if (found == ratios.end()) {
        ratios.push_back({c.tokens_per_entry, c.token_bytes, c.state_bytes, 0});
        found = ratios.end() - 1;
      }
      ++found->layers;
    }
  }
  const int64_t block = profile.compressed_block_tokens;
  int64_t tuples = 0;
  double rate = 0;
  for (const Ratio& r : ratios) {
    tuples = std::max(tuples, r.layers);
    rate += double(r.row) / double(r.ratio) * double(r.layers);
    if (indexer_row > 0 && r.ratio == indexer_ratio) {
      rate += double(indexer_row) / double(r.ratio) * double(r.layers);
    }
  }
  // Window groups are cut into chunks of d layers, d chosen for the least padding, ties to larger.
  int64_t best_waste = -1, d = std::max<int64_t>(tuples, 1);
  for (int64_t candidate = std::max<int64_t>(tuples, 1); candidate <= std::max(windows, tuples);
       ++candidate) {
    int64_t waste = round_up(windows, candidate) - windows;
    for (const Ratio& r : ratios) waste += round_up(r.layers, candidate) - r.layers;
    if (best_waste < 0 || waste <= best_waste) {
      best_waste = waste;
      d = candidate;
    }
  }
  const int64_t index_page =
      indexer_row > 0 ? round_up(block / indexer_ratio * indexer_row, kCompressedPageStep) : 0;
  const auto bytes_of = [&](PackedBlocks packing) {
    return Bytes(compressed_block_bytes(ratios, block, index_page, indexers, windows, window_row, d,
                                        packing));
  };
  shape.block_bytes = bytes_of(profile.packed_blocks);
  // Where pages have slots of their own, the check of one request still counts whole tuples.
  if (profile.packed_blocks == PackedBlocks::slots) {
    shape.asked_block_bytes = bytes_of(PackedBlocks::tuples);
  }
  PageRule rule;
  rule.block_tokens = block;
  add_rule(shape, rule);
  shape.groups = 1;
  const auto add_window = [&](int64_t layers, int64_t window, int64_t block_tokens) {
    PageRule w;
    w.kind = PageRule::Kind::window;
    w.window = window;
    w.block_tokens = block_tokens;
    w.groups = ceil_div(layers, d);
    add_rule(shape, w);
    shape.groups += w.groups;
  };
  add_window(windows, window_tokens, kWindowBlock);
  for (const Ratio& r : ratios) add_window(r.layers, r.window(), r.state_block());
  shape.smallest_block = block;
  pool.block_tokens = block;
  pool.group_size = d;
  pool.has_windows = pool.compressed = true;
  pool.growing_bytes_per_token = Bytes(int64_t(rate));
}

}  // namespace

Pool lay_out(const std::vector<LayerCache>& all, const GroupingRules& rules, const Profile& profile,
             int32_t first, int32_t end, VllmShape& shape) {
  Pool pool;
  shape.rule_count = 0;
  shape.groups = 0;
  shape.context_ranks = rules.context_ranks;
  shape.in_flight_batches = rules.in_flight_batches;
  shape.figure_by_concurrency = rules.figure_by_concurrency;
  pool.block_tokens = shape.smallest_block = rules.block_tokens;
  if (all.empty()) return pool;

  bool compressed = false;
  for (const LayerCache& c : all)
    compressed = compressed || c.kind == Kind::compressed || c.kind == Kind::row_window;
  if (compressed) {
    lay_out_compressed(all, profile, shape, pool);
    return pool;
  }

  std::vector<LayerCache> caches;
  caches.reserve(all.size());
  int64_t states = 0, growing = 0, side_row = 0, side_ratio = 1, side_layers = 0;
  for (const LayerCache& c : all) states += c.kind == Kind::state;
  for (LayerCache c : all) {
    if ((c.kind == Kind::window && !rules.window_groups) ||
        (c.kind == Kind::chunk && !rules.chunk_groups)) {
      c.kind = Kind::full;
      c.window = 0;
    }
    // Beside states an indexer's page rides along with its layer's page.
    if (c.kind == Kind::indexer && (c.tokens_per_entry > 1 || states > 0)) {
      side_row = c.token_bytes;
      side_ratio = c.tokens_per_entry;
      ++side_layers;
      continue;
    }
    growing += keeps_every_token(c);
    pool.has_states = pool.has_states || c.kind == Kind::state;
    pool.has_windows = pool.has_windows || c.kind == Kind::window || c.kind == Kind::chunk;
    caches.push_back(c);
  }
  std::vector<Bucket> buckets = buckets_of(caches);
  for (const Bucket& b : buckets) {
    if (!keeps_every_token(b.cache)) continue;
    pool.growing_bytes_per_token += Bytes(b.cache.token_bytes) * in_stage(b.layers, first, end);
  }

  // Blocks of hybrids grow until an attention page holds a state.
  int64_t block = rules.block_tokens;
  int64_t row = 0, state = 0;
  for (const Bucket& b : buckets) {
    if (b.cache.kind == Kind::state) {
      state = std::max(state, b.cache.state_bytes);
    } else {
      row = std::max(row, b.cache.token_bytes);
    }
  }
  if (state > 0 && row > 0) {
    const int64_t align = std::max(rules.state_alignment, block);
    const int64_t wanted = align * ceil_div(state, align * row);
    pool.raised = wanted > block;
    block = std::max(block, wanted);
    pool.state_padding = double(block * row) / double(state) - 1;
  }
  pool.block_tokens = block;

  int64_t largest_page = 0;
  for (Bucket& b : buckets) {
    b.block_tokens = block;
    b.page = b.cache.kind == Kind::state ? (row > 0 ? block * row : b.cache.state_bytes)
                                         : block * b.cache.token_bytes;
    largest_page = std::max(largest_page, b.page);
  }

  shape.smallest_block = block;
  const bool all_growing = growing == int64_t(caches.size());
  const bool all_windows = std::all_of(buckets.begin(), buckets.end(), [&](const Bucket& b) {
    return b.cache.kind == Kind::window && b.cache.window == buckets.front().cache.window;
  });
  if (buckets.size() == 1) {
    const Bucket& b = buckets.front();
    shape.block_bytes = Bytes(b.page) * in_stage(b.layers, first, end);
    shape.groups = 1;
    add_rule(shape, rule_of(b.cache, rules, block, 1));
    pool.group_size = b.count();
  } else if (all_growing || all_windows) {
    // One type, several sizes: pages of each layer by itself.
    for (const Bucket& b : buckets) {
      shape.block_bytes += Bytes(b.page) * in_stage(b.layers, first, end);
    }
    shape.groups = 1;
    add_rule(shape, rule_of(buckets.front().cache, rules, block, 1));
    pool.group_size = int64_t(caches.size());
  } else {
    int64_t smallest = kInt64Max, largest = 0;
    shape.smallest_block = kInt64Max;
    for (Bucket& b : buckets) {
      if (b.page > 0 && largest_page % b.page != 0 && pool.fault.empty()) {
        pool.fault = "page size " + std::to_string(largest_page) + " is not divisible by " +
                     std::to_string(b.page);
      }
      if (b.cache.kind != Kind::state && b.page > 0)
        b.block_tokens = block * (largest_page / b.page);
      // A lone state beside others (the convolution of an n-gram layer) fills a group of its own.
      if (b.cache.kind != Kind::state || b.count() >= growing) {
        smallest = std::min(smallest, b.count());
      }
      largest = std::max(largest, b.count());
    }
    const int64_t size = largest * 100 < rules.threshold_percent * smallest ? largest : smallest;
    pool.group_size = size;
    shape.block_bytes = Bytes(largest_page) * largest_group_part(buckets, size, first, end);
    for (const Bucket& b : buckets) {
      const int64_t groups = ceil_div(b.count(), size);
      shape.groups += groups;
      shape.smallest_block = std::min(shape.smallest_block, b.block_tokens);
      add_rule(shape, rule_of(b.cache, rules, b.block_tokens, groups));
      const int64_t padding = groups * size - b.count();
      pool.padding_layers += padding;
      pool.padding_share = std::max(pool.padding_share, double(padding) / double(b.count()));
    }
  }
  if (side_row > 0) {
    shape.block_bytes +=
        Bytes(block / side_ratio * side_row) * std::min(pool.group_size, side_layers);
    pool.growing_bytes_per_token += Bytes(side_row * side_layers / side_ratio);
    if (states > 0) {
      PageRule extra;
      extra.kind = PageRule::Kind::fixed;
      extra.pages = rules.side_extra_pages;
      add_rule(shape, extra);
    }
  }
  return pool;
}

}  // namespace vramwise::engines::vllm
