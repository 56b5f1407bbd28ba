#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/stream/event_stream.h"
#include "formats/stream/exposition.h"

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
      "b{x=\"quote \\\" comma, brace } \\\\ line\\n\",} +Inf\nc NaN\nc 3\n");
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

}  // namespace
}  // namespace vramwise::formats
