#include "engines/llamacpp/graph/families.h"

#include <algorithm>
#include <array>

namespace vramwise::engines::llamacpp {
namespace {

struct Entry {
  std::string_view architecture;
  Family family;
};

constexpr Family kPlain = {.build = build_decoder};
constexpr Family kChecked = {.build = build_decoder, .checked = true};

// Sorted by name. Architectures that are missing here are plain decoders, not checked.
// Source: llama.cpp src/llama-model.cpp, src/llama-arch.cpp, src/models/.
constexpr std::array kFamilies = {
    Entry{"bailingmoe3", {.build = build_kimi, .refuses_unequal_cache_types = true}},
    Entry{"bert", {.build = build_encoder, .checked = true}},
    Entry{"deepseek2",
          {.build = build_latent, .checked = true, .refuses_unequal_cache_types = true}},
    Entry{"deepseek32",
          {.build = build_latent,
           .checked = true,
           .mtp_caches = false,
           .refuses_unequal_cache_types = true}},
    Entry{"deepseek4", {.build = build_decoder, .keeps_rollback = true}},
    Entry{"falcon-h1", {.build = build_state_stack, .checked = true}},
    Entry{"gemma2", kChecked},
    Entry{"gemma3", kChecked},
    Entry{"gemma3n",
          {.build = build_gemma3n, .checked = true, .output_first = true, .sparse_layers = 10}},
    Entry{"gemma4",
          {.build = build_gemma4, .checked = true, .late_rows = true, .output_first = true}},
    Entry{"glm-dsa",
          {.build = build_latent, .mtp_caches = false, .refuses_unequal_cache_types = true}},
    Entry{"glm4moe", kChecked},
    Entry{"gpt-oss", {.build = build_decoder, .checked = true, .late_rows = true}},
    Entry{"granite", {.build = build_decoder, .residual_scaled = true}},
    Entry{"granitehybrid", {.build = build_state_stack, .checked = true, .residual_scaled = true}},
    Entry{"granitemoe", {.build = build_decoder, .residual_scaled = true}},
    Entry{"hy_v3", {.build = build_decoder, .mtp_caches = false}},
    Entry{"jamba", {.build = build_state_stack}},
    Entry{"kimi-linear",
          {.build = build_kimi, .checked = true, .refuses_unequal_cache_types = true}},
    Entry{"lfm2",
          {.build = build_short_conv, .checked = true, .head_norm_is_embedding_norm = true}},
    Entry{"lfm2moe", {.build = build_short_conv, .head_norm_is_embedding_norm = true}},
    Entry{"llama", kChecked},
    Entry{"llama4", {.build = build_decoder, .checked = true, .temperature = true}},
    Entry{"mamba", {.build = build_state_stack, .checked = true}},
    Entry{"mamba2", {.build = build_state_stack, .checked = true}},
    Entry{"mimo2", {.build = build_decoder, .mtp_caches = false}},
    Entry{"minimax-m2", kChecked},
    Entry{"modern-bert", {.build = build_encoder}},
    Entry{"nemotron", {.build = build_decoder, .relu_squared = true}},
    Entry{"nemotron_h",
          {.build = build_state_stack,
           .checked = true,
           .late_rows = true,
           .keeps_rollback = true,
           .relu_squared = true}},
    Entry{"nemotron_h_moe",
          {.build = build_state_stack,
           .late_rows = true,
           .keeps_rollback = true,
           .relu_squared = true}},
    Entry{"nomic-bert", {.build = build_encoder}},
    Entry{"phi3", {.build = build_decoder, .checked = true, .residual_first = true}},
    Entry{"phimoe", {.build = build_decoder, .residual_first = true}},
    Entry{"qwen2", kChecked},
    Entry{"qwen2vl", {.build = build_decoder, .position_sections = 4}},
    Entry{"qwen3", kChecked},
    Entry{"qwen35",
          {.build = build_delta_net,
           .checked = true,
           .late_rows = true,
           .mtp_caches = false,
           .keeps_rollback = true,
           .position_sections = 4}},
    Entry{"qwen35moe",
          {.build = build_delta_net,
           .checked = true,
           .late_rows = true,
           .mtp_caches = false,
           .keeps_rollback = true,
           .position_sections = 4}},
    Entry{"qwen3moe", kChecked},
    Entry{"qwen3next",
          {.build = build_delta_net, .checked = true, .late_rows = true, .mtp_caches = false}},
    Entry{"qwen3vl", {.build = build_decoder, .position_sections = 4}},
    Entry{"qwen3vlmoe", {.build = build_decoder, .position_sections = 4}},
    Entry{"rwkv7", {.build = build_rwkv7, .checked = true, .relu_squared = true}},
    Entry{"step35", {.build = build_decoder, .mtp_caches = false}},
};

}  // namespace

const Family& family_of(std::string_view architecture) {
  const auto found =
      std::lower_bound(kFamilies.begin(), kFamilies.end(), architecture,
                       [](const Entry& e, std::string_view name) { return e.architecture < name; });
  static constexpr Family plain = kPlain;
  if (found == kFamilies.end() || found->architecture != architecture) return plain;
  return found->family;
}

bool draft_graph_known(const Shape& shape) {
  return std::any_of(shape.layers.begin(), shape.layers.end(), [](const LayerShape& l) {
    return l.mixer == MixerKind::delta || l.mixer == MixerKind::kimi_delta;
  });
}

void build_graph(Graph& graph, const GraphInput& input) {
  graph.clear();
  Blocks blocks(graph, input);
  if (input.settings.draft_head) {
    build_delta_net_draft(blocks);
  } else {
    family_of(input.shape->architecture).build(blocks);
  }
}

}  // namespace vramwise::engines::llamacpp
