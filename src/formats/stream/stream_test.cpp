#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/stream/event_stream.h"
#include "formats/stream/exposition.h"
#include "formats/stream/metric_histogram.h"

namespace vramwise::formats {
namespace {

std::vector<std::string> events(std::string_view text, size_t piece, size_t limit = 1000) {
  std::vector<std::string> found;
  EventStream stream(limit);
  const auto take = [&](std::string_view data) { found.emplace_back(data); };
  bool good = true;
  for (size_t i = 0; i < text.size(); i += piece) good = stream.feed(text.substr(i, piece), take);
  stream.finish(take);
  if (!good) found.emplace_back("too long");
  return found;
}

TEST(EventStream, PiecesOfAnySize) {
  struct Case {
    const char* text;
    std::vector<std::string> data;
  };
  const Case cases[] = {
      {"data: a\n\ndata: b\n\n", {"a", "b"}},
      {"data: a\r\n\r\ndata: b\r\n\r\n", {"a", "b"}},
      {"data: a\r\rdata: b\r\r", {"a", "b"}},
      {"data:a\ndata: b\n\n", {"a\nb"}},
      {": keep-alive\n\nevent: x\nid: 3\ndata:  two blanks\n\n", {" two blanks"}},
      {"data\n\n", {""}},
      {"data: [DONE]", {"[DONE]"}},  // cut before the blank line
      {"data: a\n\n\n\ndata: b\n", {"a", "b"}},
      {"nonsense\nmore: of it\n\n", {}},
      {"", {}},
  };
  for (const Case& c : cases) {
    for (const size_t piece : {1, 2, 3, 7, 100}) EXPECT_EQ(events(c.text, piece), c.data) << c.text;
  }
}

TEST(EventStream, LongLinesEndIt) {
  const std::string line = "data: " + std::string(2000, 'x') + "\n\ndata: a\n\n";
  EXPECT_EQ(events(line, 64), std::vector<std::string>{"too long"});
  // Many short lines of one event are too long as well.
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "data: xxxxxx\n";
  EXPECT_EQ(events(lines + "\n", 64), std::vector<std::string>{"too long"});
}

TEST(Exposition, Reads) {
  const Exposition found = read_exposition(
      "# HELP a words\n# TYPE a gauge\na 1\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} 0.25\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} 5e-1 1700000000\n"
      "b{x=\"quote \\\" comma, brace } \\\\ line\\n\",} +Inf\nc NaN\nc{x=\"y\"} 3\n");
  EXPECT_EQ(found.faulty, 0);
  EXPECT_EQ(found.sum("a"), 1.0);
  EXPECT_EQ(found.sum("vllm:kv_cache_usage_perc"), 0.75);
  EXPECT_EQ(found.highest("vllm:kv_cache_usage_perc"), 0.5);
  EXPECT_EQ(found.first("b")->label("x"), "quote \" comma, brace } \\ line\n");
  EXPECT_EQ(found.sum("c"), 3.0);
  EXPECT_FALSE(found.sum("d").has_value());
}

TEST(Exposition, Rubbish) {
  for (const char* text : {"<html>", "{\"error\":1}", "a{", "a{b", "a{b=", "a{b=\"", "a{b=\"c\"",
                           "a", "a b", "a{b=\"c\"} ", "{x=\"y\"} 1", "\x01\x02"}) {
    const Exposition found = read_exposition(text);
    EXPECT_TRUE(found.samples.empty()) << text;
    EXPECT_EQ(found.faulty, 1) << text;
  }
}

TEST(Exposition, ASeriesThatStandsTwiceCountsOnce) {
  const Exposition found = read_exposition("a{x=\"1\"} 5\na{x=\"2\"} 7\na{x=\"1\"} 6\nb 1\nb 2\n");
  EXPECT_EQ(found.samples.size(), 3u);
  EXPECT_EQ(found.sum("a"), 13.0);
  EXPECT_EQ(found.sum("b"), 2.0);
}

TEST(Exposition, OnlyTheWantedAreReadAndCounted) {
  std::string text;
  for (int i = 0; i < 100'001; ++i) text += "go_gc{pod=\"" + std::to_string(i) + "\"} 1\n";
  text += "vllm:num_requests_running 3\n<html>\n";
  EXPECT_TRUE(read_exposition(text).cut_off);
  constexpr std::string_view kWanted[] = {"vllm:", "sglang:"};
  const Exposition found = read_exposition(text, kWanted);
  EXPECT_FALSE(found.cut_off);
  EXPECT_EQ(found.faulty, 0);
  ASSERT_EQ(found.samples.size(), 1u);
  EXPECT_EQ(found.sum("vllm:num_requests_running"), 3.0);
}

// Two engine processes; a bucket of 4 in (0.1, 0.2] and so on by hand.
constexpr const char* kBefore =
    "t_bucket{e=\"0\",le=\"0.1\"} 2\nt_bucket{e=\"0\",le=\"0.2\"} 2\n"
    "t_bucket{e=\"0\",le=\"+Inf\"} 2\nt_sum{e=\"0\"} 0.1\nt_count{e=\"0\"} 2\n";
constexpr const char* kAfter =
    "t_bucket{e=\"0\",le=\"0.1\"} 4\nt_bucket{e=\"0\",le=\"0.2\"} 6\n"
    "t_bucket{e=\"0\",le=\"+Inf\"} 6\nt_sum{e=\"0\"} 0.6\nt_count{e=\"0\"} 6\n"
    "t_bucket{e=\"1\",le=\"0.1\"} 0\nt_bucket{e=\"1\",le=\"0.2\"} 2\n"
    "t_bucket{e=\"1\",le=\"+Inf\"} 4\nt_sum{e=\"1\"} 1.9\nt_count{e=\"1\"} 4\n";

TEST(MetricHistogram, BetweenTwoLooks) {
  const auto before = histogram_of(read_exposition(kBefore), "t");
  const auto after = histogram_of(read_exposition(kAfter), "t");
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->count, 10);
  EXPECT_EQ(after->sum, 2.5);
  const auto passed = between(*before, *after);
  ASSERT_TRUE(passed);
  // 8 in between: 2 up to 0.1, 4 up to 0.2, 2 beyond.
  EXPECT_EQ(passed->count, 8);
  EXPECT_DOUBLE_EQ(passed->mean(), 0.3);
  EXPECT_DOUBLE_EQ(*passed->quantile(0.25), 0.1);
  EXPECT_DOUBLE_EQ(*passed->quantile(0.5), 0.15);
  EXPECT_DOUBLE_EQ(*passed->quantile(0.75), 0.2);
  EXPECT_DOUBLE_EQ(*passed->quantile(0.99), 0.2);  // only known to be beyond
  // The other way round the server was started again.
  EXPECT_FALSE(between(*after, *before));
}

TEST(MetricHistogram, Rubbish) {
  EXPECT_FALSE(histogram_of(read_exposition("u_count 1\n"), "t"));
  const auto odd = histogram_of(
      read_exposition("t_bucket{le=\"x\"} 3\nt_bucket{le=\"0.5\"} 9\nt_bucket{le=\"1\"} 4\n"
                      "t_bucket{le=\"NaN\"} 1\nt_bucket 4\nt_bucket{le=\"2\"} NaN\n"
                      "t_bucket{le=\"-1\"} 5\nt_sum -3\nt_count 9\n"),
      "t");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->buckets.size(), 2u);
  EXPECT_EQ(odd->buckets[1].second, 9);  // levelled
  EXPECT_EQ(odd->sum, 0);
  EXPECT_DOUBLE_EQ(*odd->quantile(1), 0.5);
  EXPECT_FALSE(MetricHistogram().quantile(0.5));
}

}  // namespace
}  // namespace vramwise::formats
