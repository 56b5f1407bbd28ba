#include "verify/pattern.h"

#include <gtest/gtest.h>

#include "verify/anchors.h"
#include "verify/templates.h"

namespace vramwise::verify {
namespace {

struct Match {
  bool found = false;
  std::vector<Capture> captures;
  double number(std::string_view name) const {
    for (const Capture& c : captures) {
      if (c.name == name) return c.value;
    }
    return -999;
  }
  std::string text(std::string_view name) const {
    for (const Capture& c : captures) {
      if (c.name == name) return std::string(c.text);
    }
    return "?";
  }
};

Match match_in(std::string_view pattern, std::string_view line) {
  Match m;
  const size_t at = line.find(anchor_of(pattern));
  if (at == std::string_view::npos) return m;
  m.found = match(pattern, line, at, m.captures);
  return m;
}

TEST(Pattern, NumbersAsProgramsPrintThem) {
  struct Case {
    const char* text;
    double value;
    double rounding;
  };
  constexpr double kG = 1073741824, kM = 1048576;
  const Case cases[] = {
      {"5.30GiB", 5.30 * kG, 0.005 * kG},        // no blank
      {"5.30 GiB", 5.30 * kG, 0.005 * kG},       //
      {"-7.83GiB", -7.83 * kG, 0.005 * kG},      // a budget that is overdrawn
      {"-0.0 GiB", 0, 0.05 * kG},                //
      {"14.9889 GB", 14.9889 * kG, 5e-5 * kG},   // GB is 2^30 here
      {"1,024 MiB", 1024 * kM, 0.5 * kM},        //
      {"2713,50 MiB", 2713.5 * kM, 0.005 * kM},  // a decimal comma
      {"806 bytes", 806, 0},
      {"1.5e-2 GiB", 0.015 * kG, 0.05 * kG},
  };
  for (const Case& c : cases) {
    const std::string line = std::string("took ") + c.text + " in all";
    const Match m = match_in("took {a:size} in", line);
    ASSERT_TRUE(m.found) << c.text;
    EXPECT_NEAR(m.number("a"), c.value, 1) << c.text;
    EXPECT_NEAR(m.captures[0].rounding, c.rounding, 1) << c.text;
  }
  EXPECT_FALSE(match_in("took {a:size} in", "took 5.30 Gib/s in").found);
}

TEST(Pattern, OptionalsAlternativesAndWords) {
  const std::string_view p = "count {n:n}( of {m:n})? [tokens|blocks] in {w:w}( \\({t:t}\\))?";
  EXPECT_EQ(match_in(p, "count 1,000 tokens in GPU0, x").number("n"), 1000);
  EXPECT_EQ(match_in(p, "count 1 of 2 blocks in GPU0").number("m"), 2);
  EXPECT_EQ(match_in(p, "count 1 of 2 blocks in GPU0 (the first)").text("t"), "the first");
  EXPECT_EQ(match_in(p, "count 1 blocks in GPU0, x").text("w"), "GPU0");
  EXPECT_FALSE(match_in(p, "count 1 pages in GPU0").found);
  EXPECT_FALSE(match_in(p, "count 1.5 blocks in GPU0").found);
}

TEST(Pattern, WordBeforeTheAnchor) {
  const std::string_view p = "{d:b} KV buffer size = {s:size}";
  EXPECT_EQ(match_in(p, "x:      CUDA0 KV buffer size =   224.00 MiB").text("d"), "CUDA0");
  EXPECT_EQ(match_in(p, "x: RPC[10.0.0.1:50052] KV buffer size = 1.00 MiB").text("d"),
            "RPC[10.0.0.1:50052]");
}

TEST(Pattern, HostileLinesEnd) {
  const std::string line = "x " + std::string(200000, 'a');
  const std::string_view p = "x {a:t}1{b:t}2{c:t}3{d:t}4";
  std::vector<Capture> captures;
  EXPECT_FALSE(match(p, line, 0, captures));
}

TEST(Templates, EveryRowCanBeFound) {
  for (const Table& table : tables()) {
    for (const Template& row : table.rows) {
      EXPECT_GE(anchor_of(row.pattern).size(), Anchors::kShortest) << row.pattern;
    }
  }
}

TEST(Anchors, FirstAndLongest) {
  const Anchors anchors({"memory", "memory took", "blocks", "no way"});
  const std::string_view text = "xx memory took 3 blocks";
  Anchors::Hit hit = anchors.find(text, 0);
  EXPECT_EQ(hit.at, 3u);
  EXPECT_EQ(hit.word, 1);
  hit = anchors.find(text, 4);
  EXPECT_EQ(text.substr(hit.at, 6), "blocks");
  EXPECT_EQ(anchors.find(text, 18).word, -1);
  EXPECT_EQ(anchors.find("", 0).word, -1);
  EXPECT_EQ(anchors.find("memor", 0).word, -1);
}

}  // namespace
}  // namespace vramwise::verify
