// An engine's options as given: canonical dotted names (first column of the engine's option table)
// to JSON values. Typed access with the place of a fault; unknown names are warnings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "json/value.h"

namespace vramwise::engines {

class Options {
 public:
  Options() = default;
  // Flattens nested objects ("compilation_config": {"mode": 3} -> "compilation_config.mode").
  // null values count as not given.
  static Options from_json(const json::Value& object);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const json::Value* find(std::string_view name) const;
  void set(std::string_view name, json::Value value);
  void erase(std::string_view name);
  const json::Object& entries() const { return entries_; }
  // Nested objects again, for answers.
  json::Value to_json() const;

  // Absent: nullopt. Wrong kind or out of range: error with where = "engine.options.<name>".
  // Numbers in strings ("32768") are accepted, as launch lines produce them.
  Result<std::optional<int64_t>> integer(std::string_view name, int64_t min, int64_t max) const;
  Result<std::optional<double>> number(std::string_view name, double min, double max) const;
  Result<std::optional<bool>> boolean(std::string_view name) const;  // also 0/1, "true"/"false"
  Result<std::optional<std::string>> string(std::string_view name) const;
  Result<std::optional<std::vector<double>>> numbers(std::string_view name) const;

 private:
  json::Object entries_;
};

// "0.15.2rc1", "1.2.0.post2", "b9200", "0.18": numbers that compare. Empty text = not given.
struct Version {
  std::string text;
  int major = 0, minor = 0, patch = 0;
  int build = 0;  // llama.cpp build number
  bool given = false;
  bool two_numbers = false;  // "0.18" stands for that line's latest
  // A build between releases whose number tells no line: vLLM calls its own 0.1.dev20051.
  bool unnumbered = false;

  static Result<Version> parse(std::string_view text);
  // (major, minor) >= (a, b)
  bool at_least(int a, int b) const { return major != a ? major > a : minor >= b; }
};

}  // namespace vramwise::engines
