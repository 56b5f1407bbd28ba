#include "weights/gguf_rwkv.h"

#include "base/text.h"

namespace vramwise::weights {
namespace {

struct Pair {
  std::string_view from, to;
};

// Source: ggml-org/llama.cpp convert_hf_to_gguf.py (Rwkv7Model), gguf-py/gguf/tensor_mapping.py.
constexpr Pair kNames[] = {
    {"attn.x_r", "time_mix_lerp_fused.weight"},
    {"attn.x_w", "time_mix_lerp_fused.weight"},
    {"attn.x_k", "time_mix_lerp_fused.weight"},
    {"attn.x_v", "time_mix_lerp_fused.weight"},
    {"attn.x_a", "time_mix_lerp_fused.weight"},
    {"attn.x_g", "time_mix_lerp_fused.weight"},
    {"attn.k_k", "time_mix_k_k.weight"},
    {"attn.k_a", "time_mix_k_a.weight"},
    {"attn.r_k", "time_mix_r_k.weight"},
    {"attn.r_proj.weight", "time_mix_receptance.weight"},
    {"attn.k_proj.weight", "time_mix_key.weight"},
    {"attn.v_proj.weight", "time_mix_value.weight"},
    {"attn.o_proj.weight", "time_mix_output.weight"},
    {"attn.g_norm.weight", "time_mix_ln.weight"},
    {"attn.g_norm.bias", "time_mix_ln.bias"},
    {"ffn.x_k", "channel_mix_lerp_k.weight"},
    {"ffn.key.weight", "channel_mix_key.weight"},
    {"ffn.value.weight", "channel_mix_value.weight"},
    {"ffn_norm.weight", "attn_norm_2.weight"},
    {"ffn_norm.bias", "attn_norm_2.bias"},
};

// "attn.w_lora.lora.0.weight" is w1, "…lora.2.weight" w2, and the bias of the second w0.
std::string narrow_name(std::string_view name) {
  for (const char kind : {'w', 'a', 'v', 'g'}) {
    const std::string stem = std::string("attn.") + kind + "_lora.lora.";
    std::string_view part;
    if (ends_with(name, stem + "0.weight")) part = "1";
    if (ends_with(name, stem + "2.weight")) part = "2";
    if (ends_with(name, stem + "2.bias")) part = "0";
    if (!part.empty()) return std::string("time_mix_") + kind + std::string(part) + ".weight";
  }
  return {};
}

}  // namespace

std::vector<GgufPiece> rwkv_pieces(const model::Tensor& tensor) {
  std::array<int64_t, 4> extent = {1, 1, 1, 1};
  if (tensor.shape.rank == 2 && ends_with(tensor.name, ".weight")) {
    extent = {tensor.shape[1], tensor.shape[0], 1, 1};
  } else {
    extent[0] = tensor.shape.elements();  // vectors, whatever axes the checkpoint gives them
  }
  // The norm in front of the first layer stands beside the embedding.
  if (ends_with(tensor.name, "pre_norm.weight")) return {{"token_embd_norm.weight", extent}};
  if (ends_with(tensor.name, "pre_norm.bias")) return {{"token_embd_norm.bias", extent}};
  std::string name = narrow_name(tensor.name);
  for (const Pair& p : kNames) {
    if (name.empty() && ends_with(tensor.name, p.from)) name = p.to;
  }
  if (name.empty()) return {};
  const std::string prefix = "blk." + format_integer(tensor.layer) + ".";
  std::vector<GgufPiece> pieces = {{prefix + name, extent}};
  // The first layer mixes no earlier values; the converter writes the learning rate's tensors
  // there.
  if (tensor.layer == 0 && starts_with(name, "time_mix_a")) {
    pieces.push_back({prefix + "time_mix_v" + name.substr(10), extent});
  }
  return pieces;
}

}  // namespace vramwise::weights
