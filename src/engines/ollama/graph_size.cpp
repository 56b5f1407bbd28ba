#include "engines/ollama/graph_size.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/text.h"

namespace vramwise::engines::ollama {
namespace {

// A byte count that stays in range whatever the config says.
class Count {
 public:
  constexpr Count(int64_t n) : n_(n) {}  // NOLINT: numbers and counts mix in formulas
  constexpr int64_t value() const { return n_; }
  friend constexpr Count operator+(Count a, Count b) { return saturating_add(a.n_, b.n_); }
  friend constexpr Count operator*(Count a, Count b) { return saturating_multiply(a.n_, b.n_); }
  friend constexpr Count operator/(Count a, Count b) { return b.n_ == 0 ? 0 : a.n_ / b.n_; }
  friend constexpr bool operator<(Count a, Count b) { return a.n_ < b.n_; }

 private:
  int64_t n_;
};

// The letters of the formulas. Everything is F32 but the weights, which are taken as Q4 with a
// sixth of Q6: 9/16 and 105/128 bytes a weight.
struct Letters {
  Count b, c, d, v, h, hk, k, head, ff, gate_bytes, qkv_bias;
};

struct Graphs {
  Count full = 0, partial = 0;
};

Count max(Count a, Count b) { return a < b ? b : a; }

// Weights of the output matrix as they are copied for a partial offload.
Count head_weights(const Letters& l) { return l.d * l.v * 105 / 128; }

Graphs like_llama(const Letters& l, const Release& r) {
  Graphs g;
  g.full = 4 * l.b * (1 + 4 * l.d + l.c * (1 + l.h));
  if (r.full_graph_has_logits) g.full = max(g.full, 4 * l.b * (l.d + l.v));
  g.partial = 4 * l.b * l.d + max(4 * l.b * (1 + l.d + max(l.c, l.d)) + l.d * l.d * 9 / 16 +
                                      4 * l.c * (l.b * l.h + l.head * l.hk),
                                  4 * l.b * (l.d + l.v) + head_weights(l));
  if (0 < l.gate_bytes) {
    g.partial = max(3 * l.gate_bytes + 4 * l.b * (2 * l.ff + l.hk + l.d + l.c + l.head * l.hk),
                    4 * (l.c * l.b * l.h + l.c * l.head * l.hk + l.b * 1024 + l.head * l.hk * l.b));
  }
  return g;
}

Graphs like_gemma(const Letters& l, const Release&) {
  const Count wide = l.k * l.h;
  return {max(4 * l.b * (l.d + l.v), 4 * l.b * (2 + l.c + l.c * l.h + 2 * l.d + 2 * wide)),
          max(4 * l.d * l.b + head_weights(l) + 4 * l.v * l.b,
              4 * l.b * (2 * l.d + 1 + 2 * wide + l.c + l.c * l.h) + 4 * l.k * l.c * 8 +
                  l.d * wide * 9 / 16)};
}

Graphs four_streams(const Letters& l, const Release& r) {
  const Graphs g = like_gemma(l, r);
  return {4 * g.full, 4 * g.partial};
}

Graphs like_command_r(const Letters& l, const Release&) {
  return {max(4 * l.b * (l.d + l.v), 4 * l.b * (2 + 4 * l.d + l.c * (1 + l.h))),
          max(4 * l.b * (l.d + l.v) + head_weights(l),
              4 * l.b * (1 + 2 * l.d + l.c * (1 + l.h)) + 4 * l.d * l.c + l.d * l.d * 9 / 16)};
}

Graphs like_qwen2(const Letters& l, const Release&) {
  return {max(4 * l.b * (l.d + l.v), 4 * l.b * (1 + 2 * l.d + l.c + l.c * l.h)),
          max(4 * l.b * (l.d + l.v) + head_weights(l),
              4 * (l.b * (1 + 2 * l.d + l.c * (1 + l.h)) + l.d * (1 + l.c)))};
}

Graphs like_phi2(const Letters& l, const Release&) {
  return {
      max(4 * l.b * (l.d + l.v), 4 * l.b * (1 + 4 * l.d + l.c + l.c * l.h)),
      max(4 * l.b * (2 * l.d + l.v) + head_weights(l), 4 * l.b * (2 + 3 * l.d + l.c + l.c * l.h))};
}

Graphs like_stablelm(const Letters& l, const Release&) {
  const Count full = 4 * l.b * (l.c * (1 + l.h) + 3 * l.d + 2);
  return {full, max(4 * l.b * (l.v + 2 * l.d), full)};
}

Graphs like_deepseek2(const Letters& l, const Release&) {
  const Count wide = l.k * l.hk;
  return {max(4 * l.b * (3 * l.d + l.v), 4 * l.b * (3 * l.d + 2 + l.c * (1 + l.hk) + 2 * wide)),
          max(4 * l.b * (3 * l.d + l.v) + head_weights(l),
              4 * l.b * (2 * l.d + 1 + 2 * wide + l.c + l.c * l.hk) + 4 * wide * l.c +
                  l.d * wide * 9 / 16)};
}

Graphs like_chatglm(const Letters& l, const Release&) {
  Graphs g = {4 * l.b * (l.d + l.v), 4 * l.b * (l.d + l.v) + head_weights(l)};
  if (0 < l.qkv_bias) {
    g.full = max(g.full, 4 * l.b * (2 + 2 * l.d + l.c + l.c * l.h + l.k * l.h + l.qkv_bias));
    g.partial = max(g.partial, 4 * l.b * (1 + 2 * l.d + l.k * l.h + l.c + l.c * l.h) +
                                   8 * l.k * l.c + 4 * l.qkv_bias);
  }
  return g;
}

struct Formula {
  std::string_view name;
  Graphs (*graphs)(const Letters&, const Release&);
};

// The architectures that have one; the others go by their cache alone.
constexpr std::array kFormulas = {
    Formula{"llama", like_llama},         Formula{"llama4", like_llama},
    Formula{"gemma", like_gemma},         Formula{"gemma2", like_gemma},
    Formula{"gemma3", like_gemma},        Formula{"gemma3n", four_streams},
    Formula{"command-r", like_command_r}, Formula{"qwen2", like_qwen2},
    Formula{"phi2", like_phi2},           Formula{"stablelm", like_stablelm},
    Formula{"deepseek2", like_deepseek2}, Formula{"chatglm", like_chatglm},
};

int64_t cache_bytes(int64_t tokens, int64_t values, int64_t bits) {
  return saturating_multiply(tokens, saturating_multiply(values, bits)) / 8;
}

std::vector<int64_t> caches(const GraphShape& s, const GraphQuestion& q, const Release& release,
                            const ArchitectureRule& rule) {
  std::vector<int64_t> cache;
  const int64_t head = s.key_dim + s.value_dim;
  const int64_t windowed = rule.window > 0 ? rule.window : rule.windows_counted ? s.window : 0;
  for (int64_t i = 0; i < s.layers; ++i) {
    int64_t heads = s.kv_heads;
    if (release.states_counted) {
      heads = s.kv_heads_of_layer[size_t(i)];
      if (heads == 0) {
        constexpr int64_t kFloat = 4;
        cache.push_back(saturating_multiply(s.state_of_layer[size_t(i)], kFloat));
        continue;
      }
    }
    // Every n-th layer sees all tokens; which of them differs by family.
    const bool global = rule.global_every <= 1 || (i + 1) % rule.global_every == 0;
    const int64_t tokens = windowed > 0 && !global && release.cache_of_each_layer
                               ? saturating_add(saturating_multiply(q.parallel, windowed), q.batch)
                               : q.context;
    cache.push_back(cache_bytes(tokens, saturating_multiply(head, heads), q.cache_bits));
  }
  return cache;
}

}  // namespace

int64_t GraphSize::cache_total() const {
  int64_t total = 0;
  for (const int64_t bytes : cache) total = saturating_add(total, bytes);
  return total;
}

GraphShape graph_shape(const model::Model& model, const weights::GgufModel& gguf,
                       bool latent_files) {
  GraphShape s;
  s.layers = gguf.block_count;
  s.embedding = model.hidden_size;
  s.vocab = model.vocab_size;
  s.kv_heads_of_layer.assign(size_t(s.layers), 0);
  s.state_of_layer.assign(size_t(s.layers), 0);
  for (size_t i = 0; i < model.layers.size() && i < s.kv_heads_of_layer.size(); ++i) {
    const model::Layer& layer = model.layers[i];
    int64_t heads = 0, kv_heads = 0;
    for (const model::Mixer& mixer : layer.mixers) {
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        heads = a->query_heads;
        kv_heads = a->kv_heads;
        if (s.key_dim == 0) s.key_dim = a->key_dim, s.value_dim = a->value_dim;
        if (s.window == 0) s.window = a->window;
      } else if (const auto* m = std::get_if<model::LatentBlock>(&mixer)) {
        // Files of latent keys hold one wide head; older ones every head's own.
        heads = m->query_heads;
        kv_heads = latent_files ? 1 : m->query_heads;
        s.key_dim = latent_files ? m->kv_lora_rank + m->rope_dim : m->nope_dim + m->rope_dim;
        s.value_dim = latent_files ? m->kv_lora_rank : m->value_dim;
      } else if (const auto* r = std::get_if<model::RecurrentBlock>(&mixer)) {
        model::CacheTypes floats;
        floats.conv = floats.recurrent = DType::float32;
        s.state_of_layer[i] = model::fixed_bytes(r->state, floats).count() / 4;
      }
    }
    s.kv_heads_of_layer[i] = kv_heads;
    if (heads > 0) {
      s.heads = std::max(s.heads, heads);
      s.kv_heads = std::max(s.kv_heads, kv_heads);
      s.fewest_heads = s.fewest_heads == 0 ? heads : std::min(s.fewest_heads, heads);
    }
    s.fewest_kv_heads = i == 0 ? kv_heads : std::min(s.fewest_kv_heads, kv_heads);
    if (const auto* f = std::get_if<model::DenseFeedForward>(&layer.feed_forward)) {
      s.feed_forward = std::max(s.feed_forward, f->width);
    } else if (const auto* e = std::get_if<model::MoeFeedForward>(&layer.feed_forward)) {
      s.feed_forward = std::max(s.feed_forward, e->width);
    }
  }
  if (const auto* gate = gguf.find("blk.0.ffn_gate_exps.weight")) {
    s.expert_gate_bytes = gate->bytes().count();
  }
  if (const auto* bias = gguf.find("blk.0.attn_qkv.bias")) s.qkv_bias = bias->extent[0];
  return s;
}

