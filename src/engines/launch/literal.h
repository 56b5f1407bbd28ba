// Values written in a line: JSON as people type it, Python literals and calls, sizes with suffixes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::engines::launch {

struct LiteralRules {
  bool python = false;    // True, None, tuples, 'quotes', calls; unknown names are holes
  bool bare = false;      // {method: mtp} - quotes lost on the way
  bool suffixes = false;  // {"cpu_bytes_to_use": 80g} as vLLM reads it
};

struct Literal {
  json::Value value;
  bool has_hole = false;  // a name or call whose value is not in the text; the value has null there
  size_t end = 0;         // where in the text it ended
};

// Reads one value at the start of the text. Bounded in depth; never fails on valid JSON. nullopt
// when it is not a value under these rules.
std::optional<Literal> read_literal(std::string_view text, const LiteralRules& rules);
// The same, with nothing but blanks behind it.
std::optional<Literal> read_whole_literal(std::string_view text, const LiteralRules& rules);

struct Argument {
  std::string name;  // empty: positional
  json::Value value;
  bool hole = false;
};
// Arguments of a Python call; `text` begins behind the opening bracket.
struct Call {
  std::vector<Argument> arguments;
  size_t end = 0;  // behind the closing bracket
};
std::optional<Call> read_call(std::string_view text);

// A character as UTF-8.
void append_utf8(std::string& out, uint32_t code);

// vLLM's sizes: 32k = 32,000, 32K = 32,768; binary ones take no fraction. nullopt: not a size.
std::optional<int64_t> vllm_size(std::string_view text);
// SGLang's sizes: k M G T decimal, Ki Mi Gi Ti binary.
std::optional<int64_t> sglang_size(std::string_view text);
// mlx-lm's: M, MB, G, GB decimal.
std::optional<int64_t> decimal_size(std::string_view text);

}  // namespace vramwise::engines::launch
