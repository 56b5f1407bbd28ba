#include "catalog/gpu.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"

namespace vramwise::catalog {
namespace {

TEST(Gpu, EveryCardOfTheCatalogReads) {
  for (const std::string_view id : ids(Kind::gpu)) {
    if (id == "test-card") continue;  // of another test
    const auto gpu = find_gpu(id);
    ASSERT_TRUE(gpu) << id << ": " << gpu.error().message << " " << gpu.error().where.to_text();
    EXPECT_EQ(gpu->id, id);
    EXPECT_FALSE(gpu->name.empty()) << id;
    EXPECT_FALSE(gpu->source.empty()) << id;
    // Nothing sees more than the box holds (in binary units), nor much less than half of it.
    EXPECT_LE(gpu->total.count(),
              gpu->marketing.count() / 1000 * 1024 / 1000 * 1024 / 1000 * 1024 + (int64_t{1} << 30))
        << id;
    EXPECT_GT(gpu->total.count(), gpu->marketing.count() * 45 / 100) << id;
    EXPECT_GT(gpu->total_uncertainty.count(), 0) << id;
    EXPECT_LT(gpu->total_uncertainty.count(), gpu->total.count() / 5) << id;
  }
}

TEST(Gpu, TotalsReadFromDriversAreExact) {
  const auto h100 = find_gpu("h100-sxm");
  ASSERT_TRUE(h100);
  EXPECT_EQ(h100->total, Bytes(85'029'027'840));
  EXPECT_EQ(h100->driver_total, MiB(81'559));
  EXPECT_EQ(h100->basis, Gpu::Basis::measured);
  EXPECT_EQ(h100->compute_capability, 90);
  EXPECT_EQ(h100->sm_count, 132);
  EXPECT_EQ(find_gpu("dgx-spark-gb10")->compute_capability, 121);
  EXPECT_TRUE(find_gpu("dgx-spark-gb10")->unified_memory);
  EXPECT_EQ(find_gpu("mi300x")->total, MiB(196'588));
}

TEST(Gpu, AnUnreadTotalFollowsTheRule) {
  // nvidia-smi says 46,068 MiB; nobody has been seen printing the CUDA total.
  const auto l40 = find_gpu("l40");
  ASSERT_TRUE(l40);
  EXPECT_EQ(l40->basis, Gpu::Basis::inferred);
  EXPECT_NEAR(double(l40->total.count()), (46068 - 400 - 46068 * 0.002) * 1048576.0, 1);
  EXPECT_EQ(l40->total_uncertainty, MiB(150));
  // Neither was read: 93 % of the box.
  const auto b100 = find_gpu("b100");
  ASSERT_TRUE(b100);
  EXPECT_EQ(b100->basis, Gpu::Basis::inferred);
  EXPECT_NEAR(double(b100->total.count()), 192 * 0.93 * 1073741824.0, 1048576.0);
}

TEST(Gpu, SlicesOfACardAreCardsOfTheirOwn) {
  const auto whole = find_gpu("h100-sxm");
  const auto slice = find_gpu("h100-sxm:1g.10gb");
  ASSERT_TRUE(whole && slice);
  // nvidia-smi mig -lgip: 9.75 GiB.
  EXPECT_EQ(slice->total, MiB(9984));
  EXPECT_EQ(slice->basis, Gpu::Basis::measured);
  EXPECT_EQ(slice->id, "h100-sxm:1g.10gb");
  EXPECT_EQ(slice->compute_capability, whole->compute_capability);
  EXPECT_DOUBLE_EQ(slice->bandwidth_gbs, whole->bandwidth_gbs / 8);
  EXPECT_DOUBLE_EQ(slice->bf16_tflops, whole->bf16_tflops / 7);
  EXPECT_EQ(slice->max_per_node, 56);
  for (const std::string_view spelling : {"H100:1g.10gb", "h100-sxm:1G.10GB", "h100-sxm:1g.10gb+me",
                                          "NVIDIA H100 80GB HBM3 MIG 1g.10gb"}) {
    const auto same = find_gpu(spelling);
    ASSERT_TRUE(same) << spelling;
    EXPECT_EQ(same->total, slice->total) << spelling;
  }
  const auto other = find_gpu("h100-sxm:1g.5gb");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::not_found);
  EXPECT_NE(other.error().hints.at(0).find("1g.10gb, 1g.20gb"), std::string::npos);
  EXPECT_FALSE(find_gpu("rtx-4090:1g.10gb"));
  EXPECT_FALSE(find_gpu("h1000:1g.10gb"));
}

TEST(Gpu, SlicesNeverHoldMoreThanTheCard) {
  for (const std::string_view id : ids(Kind::gpu)) {
    const auto entry = find(Kind::gpu, id);
    const json::Value* slices = entry->value.find("mig");
    if (slices == nullptr) continue;
    const auto whole = find_gpu(id);
    int64_t before = 0;
    for (const json::Value& item : slices->as_array()) {
      const std::string name = std::string(id) + ":" + item.find("profile")->as_string();
      const auto slice = find_gpu(name);
      ASSERT_TRUE(slice) << name;
      const int64_t most = item.find("most")->as_integer();
      EXPECT_LE(slice->total.count() * most, whole->total.count()) << name;
      EXPECT_GE(slice->total.count() + slice->total_uncertainty.count(), before) << name;
      before = slice->total.count();
    }
  }
}

TEST(Gpu, AcceptsTheSpellingsOfDriversAndShops) {
  const struct {
    std::string_view asked;
    std::string_view id;
  } cases[] = {
      // nvidia-smi
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"},
      {"NVIDIA GeForce RTX 5070 Ti", "rtx-5070-ti"},
      {"NVIDIA GB10", "dgx-spark-gb10"},
      {"Tesla V100-SXM2-16GB", "v100-16"},
      {"NVIDIA L40S", "l40s"},
      // people
      {"rtx 4090", "rtx-4090"},
      {"RTX4090", "rtx-4090"},
      {"4090", "rtx-4090"},
      {"RTX_4090", "rtx-4090"},
      {"RTX5090-32GB", "rtx-5090"},
      {"h100", "h100-sxm"},
      {"H100-80GB", "h100-sxm"},
      {"a100", "a100-sxm4-80"},
      {"DGX-Spark-GB10-128GB", "dgx-spark-gb10"},
      {"RTX-PRO-6000-96GB", "rtx-pro-6000-ws"},
      {"m3-max-64", "apple-m3-max-64"},
      {"Apple M3 Max 64GB", "apple-m3-max-64"},
      {"AMD Instinct MI300X", "mi300x"},
      {"Radeon RX 7900 XTX", "rx-7900-xtx"},
  };
  for (const auto& c : cases) {
    const auto gpu = find_gpu(c.asked);
    ASSERT_TRUE(gpu) << c.asked;
    EXPECT_EQ(gpu->id, c.id) << c.asked;
  }
}

TEST(Gpu, AnUnknownCardNamesItsNeighbours) {
  const auto missing = find_gpu("h20O-sxm");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  ASSERT_FALSE(missing.error().hints.empty());
  EXPECT_NE(missing.error().hints.front().find("h200-sxm"), std::string::npos);
}

}  // namespace
}  // namespace vramwise::catalog