GraphSize graph_size(const GraphShape& s, const GraphQuestion& q, const Release& release) {
  const ArchitectureRule& rule = release.architecture;
  GraphSize size;
  size.cache = caches(s, q, release, rule);
  const auto formula = std::find_if(kFormulas.begin(), kFormulas.end(),
                                    [&](const Formula& f) { return f.name == rule.formula; });
  if (formula != kFormulas.end()) {
    const Letters letters = {q.batch,        q.context,           s.embedding, s.vocab,
                             s.heads,        s.kv_heads,          s.key_dim,   s.head_dim(),
                             s.feed_forward, s.expert_gate_bytes, s.qkv_bias};
    const Graphs graphs = formula->graphs(letters, release);
    size.full = graphs.full.value();
    size.partial = graphs.partial.value();
  }
  // Shares of the cache: gpt-oss in several attempts, and every architecture without a formula.
  const int64_t share = s.heads / std::max<int64_t>(1, s.fewest_kv_heads);
  // gpt-oss takes the cache of every layer as full here, whatever its windows.
  const int64_t whole = saturating_multiply(
      cache_bytes(q.context, saturating_multiply(s.key_dim + s.value_dim, s.kv_heads),
                  q.cache_bits),
      s.layers);
  switch (rule.cache_graph) {
    case CacheGraph::none: break;
    case CacheGraph::doubled:
    case CacheGraph::equal:
      size.full = saturating_multiply(4 * share, whole) / 6;
      size.partial = rule.cache_graph == CacheGraph::doubled ? 2 * size.full : size.full;
      break;
    case CacheGraph::partial_only:
      size.partial = saturating_multiply(2 * share, whole) / 6;
      if (q.flash && release.flash_graph) {
        size.partial = MiB(4 * q.parallel + q.context / 1024 + 110).count();
      }
      break;
  }
  if (size.partial == 0) size.partial = saturating_multiply(share, size.cache_total()) / 6;
  if (size.full == 0) size.full = size.partial;
  return size;
}

int64_t tower_graph_bytes(const model::Model& model, const ArchitectureRule& rule) {
  if (!model.vision) return 0;
  int64_t patch = 0;
  for (const model::Tensor& t : model.tensors) {
    if (t.part == model::Part::vision && t.shape.rank == 4 && contains(t.name, "patch")) {
      patch = t.shape[3];
    }
  }
  constexpr int64_t kHeads = 16;  // of every tower that Ollama's engine runs
  const model::VisionTower& tower = *model.vision;
  const int64_t tokens = tower.image_tokens > 0 ? tower.image_tokens : tower.max_item_tokens;
  const Count patches =
      rule.tower_patches > 0 ? Count(rule.tower_patches) : Count(tokens) * tower.patches_per_token;
  const Count pixels = patches * patch * patch;
  // Three colours of the image, the first layer's rows, and every head's scores.
  const Count rows = rule.tower_images > 1 ? patches : Count(patch);
  const Count floats =
      pixels * 3 * rule.tower_images + Count(tower.hidden_size) * rows + patches * patches * kHeads;
  return (4 * floats).value();
}

}  // namespace vramwise::engines::ollama
