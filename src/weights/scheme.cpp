#include "weights/scheme.h"

#include "base/checked.h"
#include "base/text.h"
#include "weights/packing.h"
#include "weights/stored_parts.h"

namespace vramwise::weights {
namespace {

int64_t times(int64_t a, int64_t b) { return saturating_multiply(a, b); }
int64_t times(int64_t a, int64_t b, int64_t c) { return times(times(a, b), c); }

// Packed integers: n values of `bits` bits. Every packer works in whole 32-bit words along a
// dimension that is a multiple of 32, so the division is exact for shapes that engines accept.
int64_t packed(int64_t n, int64_t bits) { return ceil_div(times(n, bits), 8); }

constexpr int64_t kFloat32 = 4;
constexpr int64_t kHalf = 2;  // fp16 or bf16
constexpr int64_t kInt32 = 4;
constexpr int64_t kNf4Table = 16 * kFloat32;

std::string groups_text(const Scheme& s) {
  return s.group > 0 ? "groups of " + format_integer(s.group) : "one group per row";
}

std::string bits_text(const Scheme& s) { return format_integer(packed_bits(s)) + "-bit"; }

}  // namespace

std::string describe(const Scheme& s) {
  switch (s.kind) {
    case SchemeKind::plain: return std::string(to_string(s.plain_type));
    case SchemeKind::fp8_tensor:
      return s.static_input_scale ? "fp8 per tensor, static input scales" : "fp8 per tensor";
    case SchemeKind::fp8_channel: return "fp8 per channel";
    case SchemeKind::fp8_block:
      return "fp8 in blocks of " + format_integer(s.block_out) + "x" + format_integer(s.block_in);
    case SchemeKind::int8_channel: return "int8 per channel";
    case SchemeKind::awq:
      return "AWQ " + bits_text(s) + ", " + groups_text(s) + " with zero points";
    case SchemeKind::gptq:
      return "GPTQ " + bits_text(s) + ", " + groups_text(s) + (s.act_order ? ", act order" : "");
    case SchemeKind::wna16:
      return "compressed-tensors " + bits_text(s) + ", " + groups_text(s) +
             (s.zeros ? " with zero points" : "") + (s.act_order ? ", act order" : "");
    case SchemeKind::w4a8_fp8:
      return "compressed-tensors 4-bit, " + groups_text(s) + ", fp8 inputs";
    case SchemeKind::nvfp4: return s.static_input_scale ? "NVFP4" : "NVFP4 weights only";
    case SchemeKind::mxfp4: return "MXFP4";
    case SchemeKind::mxfp8: return "MXFP8";
    case SchemeKind::bnb_nf4:
      return s.nested ? "bitsandbytes 4-bit, nested absmax" : "bitsandbytes 4-bit";
    case SchemeKind::bnb_int8: return "bitsandbytes 8-bit";
    case SchemeKind::mlx_affine:
      return "MLX " + bits_text(s) + ", " + groups_text(s) + " with scale and bias";
  }
  return "unknown";
}

Bytes at_rest(const Scheme& s, int64_t in, int64_t out) { return stored_parts(s, in, out).bytes(); }

Bytes loaded(const Scheme& s, int64_t in, int64_t out, Kernel kernel) {
  const int64_t n = times(in, out);
  const int64_t input_scale = s.static_input_scale ? kFloat32 : 0;
  // Act order in Marlin keeps the index and the permutation that sorts it.
  const int64_t order = s.act_order ? times(2 * kInt32, in) : 0;
  switch (s.kind) {
    case SchemeKind::plain: return Bytes(times(dtype_bytes(s.plain_type), n));
    // Marlin's fp8 kernel wants a 2-byte scale per output (and per block of inputs).
    // Source: vllm/model_executor/layers/quantization/utils/marlin_utils_fp8.py.
    case SchemeKind::fp8_tensor:
      if (kernel == Kernel::marlin) return Bytes(n) + Bytes(times(kHalf, out));
      return Bytes(n) + Bytes(kFloat32 + input_scale);
    case SchemeKind::fp8_channel:
      if (kernel == Kernel::marlin) return Bytes(n) + Bytes(times(kHalf, out));
      return Bytes(n) + Bytes(times(kFloat32, out)) + Bytes(input_scale);
    case SchemeKind::int8_channel:
      return Bytes(n) + Bytes(times(kFloat32, out)) + Bytes(input_scale);
    case SchemeKind::fp8_block:
      if (kernel == Kernel::marlin) {
        return Bytes(n) + Bytes(times(kHalf, out, ceil_div(in, s.block_in)));
      }
      return Bytes(n) + Bytes(times(kFloat32, block_scales(s, in, out)));
    case SchemeKind::awq: return at_rest(s, in, out);
    case SchemeKind::gptq: {
      const Bytes base = Bytes(packed(n, packed_bits(s))) + Bytes(times(kHalf, groups(s, in), out));
      const Bytes zeros = Bytes(packed(times(groups(s, in), out), packed_bits(s)));
      if (kernel == Kernel::exllama) return base + zeros + Bytes(times(kInt32, in));
      return base + (s.zeros ? zeros : Bytes()) + Bytes(order);
    }
    case SchemeKind::wna16:
      return Bytes(packed(n, packed_bits(s))) + Bytes(times(kHalf, groups(s, in), out)) +
             Bytes(s.zeros ? packed(times(groups(s, in), out), packed_bits(s)) : 0) + Bytes(order);
    case SchemeKind::w4a8_fp8:  // channel scales are made on load
      return Bytes(packed(n, 4)) + Bytes(times(kHalf, groups(s, in), out)) +
             Bytes(times(kFloat32, out));
    case SchemeKind::nvfp4: {
      if (kernel == Kernel::marlin) {
        return Bytes(packed(n, 4)) + Bytes(times(ceil_div(in, kNvfp4Group), out)) + Bytes(kFloat32);
      }
      // Cutlass and FlashInfer want both sides in multiples of 32 and the scales swizzled in tiles
      // of 128 x 4; beside them stand two scales, their product and an inverse.
      // Source: vllm/model_executor/layers/quantization/utils/nvfp4_utils.py.
      const int64_t rows = round_up(out, 32), columns = round_up(in, 32);
      const int64_t scales = times(round_up(out, 128), round_up(ceil_div(columns, kNvfp4Group), 4));
      return Bytes(packed(times(rows, columns), 4)) + Bytes(scales) + Bytes(4 * kFloat32);
    }
    case SchemeKind::mxfp4:
    case SchemeKind::mxfp8: return at_rest(s, in, out);
    case SchemeKind::bnb_nf4:  // nested absmax are expanded to fp32 on load
      return Bytes(ceil_div(n, 2)) + Bytes(times(kFloat32, ceil_div(n, kNf4Block))) +
             Bytes(kNf4Table);
    case SchemeKind::bnb_int8: return Bytes(n) + Bytes(times(kFloat32, out));
    case SchemeKind::mlx_affine: return at_rest(s, in, out);
  }
  return Bytes();
}

}  // namespace vramwise::weights
