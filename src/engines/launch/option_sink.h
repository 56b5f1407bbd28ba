// Where the readers of all engines put what they found: typed values, known and unknown names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/invocation.h"

namespace vramwise::engines::launch {

enum class SizeRule { vllm, sglang, decimal, plain };

class OptionSink {
 public:
  OptionSink(Context& context, const OptionTable& table, std::string_view version, Reading& out)
      : context_(context), table_(table), version_(version), out_(out) {}

  SizeRule size_rule = SizeRule::plain;
  bool none_is_unset = false;  // "" and "None" mean that the option is not given (vLLM)
  std::string_view family;     // subcommand whose own options count

  // A value as text becomes a value of the option's type; nullopt after an error was noted.
  std::optional<json::Value> convert(const Option& option, const Word& word,
                                     std::string_view spelling);
  // Stores a converted value: model, options, ignored or removed, by what the table says.
  void store(const Option& option, json::Value value, std::string_view spelling);
  // The same for the option's words, converting them.
  void store_words(const Option& option, const std::vector<Word>& words, std::string_view spelling);
  // A bare flag.
  void store_flag(const Option& option, bool on, std::string_view spelling);
  // A keyword of Python, a key of YAML or of a log line.
  void store_named(std::string_view name, json::Value value, bool hole);

  void unknown(std::string_view token, std::string_view value);
  // Notes the removal of an option; true when it is gone in the version meant.
  bool removed(const Option& option, std::string_view spelling);
  // A second value for an option: the last one counts. Words of a file are no first value.
  void seen(const Option& option, std::string_view spelling);
  bool names_from_file = false;

  const OptionTable& table() const { return table_; }
  Reading& out() { return out_; }
  Context& context() { return context_; }
  std::string_view version() const { return version_; }

 private:
  std::optional<json::Value> convert_text(const Option& option, const std::string& text,
                                          OptionType type, std::string_view spelling);
  std::optional<json::Value> convert_json(const Option& option, const Word& word,
                                          std::string_view spelling);

  Context& context_;
  const OptionTable& table_;
  std::string_view version_;
  Reading& out_;
  std::vector<const Option*> seen_;
};

}  // namespace vramwise::engines::launch
