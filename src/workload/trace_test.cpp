#include "workload/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace vramwise::workload {
namespace {

TEST(Trace, ReadsEveryFormatByItsFirstLine) {
  const struct {
    const char* text;
    const char* format;
    size_t rows;
    double span;
    int32_t prompt, output;  // of the first row
  } kCases[] = {
      {"arrival_seconds,prompt_tokens,output_tokens\n2.5,12,3\n4,9,1\n", "own", 2, 1.5, 12, 3},
      {"{\"arrival_seconds\":1,\"prompt_tokens\":5,\"output_tokens\":2}\n", "own", 1, 0, 5, 2},
      {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
       "2023-11-16 18:15:50.9951690,396,109\n",
       "azure", 2, 4.314579, 374, 44},
      // A zone, a month's end, and rows out of order.
      {"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-01 00:00:01+00:00,7,1\n"
       "2024-04-30 23:59:59+00:00,8,2\n",
       "azure", 2, 2, 8, 2},
      {"Timestamp,Session ID,Model,Request tokens,Response tokens,Total "
       "tokens\n5,,GPT-4,472,18,490\n"
       "45,,GPT-4,10,0,10\n",
       "burstgpt", 1, 0, 472, 18},
      {"{\"timestamp\": 27000, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, "
       "47]}\n"
       "{\"timestamp\": 30000, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": []}\n",
       "mooncake", 2, 3, 6955, 52},
      {"{\"input_lens\": [10, 20],\n \"output_lens\": [3, 4]}", "vllm bench", 2, 0, 10, 3},
      {"\xef\xbb\xbf\"arrival_seconds\",\"prompt_tokens\",\"output_tokens\"\r\n0,\"1\",2\r\n\r\n",
       "own", 1, 0, 1, 2},
      // Spreadsheets of other countries, tabs, old Macs; times before zero count from the first.
      {"arrival_seconds;prompt_tokens;output_tokens\n1;5;6\n", "own", 1, 0, 5, 6},
      {"arrival_seconds\tprompt_tokens\toutput_tokens\n-2\t5\t6\n3\t7\t8\n", "own", 2, 5, 5, 6},
      {"arrival_seconds,prompt_tokens,output_tokens\r1,5,6\r\r2,7,8\r", "own", 2, 1, 5, 6},
      {"{\"arrival_seconds\":-1,\"prompt_tokens\":5,\"output_tokens\":2}\n", "own", 1, 0, 5, 2},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto trace = read_trace(c.text, "t");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->format, c.format);
    ASSERT_EQ(trace->rows.size(), c.rows);
    EXPECT_NEAR(trace->span(), c.span, 1e-6);
    EXPECT_EQ(trace->rows[0].prompt, c.prompt);
    EXPECT_EQ(trace->rows[0].output, c.output);
  }
}

TEST(Trace, TakesColumnsByName) {
  const auto trace = read_trace("x,in,out\n9,5,6\n", "t", {"in", "out", ""});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_FALSE(trace->has_arrivals);
  EXPECT_EQ(trace->rows[0].prompt, 5);
}

