#include "engines/llamacpp/graph/families.h"

#include <algorithm>
#include <array>

namespace vramwise::engines::llamacpp {
namespace {

struct Entry {
  std::string_view architecture;
  Family family;
};

constexpr Family kPlain = {build_decoder, false, false};
constexpr Family kChecked = {build_decoder, false, true};

// Sorted by name. Architectures that are missing here are plain decoders, not checked.
constexpr std::array kFamilies = {
    Entry{"deepseek2", {build_latent, false, true}},
    Entry{"deepseek32", {build_latent, false, true}},
    Entry{"falcon-h1", {build_state_stack, false, true}},
    Entry{"gemma2", kChecked},
    Entry{"gemma3", kChecked},
    Entry{"gemma3n", {build_gemma3n, false, true}},
    Entry{"gemma4", {build_gemma4, true, true}},
    Entry{"glm-dsa", {build_latent, false, false}},
    Entry{"glm4moe", kChecked},
    Entry{"gpt-oss", {build_decoder, true, true}},
    Entry{"granitehybrid", {build_state_stack, false, true}},
    Entry{"jamba", {build_state_stack, false, false}},
    Entry{"kimi-linear", {build_kimi, false, true}},
    Entry{"lfm2", {build_short_conv, false, true}},
    Entry{"lfm2moe", {build_short_conv, false, false}},
    Entry{"llama", kChecked},
    Entry{"llama4", kChecked},
    Entry{"mamba", {build_state_stack, false, true}},
    Entry{"mamba2", {build_state_stack, false, true}},
    Entry{"minimax-m2", kChecked},
    Entry{"nemotron_h", {build_state_stack, true, true}},
    Entry{"nemotron_h_moe", {build_state_stack, true, false}},
    Entry{"phi3", kChecked},
    Entry{"qwen2", kChecked},
    Entry{"qwen3", kChecked},
    Entry{"qwen35", {build_delta_net, true, true}},
    Entry{"qwen35moe", {build_delta_net, true, true}},
    Entry{"qwen3moe", kChecked},
    Entry{"qwen3next", {build_delta_net, true, true}},
    Entry{"rwkv7", {build_rwkv7, false, true}},
};

}  // namespace

const Family& family_of(std::string_view architecture) {
  const auto found = std::lower_bound(
      kFamilies.begin(), kFamilies.end(), architecture,
      [](const Entry& e, std::string_view name) { return e.architecture < name; });
  static constexpr Family plain = kPlain;
  if (found == kFamilies.end() || found->architecture != architecture) return plain;
  return found->family;
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
