#include "workload/trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/sort.h"
#include "base/text.h"
#include "json/parse.h"
#include "json/reader.h"
#include "workload/source.h"
#include "workload/trace_lines.h"

namespace vramwise::workload {
namespace {

constexpr int64_t kMostIds = int64_t{1} << 28;  // of conversations, texts and links between them
constexpr int64_t kMostPieces = 1'000'000;

constexpr double kMostSeconds = 1e12;  // either side of zero: arrivals count from the first
constexpr size_t kMaxRows = 10'000'000;
constexpr size_t kMaxLine = 1 << 20;
constexpr size_t kMaxChain = 50'000'000;

Error fault(std::string_view name, int64_t line, int64_t column, std::string what) {
  Where where;
  where.source = std::string(name);
  where.line = line;
  where.column = column;
  return Error(ErrorCode::invalid_input, std::move(what)).at(std::move(where));
}

std::string shown(std::string_view field) {
  return "'" + std::string(field.substr(0, 40)) + (field.size() > 40 ? "…'" : "'");
}

enum class Field { arrival, stamp, prompt, output, session, prefix, prefix_tokens };

struct Known {
  std::string_view title;  // lower case
  Field field;
};
constexpr std::array kTitles = {
    Known{"arrival_seconds", Field::arrival}, Known{"prompt_tokens", Field::prompt},
    Known{"output_tokens", Field::output},    Known{"session", Field::session},
    Known{"prefix_id", Field::prefix},        Known{"prefix_tokens", Field::prefix_tokens},
    Known{"timestamp", Field::stamp},         Known{"contexttokens", Field::prompt},
    Known{"generatedtokens", Field::output},  Known{"request tokens", Field::prompt},
    Known{"response tokens", Field::output}};

class Reader {
 public:
  Reader(std::string_view name, const TraceColumns& columns) : name_(name), columns_(columns) {
    trace_.name = std::string(name);
  }

  Result<Trace> csv(Lines& lines, const Line& header);
  Result<Trace> json_lines(Lines& lines, Line line);
  Result<Trace> bench(std::string_view text);

 private:
  Result<bool> add(TraceRow row, const Line& line) {
    if (trace_.rows.size() >= kMaxRows) {
      return fail(Error(ErrorCode::too_large, "a trace of more than 10,000,000 rows")
                      .at(Where{std::string(name_), "", line.number, 0, -1}));
    }
    trace_.rows.push_back(row);
    return true;
  }
  Result<int32_t> tokens(std::string_view field, const Line& line, std::string_view what,
                         int64_t most, int64_t least) {
    auto n = parse_integer(field);
    // Some tables write whole numbers as 374.0.
    if (!n) {
      if (const auto d = parse_number(field);
          d && *d >= 0 && *d <= 1e15 && *d == double(int64_t(*d))) {
        n = int64_t(*d);
      }
    }
    const int64_t column = field.data() - line.text.data() + 1;
    if (!n) {
      return fail(fault(name_, line.number, column,
                        std::string(what) + " is " + shown(field) + ", not a number of tokens"));
    }
    if (*n < least || *n > most) {
      return fail(fault(name_, line.number, column,
                        std::string(what) + " is " + format_grouped(*n) + ", accepted is " +
                            format_grouped(least) + " to " + format_grouped(most)));
    }
    return int32_t(*n);
  }
  int32_t number_of(std::map<std::string, int32_t>& names, std::string name) {
    return names.emplace(std::move(name), int32_t(names.size())).first->second;
  }
  Trace finish() {
    sort_stable(trace_.rows,
                [](const TraceRow& a, const TraceRow& b) { return a.arrival < b.arrival; });
    if (!trace_.rows.empty()) {
      const double start = trace_.rows.front().arrival;
      for (TraceRow& row : trace_.rows) row.arrival -= start;
    }
    return std::move(trace_);
  }

