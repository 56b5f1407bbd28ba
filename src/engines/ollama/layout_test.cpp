#include "engines/ollama/layout.h"

#include <gtest/gtest.h>

#include "engines/ollama/estimate.h"

namespace vramwise::engines::ollama {
namespace {

LayoutQuestion ten_layers(std::vector<int64_t> free) {
  LayoutQuestion q;
  q.layers.assign(10, 100);
  q.layers.push_back(150);  // the output
  for (const int64_t bytes : free) q.gpus.push_back({bytes, 0, 0});
  return q;
}

std::vector<int64_t> counts(const Layout& l, size_t gpus) {
  std::vector<int64_t> n(gpus, 0);
  for (const int gpu : l.gpu_of_layer) {
    if (gpu >= 0) ++n[size_t(gpu)];
  }
  return n;
}

TEST(OllamaLayout, OneGpuThatHoldsItAllIsTheOnlyOne) {
  const Layout l = lay_out(ten_layers({1000, 1200}), {0, 0});
  EXPECT_EQ(counts(l, 2), (std::vector<int64_t>{0, 11}));
  EXPECT_EQ(l.order(), std::vector<int>{1});
}

TEST(OllamaLayout, TwoGpusAreFilledToTheSameShare) {
  // Seven eighths of each: 700 of 800 and 450 of 525. The freer one has the first layers.
  const Layout l = lay_out(ten_layers({600, 800}), {0, 0});
  EXPECT_EQ(l.on_gpus(), 11);
  EXPECT_EQ(l.order(), (std::vector<int>{1, 0}));
  EXPECT_EQ(counts(l, 2), (std::vector<int64_t>{4, 7}));
}

TEST(OllamaLayout, WhatDoesNotFitLeavesTheOutputFirst) {
  const Layout l = lay_out(ten_layers({560}), {0});
  EXPECT_EQ(l.on_gpus(), 5);
  EXPECT_EQ(l.gpu_of_layer.back(), -1);
  EXPECT_EQ(l.gpu_of_layer[9], 0);
  EXPECT_EQ(l.gpu_of_layer[4], -1);
}

TEST(OllamaLayout, AskedLayersAreTakenWhetherTheyFitOrNot) {
  LayoutQuestion q = ten_layers({300});
  q.requested = 11;
  EXPECT_EQ(lay_out(q, {0}).on_gpus(), 11);
}

TEST(OllamaLayout, GraphsComeOffWhatALayerMayHave) {
  const LayoutQuestion q = ten_layers({1200});
  EXPECT_EQ(lay_out(q, {0}).on_gpus(), 11);
  EXPECT_EQ(lay_out(q, {100}).on_gpus(), 10);
}

TEST(OllamaLayout, TrialsEndWhereAGraphMovesOffAndOn) {
  // With more than eight layers the graph is large, else small: a layout between is found.
  const LayoutQuestion q = ten_layers({1000});
  int trials = 0;
  const Layout l = settle_layout(q, [&](const Layout& tried) {
    ++trials;
    return std::vector<int64_t>{tried.on_gpus() > 8 ? 300 : 100};
  });
  EXPECT_EQ(l.on_gpus(), 8);
  EXPECT_LT(trials, 10);
}

TEST(OllamaEstimate, AReserveOfOneLayerIsKeptOnEveryGpu) {
  EstimateModel m;
  m.layers.assign(4, 90);
  m.caches.assign(4, 10);
  m.buffer_layer = 90;
  m.output = 50;
  m.graph_full = 20;
  m.graph_partial = 40;
  Release release;
  // minimum 30, reserve 100, graph 40, four layers and the output.
  const Estimate whole = estimate_layers(m, {{621, 30}}, false, release);
  EXPECT_EQ(whole.layers, 5);
  EXPECT_EQ(whole.on_gpus, 30 + 100 + 400 + 50 + 20);
  EXPECT_EQ(whole.required, whole.on_gpus);
  // A byte less, and the output stays on the host: it must be less than what is free.
  const Estimate part = estimate_layers(m, {{620, 30}}, false, release);
  EXPECT_EQ(part.layers, 4);
  EXPECT_EQ(part.on_gpus, 30 + 100 + 400 + 40);
  EXPECT_EQ(part.required, part.on_gpus + 50);
  // Two GPUs have the partial graph each.
  const Estimate two = estimate_layers(m, {{421, 30}, {421, 30}}, false, release);
  EXPECT_EQ(two.split, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(two.allocated, (std::vector<int64_t>{30 + 100 + 200 + 50 + 40, 30 + 100 + 200 + 40}));
}

TEST(OllamaEstimate, AGpuWithoutRoomForTwoLayersIsLeftOut) {
  EstimateModel m;
  m.layers.assign(4, 100);
  m.caches.assign(4, 0);
  m.buffer_layer = 100;
  m.output = 10;
  m.graph_full = m.graph_partial = 50;
  const Estimate e = estimate_layers(m, {{279, 30}, {280, 30}}, false, Release());
  EXPECT_EQ(e.split, (std::vector<int64_t>{0, 0}));  // 30 + 100 + 50 + 100 is not below 280
  EXPECT_EQ(e.allocated, (std::vector<int64_t>{0, 130}));
}

}  // namespace
}  // namespace vramwise::engines::ollama
