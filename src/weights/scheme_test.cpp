#include "weights/scheme.h"

#include <gtest/gtest.h>

namespace vramwise::weights {
namespace {

Scheme of(SchemeKind kind, int bits = 16, int64_t group = 128) {
  Scheme s;
  s.kind = kind;
  s.bits = bits;
  s.group = group;
  return s;
}

// The linears of one layer of Llama-3.1-70B, as [in, out]: q, k, v, o, gate, up, down.
struct Linear {
  int64_t in, out;
};
constexpr Linear kLlama70bLayer[] = {{8192, 8192},  {8192, 1024},  {8192, 1024}, {8192, 8192},
                                     {8192, 28672}, {8192, 28672}, {28672, 8192}};
constexpr int64_t kLlama70bLayers = 80;

template <class Size>
Bytes all_linears(Size size) {
  Bytes sum;
  for (const Linear& l : kLlama70bLayer) sum += size(l.in, l.out) * kLlama70bLayers;
  return sum;
}

// 80 x (2 x 8192x8192 + 2 x 8192x1024 + 3 x 8192x28672) = 68,451,041,280 weights.
const int64_t kLlama70bWeights = 68'451'041'280;

TEST(Scheme, AwqCountsScalesAndZeroPoints) {
  const Scheme awq = of(SchemeKind::awq, 4);
  // Per 128 weights: 64 bytes packed, 2 bytes scale, half a byte zero point = 66.5 bytes,
  // 66.5 * 8 / 128 = 4.156 bits per weight, not 4.
  EXPECT_EQ(at_rest(awq, 4096, 4096), Bytes(8'388'608 + 262'144 + 65'536));
  EXPECT_EQ(loaded(awq, 4096, 4096, Kernel::native), at_rest(awq, 4096, 4096));
  const Bytes all = all_linears([&](int64_t in, int64_t out) { return at_rest(awq, in, out); });
  EXPECT_NEAR(double(all.count()) * 8 / double(kLlama70bWeights), 4.156, 0.0005);
}

TEST(Scheme, Fp8ScalesOfLlama70b) {
  const auto scales = [](const Scheme& s) {
    return all_linears([&](int64_t in, int64_t out) {
      return loaded(s, in, out, Kernel::native) - Bytes(in * out);
    });
  };
  // 560 linears with one fp32 each; vLLM merges q, k, v and gate, up: 4 x 80 x 4 B = 1,280 B.
  EXPECT_EQ(scales(of(SchemeKind::fp8_tensor)), Bytes(560 * 4));
  const int64_t merged_out[] = {10240, 8192, 57344, 8192};
  Bytes merged;
  for (const int64_t out : merged_out) {
    merged += loaded(of(SchemeKind::fp8_tensor), 8192, out, Kernel::native) - Bytes(8192 * out);
  }
  EXPECT_EQ(merged * kLlama70bLayers, Bytes(1280));
  // Outputs of a layer: 8192 + 1024 + 1024 + 8192 + 28672 + 28672 + 8192 = 83,968; x 80 x 4 B
  // = 26,869,760 B = 25.6 MiB.
  EXPECT_EQ(scales(of(SchemeKind::fp8_channel)), Bytes(26'869'760));
  // Tiles: 68,451,041,280 / 128^2 = 4,177,920 (all sides divide); x 4 B = 15.9 MiB.
  EXPECT_EQ(scales(of(SchemeKind::fp8_block)), Bytes(16'711'680));
}

TEST(Scheme, BlocksRoundUpOnBothSides) {
  const Scheme block = of(SchemeKind::fp8_block);
  // DeepSeek-V3 kv_a_proj_with_mqa [576, 7168]: ceil(576/128) = 5 by 56 tiles.
  EXPECT_EQ(at_rest(block, 7168, 576), Bytes(7168 * 576 + 4 * 5 * 56));
  Scheme e8m0 = block;
  e8m0.scale_e8m0 = true;  // one byte each at rest, fp32 once loaded
  EXPECT_EQ(at_rest(e8m0, 7168, 576), Bytes(7168 * 576 + 5 * 56));
  EXPECT_EQ(loaded(e8m0, 7168, 576, Kernel::native), loaded(block, 7168, 576, Kernel::native));
  // Marlin spreads the scales: 2 bytes per output and 128 inputs, 1.6 % of the weights.
  EXPECT_EQ(loaded(block, 7168, 576, Kernel::marlin), Bytes(7168 * 576 + 2 * 576 * 56));
}

TEST(Scheme, GptqDropsWhatMarlinDoesNotRead) {
  const Scheme gptq = of(SchemeKind::gptq, 4);
  const int64_t packed = 4096 * 4096 / 2, scales = 2 * 32 * 4096, zeros = 32 * 4096 / 2;
  EXPECT_EQ(at_rest(gptq, 4096, 4096), Bytes(packed + scales + zeros + 4 * 4096));
  EXPECT_EQ(loaded(gptq, 4096, 4096, Kernel::native), Bytes(packed + scales));
  // Without Marlin: + in*out/256 + 4*in.
  EXPECT_EQ(loaded(gptq, 4096, 4096, Kernel::exllama),
            Bytes(packed + scales + 4096 * 4096 / 256 + 4 * 4096));
  Scheme ordered = gptq;
  ordered.act_order = true;
  EXPECT_EQ(loaded(ordered, 4096, 4096, Kernel::native), Bytes(packed + scales + 8 * 4096));
  EXPECT_EQ(at_rest(of(SchemeKind::gptq, 3), 4096, 32),
            Bytes(4096 * 32 * 3 / 8 + 2 * 32 * 32 + 32 * 32 * 3 / 8 + 4 * 4096));
}

TEST(Scheme, FourBitFloats) {
  Scheme nvfp4 = of(SchemeKind::nvfp4);
  nvfp4.static_input_scale = true;
  // 4 bits + 1 byte per 16 = 4.5 bits, and two fp32.
  EXPECT_EQ(at_rest(nvfp4, 4096, 1024), Bytes(4096 * 1024 / 2 + 4096 * 1024 / 16 + 8));
  // Swizzled scales: rows to 128, columns of scales to 4. [100, 64] -> weights 128 rows (32 | 128),
  // scales 128 x 4.
  EXPECT_EQ(loaded(nvfp4, 64, 100, Kernel::native), Bytes(128 * 64 / 2 + 128 * 4 + 16));
  EXPECT_EQ(loaded(nvfp4, 4096, 1024, Kernel::marlin),
            Bytes(4096 * 1024 / 2 + 4096 * 1024 / 16 + 4));
  EXPECT_EQ(at_rest(of(SchemeKind::mxfp4), 2880, 2880), Bytes(2880 * 2880 / 2 + 2880 * 2880 / 32));
  EXPECT_EQ(at_rest(of(SchemeKind::mxfp8), 6144, 128), Bytes(6144 * 128 + 6144 * 128 / 32));
}

TEST(Scheme, Bitsandbytes) {
  const Scheme nf4 = of(SchemeKind::bnb_nf4);
  const int64_t n = 4096 * 4096, blocks = n / 64;
  // absmax uint8, its own absmax per 256, two code tables, the state's JSON.
  EXPECT_EQ(at_rest(nf4, 4096, 4096), Bytes(n / 2 + blocks + 4 * blocks / 256 + 64 + 1024 + 170));
  EXPECT_EQ(loaded(nf4, 4096, 4096, Kernel::native), Bytes(n / 2 + 4 * blocks + 64));
  EXPECT_EQ(at_rest(of(SchemeKind::bnb_int8), 4096, 1024), Bytes(4096 * 1024 + 4 * 1024 + 1));
}

TEST(Scheme, SaysWhatItIs) {
  EXPECT_EQ(describe(of(SchemeKind::fp8_channel)), "fp8 per channel");
  EXPECT_EQ(describe(of(SchemeKind::awq, 4)), "AWQ 4-bit, groups of 128 with zero points");
  EXPECT_EQ(describe(Scheme{}), "bfloat16");
  EXPECT_EQ(describe(of(SchemeKind::gptq, 8, 0)), "GPTQ 8-bit, one group per row");
}

TEST(Scheme, HugeSidesSaturate) {
  const int64_t huge = int64_t{1} << 50;
  for (const SchemeKind kind : {SchemeKind::plain, SchemeKind::fp8_block, SchemeKind::awq,
                                SchemeKind::nvfp4, SchemeKind::bnb_nf4, SchemeKind::mlx_affine}) {
    EXPECT_GT(at_rest(of(kind), huge, huge).count(), kLargestExactInteger);
    EXPECT_GT(loaded(of(kind), huge, huge, Kernel::native).count(), kLargestExactInteger);
  }
}

}  // namespace
}  // namespace vramwise::weights