TEST(Trace, FaultsHaveTheirLine) {
  const struct {
    const char* text;
    int64_t line;
    const char* part;  // of the message
  } kCases[] = {
      {"", 1, "empty"},
      {"arrival_seconds,prompt_tokens,output_tokens\n", 1, "no request"},
      {"arrival_seconds,prompt_tokens\n0,1\n", 1, "no column holds the tokens of answers"},
      {"arrival_seconds,prompt_tokens,output_tokens\n0,1,2\n1,x,2\n", 3, "the prompt is 'x'"},
      {"arrival_seconds,prompt_tokens,output_tokens\n0,1,2\n\n1,1,-2\n", 4, "the answer is -2"},
      {"arrival_seconds,prompt_tokens,output_tokens\n0,1,2\nsoon,1,2\n", 3, "neither seconds nor"},
      {"arrival_seconds,prompt_tokens,output_tokens\n0,1\n", 2, "2 fields"},
      {"arrival_seconds,prompt_tokens,output_tokens\n0,99999999999,2\n", 2, "accepted is"},
      {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:46,1,2\n", 2, "neither seconds"},
      {"{\"timestamp\":0,\"input_length\":5,\"output_length\":2}\n{\"timestamp\":\n", 2, ""},
      {"{\"timestamp\":0,\"input_length\":5}\n", 1, "output_length"},
      {"{\"timestamp\":0,\"input_length\":5,\"output_length\":2}\n[1]\n", 2, "not a JSON object"},
      {"{\"input_lens\":[1,2],\"output_lens\":[1]}", 1, "output_lens has 1"},
      {"[{\"arrival_seconds\":1}]", 1, "JSON array"},
      {"0,1,2\n1,2,3\n", 1, "no column holds the tokens of prompts"},
      {"\xff\xfe"
       "a",
       1, "UTF-16"},
      {"arrival_seconds,prompt_tokens,output_tokens\n0,1,2\n-1e13,1,2\n", 3, "neither seconds nor"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto trace = read_trace(c.text, "t.csv");
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().where.source, "t.csv");
    EXPECT_EQ(trace.error().where.line, c.line) << trace.error().message;
    EXPECT_NE(trace.error().message.find(c.part), std::string::npos) << trace.error().message;
  }
}

TEST(Trace, FailedRowsAreCounted) {
  const auto trace = read_trace("Timestamp,Request tokens,Response tokens\n1,5,0\n2,5,3\n", "t");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->failed, 1);
  EXPECT_EQ(trace->rows.size(), 1U);
}

TEST(Trace, TicksAreSpread) {
  auto trace = read_trace(
      "arrival_seconds,prompt_tokens,output_tokens\n0,1,1\n0,1,1\n0,1,1\n3,1,1\n3,1,1\n", "t");
  ASSERT_TRUE(trace);
  spread_ticks(*trace);
  const double expected[] = {0, 1, 2, 3, 4.5};
  for (size_t i = 0; i < 5; ++i) EXPECT_DOUBLE_EQ(trace->rows[i].arrival, expected[i]);
}

// Ten minutes, a request a second that says when it came: pieces of two minutes keep their order.
TEST(Trace, PiecesKeepWhatIsInThem) {
  Trace trace;
  trace.has_arrivals = true;
  for (int i = 0; i < 600; ++i) {
    TraceRow row;
    row.arrival = i;
    row.prompt = i + 1;
    row.session = i / 10;
    row.chain_begin = int32_t(trace.chains.size());
    row.chain_length = 2;
    trace.chains.push_back(i);
    trace.chains.push_back(i + 600);
    trace.rows.push_back(row);
  }
  Random random(1, Stream::arrivals);
  const Trace drawn = resampled(trace, 120, 3000, random);
  ASSERT_EQ(drawn.rows.size(), 3000U);
  int breaks = 0;
  std::map<int32_t, int64_t> first_of_session;
  std::vector<int> seen(600, 0);
  for (size_t i = 0; i < drawn.rows.size(); ++i) {
    const TraceRow& row = drawn.rows[i];
    ++seen[size_t(row.prompt - 1)];
    // A session, and the text of a request, belong to one drawing of their piece.
    const auto [known, fresh] = first_of_session.emplace(row.session, int64_t(i));
    EXPECT_LT(int64_t(i) - known->second, 10);
    (void)fresh;
    EXPECT_EQ(drawn.chains[size_t(row.chain_begin)] % 1200, row.prompt - 1);
    if (i == 0) continue;
    EXPECT_GE(row.arrival, drawn.rows[i - 1].arrival);
    if (row.prompt != drawn.rows[i - 1].prompt + 1) ++breaks;
  }
  // 3000 rows of at most 150 a piece (599 s make four pieces); two pieces that follow each other in
  // the recording may follow each other here.
  EXPECT_GE(breaks, 10);
  EXPECT_LE(breaks, 20);
  EXPECT_GT(*std::max_element(seen.begin(), seen.end()),
            *std::min_element(seen.begin(), seen.end()));
  Random again(1, Stream::arrivals);
  EXPECT_EQ(resampled(trace, 120, 3000, again).rows.back().prompt, drawn.rows.back().prompt);
}

}  // namespace
}  // namespace vramwise::workload