  std::string_view name_;
  const TraceColumns& columns_;
  Trace trace_;
  std::map<std::string, int32_t> sessions_, prefixes_;
};

Result<Trace> Reader::csv(Lines& lines, const Line& header) {
  std::vector<std::string_view> fields;
  const char separator = separator_of(header.text);
  split_fields(header.text, separator, fields);
  std::array<int, 7> place;
  place.fill(-1);
  const auto at = [&](Field f) -> int& { return place[size_t(f)]; };
  bool burst = false;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string title = to_lower(fields[i]);
    trace_.priorities = trace_.priorities || title == "priority";
    burst = burst || title == "response tokens";
    if (!columns_.prompt.empty()) {
      if (fields[i] == columns_.prompt) at(Field::prompt) = int(i);
      if (fields[i] == columns_.output) at(Field::output) = int(i);
      if (!columns_.arrival.empty() && fields[i] == columns_.arrival) at(Field::arrival) = int(i);
      continue;
    }
    for (const Known& known : kTitles) {
      if (title == known.title && at(known.field) < 0) at(known.field) = int(i);
    }
  }
  if (at(Field::prompt) < 0 || at(Field::output) < 0) {
    std::string titles;
    for (const std::string_view field : fields) {
      titles += (titles.empty() ? "" : ", ") + std::string(field.substr(0, 30));
    }
    Error error = fault(name_, header.number, 0,
                        "no column holds the tokens of " +
                            std::string(at(Field::prompt) < 0 ? "prompts" : "answers") +
                            "; the columns are: " + titles.substr(0, 200));
    error.code = ErrorCode::missing_field;
    if (parse_number(fields.front())) {
      error.hints.push_back("the first line has to name the columns; this one has figures");
    }
    error.hints.push_back("a trace of ours has arrival_seconds,prompt_tokens,output_tokens");
    error.hints.push_back("name the columns: --columns prompt=NAME,output=NAME");
    return fail(std::move(error));
  }
  trace_.format = !columns_.prompt.empty() ? "columns"
                  : burst                  ? "burstgpt"
                  : at(Field::stamp) >= 0  ? "azure"
                                           : "own";
  trace_.has_arrivals = at(Field::stamp) >= 0 || at(Field::arrival) >= 0;
  const size_t needed = size_t(std::max({at(Field::prompt), at(Field::output), at(Field::arrival),
                                         at(Field::stamp)})) +
                        1;
  while (const auto line = lines.next()) {
    if (line->text.size() > kMaxLine) {
      return fail(fault(name_, line->number, 0, "the line is longer than 1 MiB"));
    }
    split_fields(line->text, separator, fields);
    if (fields.size() < needed) {
      return fail(fault(name_, line->number, int64_t(line->text.size()) + 1,
                        "the line has " + format_integer(int64_t(fields.size())) +
                            " fields, the header asks for " + format_integer(int64_t(needed))));
    }
    TraceRow row;
    const std::string_view output = fields[size_t(at(Field::output))];
    TRY_ASSIGN(row.prompt,
               tokens(fields[size_t(at(Field::prompt))], *line, "the prompt", kMaxPrompt, 0));
    TRY_ASSIGN(row.output, tokens(output, *line, "the answer", kMaxOutput, 0));
    if (row.output == 0) {
      if (burst) {
        ++trace_.failed;
        continue;
      }
      ++trace_.no_output;
      row.output = 1;
    }
    row.prompt = std::max(row.prompt, 1);
    const int clock = at(Field::arrival) >= 0 ? at(Field::arrival) : at(Field::stamp);
    if (clock >= 0) {
      const std::string_view field = fields[size_t(clock)];
      std::optional<double> seconds = parse_number(field);
      if (!seconds) seconds = clock_time(field);
      if (!seconds || !(*seconds >= -kMostSeconds && *seconds <= kMostSeconds)) {
        return fail(fault(
            name_, line->number, field.data() - line->text.data() + 1,
            "the time of arrival is " + shown(field) + ", neither seconds nor a date and time"));
      }
      row.arrival = *seconds;
    }
    const auto text_at = [&](Field f) {
      const int i = at(f);
      return i >= 0 && size_t(i) < fields.size() ? fields[size_t(i)] : std::string_view();
    };
    if (const auto session = text_at(Field::session); !session.empty()) {
      row.session = number_of(sessions_, std::string(session));
    }
    if (const auto prefix = text_at(Field::prefix); !prefix.empty()) {
      row.prefix = number_of(prefixes_, std::string(prefix));
      row.prefix_tokens = row.prompt;
      if (const auto shared = text_at(Field::prefix_tokens); !shared.empty()) {
        TRY_ASSIGN(row.prefix_tokens, tokens(shared, *line, "prefix_tokens", kMaxPrompt, 0));
      }
    }
    TRY(add(row, *line));
  }
  return finish();
}

Result<Trace> Reader::json_lines(Lines& lines, Line line) {
  std::optional<Line> current = line;
  for (; current; current = lines.next()) {
    if (current->text.size() > kMaxLine) {
      return fail(fault(name_, current->number, 0, "the line is longer than 1 MiB"));
    }
    auto value = json::parse(current->text, name_);
    if (!value) {
      Error error = std::move(value.error());
      error.where.line = current->number;
      return fail(std::move(error));
    }
    const json::Reader row_reader(*value, name_);
    const auto here = [&](Error error) {
      error.where.line = current->number;
      return fail(std::move(error));
    };
    if (!row_reader.is_object()) {
      return fail(fault(name_, current->number, 1, "a line of the trace is not a JSON object"));
    }
    const bool mooncake = row_reader.has("input_length");
    if (trace_.format.empty()) trace_.format = mooncake ? "mooncake" : "own";
    TraceRow row;
    const auto prompt =
        row_reader.require_integer({mooncake ? "input_length" : "prompt_tokens"}, 0, kMaxPrompt);
    if (!prompt) return here(prompt.error());
    const auto output =
        row_reader.require_integer({mooncake ? "output_length" : "output_tokens"}, 0, kMaxOutput);
    if (!output) return here(output.error());
    const auto arrival =
        row_reader.optional_number({mooncake ? "timestamp" : "arrival_seconds"}, -1e15, 1e15);
    if (!arrival) return here(arrival.error());
    if (*output == 0) ++trace_.no_output;
    row.prompt = int32_t(std::max<int64_t>(1, *prompt));
    row.output = int32_t(std::max<int64_t>(1, *output));
    if (*arrival) {
      trace_.has_arrivals = true;
      row.arrival = mooncake ? **arrival / 1000 : **arrival;
    }
    trace_.priorities = trace_.priorities || row_reader.has("priority");
    if (const auto session = row_reader.find("session")) {
      row.session = number_of(sessions_, json::dump(session->value()));
    }
    if (const auto prefix = row_reader.find("prefix_id")) {
      row.prefix = number_of(prefixes_, json::dump(prefix->value()));
      const auto shared = row_reader.integer_or({"prefix_tokens"}, row.prompt, 0, kMaxPrompt);
      if (!shared) return here(shared.error());
      row.prefix_tokens = int32_t(*shared);
    }
    if (const auto ids = row_reader.find("hash_ids")) {
      const auto items = ids->items();
      if (!items) return here(items.error());
      if (trace_.chains.size() + items->size() > kMaxChain) {
        return fail(fault(name_, current->number, 0, "too many hash_ids"));
      }
      row.chain_begin = int32_t(trace_.chains.size());
      row.chain_length = int32_t(items->size());
      for (const json::Reader& item : *items) {
        const auto id = item.integer(0, (int64_t{1} << 31) - 1);
        if (!id) return here(id.error());
        trace_.chains.push_back(int32_t(*id));
      }
    }
    TRY(add(row, *current));
  }
  return finish();
}

// One document of `vllm bench serve --save-result --save-detailed`.
Result<Trace> Reader::bench(std::string_view text) {
  TRY_ASSIGN(const json::Value value, json::parse(text, name_));
  const json::Reader root(value, name_, text);
  TRY_ASSIGN(const json::Reader inputs, root.require({"input_lens"}));
  TRY_ASSIGN(const json::Reader outputs, root.require({"output_lens"}));
  TRY_ASSIGN(const auto prompts, inputs.items());
  TRY_ASSIGN(const auto answers, outputs.items());
  if (prompts.size() != answers.size()) {
    return fail(outputs.error(ErrorCode::inconsistent,
                              "output_lens has " + format_integer(int64_t(answers.size())) +
                                  " entries, input_lens " +
                                  format_integer(int64_t(prompts.size()))));
  }
  trace_.format = "vllm bench";
  for (size_t i = 0; i < prompts.size(); ++i) {
    TRY_ASSIGN(const int64_t prompt, prompts[i].integer(0, kMaxPrompt));
    TRY_ASSIGN(const int64_t output, answers[i].integer(0, kMaxOutput));
    if (output == 0) {
      ++trace_.failed;
      continue;
    }
    TraceRow row;
    row.prompt = int32_t(std::max<int64_t>(1, prompt));
    row.output = int32_t(output);
    TRY(add(row, {text, 0}));
  }
  return finish();
}

}  // namespace

