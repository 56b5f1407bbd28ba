#include "engines/llamacpp/allocator.h"

#include <gtest/gtest.h>

namespace vramwise::engines::llamacpp {
namespace {

TEST(BufferPlan, ReusesTheSmallestHoleThatIsLargeEnough) {
  BufferPlan plan;
  plan.reset(32, 0);
  const auto a = plan.allocate(100), b = plan.allocate(1000), c = plan.allocate(64);
  plan.allocate(32);
  EXPECT_EQ(b.offset, 128);  // sizes are rounded to the alignment
  plan.release(a, 100);
  plan.release(c, 64);
  EXPECT_EQ(plan.allocate(60).offset, c.offset);
  EXPECT_EQ(plan.allocate(60).offset, a.offset);
  EXPECT_EQ(plan.high_water(), 128 + 1024 + 64 + 32);
}

TEST(BufferPlan, JoinsNeighboursOnBothSides) {
  BufferPlan plan;
  plan.reset(32, 0);
  const auto a = plan.allocate(32), b = plan.allocate(32), c = plan.allocate(32);
  plan.allocate(32);
  plan.release(a, 32);
  plan.release(c, 32);
  plan.release(b, 32);
  EXPECT_EQ(plan.allocate(96).offset, a.offset);
}

TEST(BufferPlan, OpensChunksWhenABufferMayNotGrow) {
  BufferPlan plan;
  plan.reset(16, 1024);
  EXPECT_EQ(plan.allocate(1000).chunk, 0);
  EXPECT_EQ(plan.allocate(1000).chunk, 1);
  EXPECT_EQ(plan.allocate(4000).chunk, 2);  // larger than the limit: a chunk of its own
  EXPECT_EQ(plan.allocate(16).chunk, 0);    // the tightest open end
}

BackendProfile plain() {
  BackendProfile p;
  p.name = "CPU";
  return p;
}

TEST(Allocator, TakesOverTheMemoryOfASourceThatIsDone) {
  Graph g;
  const TensorId x = g.make(Op::none, GgmlType::F32, {256, 4, 1, 1});
  g[x].input = true;
  TensorId y = g.scale(x);
  y = g.unary(y);
  g[y].output = true;
  g.expand(y);
  for (const TensorId id : g.nodes) g[id].device = 0;
  for (const TensorId id : g.leaves) g[id].device = 0;
  Allocator allocator;
  const BackendProfile backends[] = {plain()};
  EXPECT_EQ(allocator.run(g, g.leaves, g.nodes, backends)[0], 256 * 4 * 4);
}

TEST(Allocator, NeverTakesOverAView) {
  Graph g;
  const TensorId x = g.make(Op::none, GgmlType::F32, {256, 4, 1, 1});
  g[x].input = true;
  const TensorId y = g.scale(g.reshape(x, 1024));
  g[y].output = true;
  g.expand(y);
  for (const TensorId id : g.nodes) g[id].device = 0;
  for (const TensorId id : g.leaves) g[id].device = 0;
  Allocator allocator;
  const BackendProfile backends[] = {plain()};
  EXPECT_EQ(allocator.run(g, g.leaves, g.nodes, backends)[0], 2 * 256 * 4 * 4);
}

TEST(Graph, ExpandsDepthFirstAndOnce) {
  Graph g;
  const TensorId a = g.make(Op::none, GgmlType::F32, {8, 1, 1, 1});
  const TensorId b = g.scale(a), c = g.unary(a);
  const TensorId sum = g.add(b, c);
  g.expand(sum);
  g.expand(g.mul(sum, b));
  ASSERT_EQ(g.nodes.size(), 4u);
  EXPECT_EQ(g.nodes[0], b);
  EXPECT_EQ(g.nodes[1], c);
  EXPECT_EQ(g.nodes[2], sum);
  EXPECT_EQ(g.leaves.size(), 1u);
}

}  // namespace
}  // namespace vramwise::engines::llamacpp
