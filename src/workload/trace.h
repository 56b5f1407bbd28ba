// Recorded requests from text: the project's own CSV and JSON Lines, and the formats that public
// traces and benchmark tools write. Which one it is follows from the first line.
//
//   own            arrival_seconds, prompt_tokens, output_tokens [, session, turn, prefix_id,
//                  prefix_tokens]; CSV with a header, or one JSON object a line
//   Azure          TIMESTAMP, ContextTokens, GeneratedTokens (2023 and 2024)
//   BurstGPT       Timestamp, …, Request tokens, Response tokens; response 0 = failed: left out
//   Mooncake       {"timestamp", "input_length", "output_length", "hash_ids"} a line, milliseconds
//   vLLM bench     one JSON object with input_lens and output_lens: lengths without arrivals
//   any other CSV  with the names of two columns
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/random.h"

namespace vramwise::workload {

struct TraceRow {
  double arrival = 0;  // seconds since the first
  int32_t prompt = 1;
  int32_t output = 1;
  int32_t session = -1;
  int32_t prefix = -1;  // shared text
  int32_t prefix_tokens = 0;
  int32_t chain_begin = 0, chain_length = 0;  // hash_ids in Trace::chains
};

struct Trace {
  std::string name;            // of the file, for people
  std::string format;          // "azure", "burstgpt", "mooncake", "vllm bench", "own", "columns"
  std::vector<TraceRow> rows;  // in order of arrival
  std::vector<int32_t> chains;
  bool has_arrivals = false;
  int64_t failed = 0;       // rows of requests that failed, left out
  int64_t no_output = 0;    // rows without an answer, counted as one token
  bool priorities = false;  // it has some, which nothing follows
  double span() const { return rows.empty() ? 0 : rows.back().arrival; }
};

struct TraceColumns {
  std::string prompt, output, arrival;  // names of columns; empty: by format
};

// Errors: invalid_input with the line (1-based) and column of the first fault, too_large beyond
// limits (rows, bytes of a line), missing_field for a header without the needed columns.
Result<Trace> read_trace(std::string_view text, std::string_view name,
                         const TraceColumns& columns = {});

// Arrivals of one clock tick spread evenly up to the next tick (coarse clocks make bursts that
// were none).
void spread_ticks(Trace& trace);

// Another recording of the same kind: pieces of the trace of at least `block_seconds`, drawn with
// replacement and put one after the other until there are `requests` of them. Within a piece
// nothing changes, so bursts and slow drift as long as it stay; single rows drawn at random would
// lose both. A piece that comes again has conversations and texts of its own. The trace is two
// pieces long at least and not empty.
Trace resampled(const Trace& trace, double block_seconds, int64_t requests, Random& random);

}  // namespace vramwise::workload