Result<Trace> read_trace(std::string_view text, std::string_view name,
                         const TraceColumns& columns) {
  if (starts_with(text, "\xff\xfe") || starts_with(text, "\xfe\xff")) {
    return fail(fault(name, 1, 0, "the trace is UTF-16").hint("save it as UTF-8"));
  }
  Lines lines(text);
  const auto first = lines.next();
  if (!first) return fail(fault(name, 1, 0, "the trace is empty"));
  Reader reader(name, columns);
  Result<Trace> trace = Trace();
  const std::string_view start = trim(first->text);
  if (start.front() == '{') {
    // A document over many lines, or one object a line.
    const bool document = contains(text.substr(0, 1 << 16), "\"input_lens\"") ||
                          (start.size() == 1 || contains(start, "\"input_lens\""));
    trace = document ? reader.bench(text) : reader.json_lines(lines, *first);
  } else if (start.front() == '[') {
    return fail(fault(name, first->number, 0, "the trace is a JSON array")
                    .hint("write one object a line: jq -c '.[]' FILE > trace.jsonl"));
  } else {
    trace = reader.csv(lines, *first);
  }
  if (!trace) return trace;
  if (trace->rows.empty()) {
    return fail(fault(name, first->number, 0, "the trace has no request")
                    .hint(trace->failed > 0 ? "every row is of a request that failed"
                                            : "a header alone is not enough"));
  }
  return trace;
}

