#include "weights/stored_parts.h"

#include "base/checked.h"
#include "weights/packing.h"

namespace vramwise::weights {
namespace {

constexpr int64_t kFloat32 = 4;
constexpr int64_t kHalf = 2;  // fp16 or bf16
constexpr int64_t kInt32 = 4;

// compressed-tensors stores the logical shape of every packed matrix as two int32.
// Source: neuralmagic/compressed-tensors compressors/quantized_compressors/pack_quantized.py.
constexpr int64_t kShapeAxes = 2;

// bitsandbytes: 64 weights per absmax; nested, the absmax are 8-bit in blocks of 256 with an fp32
// absmax of their own; code tables of 16 and 256 fp32; and a JSON text of the shape and settings
// whose length varies by a few characters (kNf4State is a usual one).
// Source: bitsandbytes-foundation/bitsandbytes bitsandbytes/functional.py (QuantState.as_dict).
constexpr int64_t kNf4NestedBlock = 256;
constexpr int64_t kNf4Codes = 16;
constexpr int64_t kNf4NestedCodes = 256;
constexpr int64_t kNf4State = 170;

// Packed integers: n values of `bits` bits in 32-bit words, whole along a dimension that is a
// multiple of 32 for every shape that engines accept.
int64_t words(int64_t n, int64_t bits) { return ceil_div(saturating_multiply(n, bits), 32); }

void add_nf4(StoredParts& out, const Scheme& s, int64_t n) {
  const int64_t blocks = ceil_div(n, kNf4Block);
  out.add(StoredKind::packed_bytes, 1, ceil_div(n, 2));
  out.add(StoredKind::scales, s.nested ? 1 : kFloat32, blocks);
  if (s.nested) out.add(StoredKind::scales, kFloat32, ceil_div(blocks, kNf4NestedBlock));
  out.add(StoredKind::tables, kFloat32, kNf4Codes);
  if (s.nested) out.add(StoredKind::tables, kFloat32, kNf4NestedCodes);
  out.add(StoredKind::tables, 1, kNf4State);
}

}  // namespace

void StoredParts::add(StoredKind kind, int64_t element_bytes, int64_t elements) {
  if (elements == 0 || count == parts.size()) return;
  parts[count++] = {kind, element_bytes, elements};
}

Bytes StoredParts::bytes() const {
  Bytes sum;
  for (size_t i = 0; i < count; ++i) sum += Bytes(parts[i].element_bytes) * parts[i].elements;
  return sum;
}

StoredParts stored_parts(const Scheme& s, int64_t in, int64_t out) {
  StoredParts parts;
  const int64_t n = saturating_multiply(in, out);
  const int64_t scale = dtype_bytes(s.scale_type);
  const int64_t grouped = saturating_multiply(groups(s, in), out);
  const auto input_scale = [&] {
    if (s.static_input_scale) parts.add(StoredKind::scalars, scale, 1);
  };
  const auto packed = [&] {
    parts.add(StoredKind::packed_words, kInt32, words(n, packed_bits(s)));
  };
  const auto zeros = [&] {
    parts.add(StoredKind::zero_points, kInt32, words(grouped, packed_bits(s)));
  };
  switch (s.kind) {
    case SchemeKind::plain: parts.add(StoredKind::weights, dtype_bytes(s.plain_type), n); break;
    case SchemeKind::fp8_tensor:
      parts.add(StoredKind::weights, 1, n);
      parts.add(StoredKind::scalars, scale, 1);
      input_scale();
      break;
    case SchemeKind::fp8_channel:
    case SchemeKind::int8_channel:
      parts.add(StoredKind::weights, 1, n);
      parts.add(StoredKind::scales, scale, out);
      input_scale();
      break;
    case SchemeKind::fp8_block:
      parts.add(StoredKind::weights, 1, n);
      parts.add(StoredKind::scales, s.scale_e8m0 ? 1 : scale, block_scales(s, in, out));
      break;
    case SchemeKind::awq:
      packed();
      zeros();
      parts.add(StoredKind::scales, kHalf, grouped);
      break;
    case SchemeKind::gptq:  // and g_idx, whether it matters or not
      packed();
      zeros();
      parts.add(StoredKind::scales, kHalf, grouped);
      parts.add(StoredKind::indices, kInt32, in);
      break;
    case SchemeKind::wna16:
      packed();
      parts.add(StoredKind::scales, kHalf, grouped);
      if (s.zeros) zeros();
      if (s.act_order) parts.add(StoredKind::indices, kInt32, in);
      parts.add(StoredKind::shapes, kInt32, kShapeAxes);
      break;
    case SchemeKind::w4a8_fp8:
      packed();
      parts.add(StoredKind::scales, kHalf, grouped);
      parts.add(StoredKind::shapes, kInt32, kShapeAxes);
      break;
    case SchemeKind::nvfp4:  // fp8 scales, one fp32 of the whole matrix, one of the input
      parts.add(StoredKind::packed_bytes, 1, ceil_div(n, 2));
      parts.add(StoredKind::scales, 1, saturating_multiply(ceil_div(in, kNvfp4Group), out));
      parts.add(StoredKind::scalars, kFloat32, s.static_input_scale ? 2 : 1);
      break;
    case SchemeKind::mxfp4:
      parts.add(StoredKind::packed_bytes, 1, ceil_div(n, 2));
      parts.add(StoredKind::scales, 1, saturating_multiply(ceil_div(in, kMxGroup), out));
      break;
    case SchemeKind::mxfp8:
      parts.add(StoredKind::weights, 1, n);
      parts.add(StoredKind::scales, 1, saturating_multiply(ceil_div(in, kMxGroup), out));
      break;
    case SchemeKind::bnb_nf4: add_nf4(parts, s, n); break;
    case SchemeKind::bnb_int8:  // SCB fp32 per row and a one-byte format tag
      parts.add(StoredKind::weights, 1, n);
      parts.add(StoredKind::scales, kFloat32, out);
      parts.add(StoredKind::scalars, 1, 1);
      break;
    case SchemeKind::mlx_affine:
      packed();
      parts.add(StoredKind::scales, kHalf, grouped);
      parts.add(StoredKind::zero_points, kHalf, grouped);
      break;
  }
  return parts;
}

}  // namespace vramwise::weights
