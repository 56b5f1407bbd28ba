// How one matrix is stored in some weight format, and how large it is: at rest in the checkpoint
// and once an engine has loaded (and perhaps repacked) it.
//
// Nothing here multiplies parameters by "bits": scales, zero points, group indices and block
// padding are counted per matrix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/result.h"
#include "base/units.h"

namespace vramwise::weights {

enum class SchemeKind {
  plain,         // fp32, fp16, bf16: `plain_type`
  fp8_tensor,    // one scale per matrix (and one per input when static)
  fp8_channel,   // one fp32/bf16 scale per output row
  fp8_block,     // one scale per block_out x block_in tile
  int8_channel,  // W8A8 and W8A16 with a scale per output row
  awq,           // 4-bit groups with zero points, [in, out/8] packed
  gptq,          // 2..8-bit groups, zero points and g_idx in the checkpoint
  wna16,         // compressed-tensors pack-quantized
  w4a8_fp8,      // compressed-tensors 4-bit weights, fp8 activations
  nvfp4,         // 4-bit, fp8 scale per 16, fp32 globals
  mxfp4,         // 4-bit, e8m0 scale per 32
  mxfp8,         // 8-bit, e8m0 scale per 32
  bnb_nf4,       // bitsandbytes 4-bit, absmax per 64, nested
  bnb_int8,      // LLM.int8()
  mlx_affine,    // MLX: `bits` per weight, a scale and a bias of 2 bytes per group
};

struct Scheme {
  SchemeKind kind = SchemeKind::plain;
  DType plain_type = DType::bfloat16;  // kind plain
  int bits = 16;                       // of gptq, wna16 and mlx_affine
  int64_t group = 128;                 // inputs per scale; 0 = one group per row
  bool zeros = false;                  // asymmetric (awq always)
  bool act_order = false;              // g_idx matters (desc_act)
  bool static_input_scale = false;
  int64_t block_out = 128, block_in = 128;  // fp8_block
  bool scale_e8m0 = false;                  // 1-byte block scales in the checkpoint
  DType scale_type = DType::float32;  // fp8 and int8 scales in the checkpoint; loaded ones are fp32
  bool nested = true;                 // bnb_nf4: the absmax values are quantised again

  friend bool operator==(const Scheme&, const Scheme&) = default;
};

// "fp8 per channel", "AWQ 4-bit, groups of 128 with zero points"
std::string describe(const Scheme& scheme);

// Bytes of one [out, in] matrix in the checkpoint.
Bytes at_rest(const Scheme& scheme, int64_t in, int64_t out);

// How an engine keeps the matrix. `native` is the usual kernel for the scheme on current cards.
enum class Kernel {
  native,
  marlin,   // repacked for Marlin: cards below SM89 for fp8, or asked for
  exllama,  // GPTQ without Marlin: qzeros and g_idx stay
};
// Bytes of one [out, in] matrix (already the rank's share) in GPU memory after loading.
// Source: vLLM's quantisation layers, see docs/engines/vllm.md.
Bytes loaded(const Scheme& scheme, int64_t in, int64_t out, Kernel kernel);

}  // namespace vramwise::weights