void spread_ticks(Trace& trace) {
  std::vector<TraceRow>& rows = trace.rows;
  double tick = 0;  // the last gap, for the rows at the end
  for (size_t i = 0; i < rows.size();) {
    size_t j = i;
    while (j < rows.size() && rows[j].arrival == rows[i].arrival) ++j;
    if (j < rows.size()) tick = rows[j].arrival - rows[i].arrival;
    const double start = rows[i].arrival;
    for (size_t k = i; k < j; ++k) {
      rows[k].arrival = start + tick * double(k - i) / double(j - i);
    }
    i = j;
  }
}

Trace resampled(const Trace& trace, double block_seconds, int64_t requests, Random& random) {
  Trace out;
  out.name = trace.name;
  out.format = trace.format;
  out.has_arrivals = trace.has_arrivals;
  // Equal pieces of at least that length; the last row closes the last one.
  const int64_t pieces = std::max<int64_t>(1, int64_t(trace.span() / block_seconds));
  const double length = trace.span() / double(pieces);
  std::vector<size_t> begins(size_t(pieces) + 1, trace.rows.size());
  begins[0] = 0;
  for (size_t row = 0, piece = 1; piece < size_t(pieces); ++piece) {
    while (row < trace.rows.size() && trace.rows[row].arrival < length * double(piece)) ++row;
    begins[piece] = row;
  }
  int32_t sessions = 0, prefixes = 0, links = 0;
  for (const TraceRow& row : trace.rows) {
    sessions = std::max(sessions, row.session + 1);
    prefixes = std::max(prefixes, row.prefix + 1);
  }
  for (const int32_t id : trace.chains) links = std::max(links, id + 1);
  out.chains = trace.chains;
  // The k-th copy of a piece counts its ids from k times their number on, while they last.
  const auto renamed = [](int32_t id, int32_t ids, int32_t copy) {
    const int64_t moved = id + int64_t{ids} * copy;
    return id < 0 || moved > kMostIds ? id : int32_t(moved);
  };
  std::vector<int32_t> copies(size_t(pieces), 0);
  double start = 0;
  // Pieces may be empty: not more of them than would hold it all several times over.
  for (int64_t drawn = 0; int64_t(out.rows.size()) < requests && drawn < kMostPieces; ++drawn) {
    const size_t piece = size_t(random.below(uint64_t(pieces)));
    const int32_t copy = copies[piece]++;
    const double shift = start - length * double(piece);
    for (size_t i = begins[piece]; i < begins[piece + 1]; ++i) {
      if (int64_t(out.rows.size()) >= requests) break;
      TraceRow row = trace.rows[i];
      row.arrival = std::max(start, row.arrival + shift);
      row.session = renamed(row.session, sessions, copy);
      row.prefix = renamed(row.prefix, prefixes, copy);
      if (copy > 0 && row.chain_length > 0 &&
          int64_t(out.chains.size()) + row.chain_length <= kMostIds) {
        const int32_t begin = int32_t(out.chains.size());
        for (int32_t k = 0; k < row.chain_length; ++k) {
          out.chains.push_back(renamed(trace.chains[size_t(row.chain_begin + k)], links, copy));
        }
        row.chain_begin = begin;
      }
      out.rows.push_back(row);
    }
    start += length;
  }
  return out;
}

}  // namespace vramwise::workload
