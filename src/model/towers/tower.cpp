#include "model/towers/tower.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::model {

int64_t pixel_side(const Fields& vision, std::string_view key, int64_t fallback) {
  const auto given = vision.reader().find(key);
  if (!given || !given->value().is_array()) return vision.divisor_or({key}, fallback);
  const std::vector<int64_t> sides = vision.any_integers({key}, kMaxSmall);
  return sides.empty() ? fallback : std::max<int64_t>(1, sides.front());
}

std::string block_scope(std::string_view list, int64_t index) {
  return std::string(list) + format_integer(index) + ".";
}

void add_clip_layers(Builder& b, const ClipLayers& spec) {
  const int64_t h = spec.hidden;
  for (int64_t i = 0; i < spec.layers && !b.failed(); ++i) {
    const std::string p = block_scope(spec.list, i);
    for (const std::string_view name : {std::string_view("q_proj"), std::string_view("k_proj"),
                                        std::string_view("v_proj"), spec.output}) {
      tower_linear(b, p + "self_attn." + std::string(name), h, h, spec.attention_bias);
    }
    tower_norm(b, p + std::string(spec.norm1), h, true);
    tower_norm(b, p + std::string(spec.norm2), h, true);
    tower_linear(b, p + "mlp.fc1", spec.width, h, true);
    tower_linear(b, p + "mlp.fc2", h, spec.width, true);
  }
}

void describe_tower(Builder& b, int64_t hidden, int64_t width, int64_t layers) {
  VisionTower tower;
  tower.hidden_size = hidden;
  tower.ffn_size = width;
  tower.layers = layers;
  b.model().vision = tower;
}

void describe_items(Builder& b, int64_t tokens, int64_t patches_per_token) {
  if (!b.model().vision) return;
  b.model().vision->max_item_tokens = tokens;
  b.model().vision->patches_per_token = std::max<int64_t>(1, patches_per_token);
}

}  // namespace vramwise::model
