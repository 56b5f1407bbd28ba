#include "engines/launch/option_sink.h"

#include <algorithm>

#include "base/text.h"
#include "engines/launch/literal.h"
#include "json/parse.h"

namespace vramwise::engines::launch {
namespace {

constexpr size_t kMaxUnknown = 1000;

std::string shown(std::string_view text) {
  return text.size() > 60 ? std::string(text.substr(0, 57)) + "..." : std::string(text);
}

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

bool contains_word(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Names under which tables keep the model.
bool is_model_name(const Option& option) {
  return option.name == "model" || option.name == "model_path" || option.name == "model_tag" ||
         ends_with(option.name, ".model") || ends_with(option.name, ".model_id") ||
         ends_with(option.name, ".model_path") || ends_with(option.name, ".model_param") ||
         option.name == "lmstudio.load.path";
}

// vLLM takes bare sizes inside the JSON of its own configuration classes, not in free-form objects.
bool is_free_form(const Option& option) {
  for (const std::string_view name :
       {"speculative_config", "hf_overrides", "additional_config", "override_generation_config"}) {
    if (option.name == name) return true;
  }
  return false;
}

}  // namespace

std::optional<json::Value> OptionSink::convert_json(const Option& option, const Word& word,
                                                    std::string_view spelling) {
  const std::string& text = word.text;
  if (auto strict =
          json::parse(text, spelling, {.bytes = 1 << 20, .values = 20'000, .depth = 64})) {
    return std::move(*strict);
  }
  if (word.lost_quotes) {
    out_.error("json_lost_quotes",
               std::string(spelling) +
                   ": the shell takes the quotes of this JSON away; put single quotes around it");
    if (auto meant = read_whole_literal(text, {.bare = true, .suffixes = true}))
      return std::move(meant->value);
    return std::nullopt;
  }
  if (size_rule == SizeRule::vllm && !is_free_form(option)) {
    if (auto sized = read_whole_literal(text, {.suffixes = true})) return std::move(sized->value);
  }
  const char first = text.empty() ? '\0' : text[0];
  if (first != '{' && first != '[') {
    // Some of these take a plain string as well ("-q" methods, paths).
    if (option.name == "pt_load_map_location" || option.name == "load_format")
      return json::Value(text);
  }
  // Python's quotes instead of JSON's: what is meant is clear, but the program refuses it.
  out_.error(contains(text, "\"") || first != '{' ? "json_invalid" : "json_lost_quotes",
             std::string(spelling) + " wants JSON, got " + quoted(text));
  if (auto meant = read_whole_literal(text, {.python = true, .bare = true, .suffixes = true})) {
    if (meant->value.is_object() || meant->value.is_array()) return std::move(meant->value);
  }
  return std::nullopt;
}

std::optional<json::Value> OptionSink::convert_text(const Option& option, const std::string& text,
                                                    OptionType type, std::string_view spelling) {
  const std::string name(spelling);
  if (contains_word(option.words, to_lower(text))) {
    if (size_rule == SizeRule::vllm && option.name == "max_model_len") return json::Value(-1);
    return json::Value(to_lower(text));
  }
  switch (type) {
    case OptionType::integer:
    case OptionType::optional_integer: {
      // Python's int() takes underscores between digits.
      const auto n = parse_integer(replace_all(std::string(trim(text)), "_", ""));
      if (!n) {
        out_.error("not_an_integer", name + " wants a whole number, got " + quoted(text));
        return std::nullopt;
      }
      if (!option.choices.empty() && !contains_word(option.choices, format_integer(*n))) {
        out_.error("bad_choice",
                   name + " takes " + join(option.choices, ", ") + "; got " + quoted(text));
        return std::nullopt;
      }
      return json::Value(*n);
    }
    case OptionType::size: {
      const auto n = size_rule == SizeRule::vllm      ? vllm_size(text)
                     : size_rule == SizeRule::sglang  ? sglang_size(text)
                     : size_rule == SizeRule::decimal ? decimal_size(text)
                                                      : parse_integer(text);
      if (!n) {
        const bool has_digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
        out_.error(
            has_digit ? "suffix_refused" : "not_an_integer",
            name + " cannot take " + quoted(text) +
                (size_rule == SizeRule::vllm
                     ? ": k m g are decimal and may have a fraction, K M G are binary and may not"
                 : size_rule == SizeRule::sglang
                     ? ": k M G T are decimal, Ki Mi Gi Ti binary, nothing else"
                     : ""));
        return std::nullopt;
      }
      return json::Value(*n);
    }
    case OptionType::real: {
      const auto d = parse_number(trim(text));
      if (!d) {
        out_.error("not_a_number", name + " wants a number, got " + quoted(text));
        return std::nullopt;
      }
      return json::Value(*d);
    }
    case OptionType::boolean_value:
    case OptionType::optional_boolean: {
      const std::string lower = to_lower(text);
      if (lower == "true" || lower == "1" || lower == "yes" || lower == "on")
        return json::Value(true);
      if (lower == "false" || lower == "0" || lower == "no" || lower == "off")
        return json::Value(false);
      out_.error("bad_choice", name + " takes true or false, got " + quoted(text));
      return std::nullopt;
    }
    default: break;
  }
  if (!option.choices.empty() && !contains_word(option.choices, text)) {
    out_.error("bad_choice",
               name + " takes " + join(option.choices, ", ") + "; got " + quoted(text));
    return std::nullopt;
  }
  return json::Value(text);
}

std::optional<json::Value> OptionSink::convert(const Option& option, const Word& word,
                                               std::string_view spelling) {
  if (none_is_unset && (word.text.empty() || word.text == "None")) return json::Value();
  switch (option.type) {
    case OptionType::json: return convert_json(option, word, spelling);
    case OptionType::duration:
    case OptionType::scalar:
      if (const auto n = parse_integer(word.text)) return json::Value(*n);
      return json::Value(word.text);
    case OptionType::comma_strings:
    case OptionType::comma_integers:
    case OptionType::comma_reals: {
      json::Value list = json::Value::array();
      const OptionType item = option.type == OptionType::comma_integers ? OptionType::integer
                              : option.type == OptionType::comma_reals  ? OptionType::real
                                                                        : OptionType::string;
      for (const std::string_view part : split(word.text, ',')) {
        auto value = convert_text(option, std::string(part), item, spelling);
        if (!value) return std::nullopt;
        list.push(std::move(*value));
      }
      return list;
    }
    case OptionType::integers:
      return convert_text(option, word.text, OptionType::integer, spelling);
    case OptionType::reals: return convert_text(option, word.text, OptionType::real, spelling);
    default: return convert_text(option, word.text, option.type, spelling);
  }
}

bool OptionSink::removed(const Option& option, std::string_view spelling) {
  if (!table_.is_removed(option, version_)) return false;
  if (!contains_word(out_.removed, option.name)) out_.removed.push_back(option.name);
  std::string text = std::string(spelling) + " was removed";
  if (option.until != "?") text += ": gone since " + option.until;
  if (!option.now.empty()) {
    const Option* today = table_.by_name(option.now);
    const std::string_view shown =
        today != nullptr ? OptionTable::best_spelling(*today) : std::string_view();
    text += "; today it is " + (shown.empty() ? option.now : std::string(shown));
  }
  out_.error("removed_option", std::move(text));
  return true;
}

void OptionSink::seen(const Option& option, std::string_view spelling) {
  if (std::find(seen_.begin(), seen_.end(), &option) != seen_.end()) {
    out_.warn("last_wins",
              std::string(spelling) + " is given more than once; the last value counts");
  } else if (!names_from_file) {
    seen_.push_back(&option);
  }
}

void OptionSink::store(const Option& option, json::Value value, std::string_view spelling) {
  if (removed(option, spelling)) return;
  if (is_model_name(option)) {
    if (value.is_string() && !value.as_string().empty()) out_.model = value.as_string();
    if (value.is_array() && !value.as_array().empty()) out_.model = value.as_array()[0].as_string();
    return;
  }
  if (option.memory.empty()) return out_.ignore(option.name, value);
  if (!value.is_null()) out_.set(option.name, std::move(value));
}

void OptionSink::store_words(const Option& option, const std::vector<Word>& words,
                             std::string_view spelling) {
  bool hole = false;
  for (const Word& w : words) hole = hole || w.hole;
  if (hole) {
    out_.warn("hole",
              std::string(spelling) + " has a value that is not in the text: " +
                  quoted(words.empty() ? std::string_view() : std::string_view(words[0].text)));
    const bool text = option.type == OptionType::string && !words[0].is_unknown();
    if (!text) {
      // Known, but not its value.
      if (!removed(option, spelling) && option.memory.empty()) out_.ignore(option.name);
      return;
    }
  }
  if (option.takes_several()) {
    json::Value list = json::Value::array();
    bool all = true;
    for (const Word& w : words) {
      if (w.lost_quotes) {
        out_.error(
            "json_lost_quotes",
            std::string(spelling) +
                ": the shell takes the quotes of this JSON away; put single quotes around it");
        all = false;
        continue;
      }
      auto value = convert(option, w, spelling);
      if (value) list.push(std::move(*value));
      all = all && value.has_value();
    }
    if (all) store(option, std::move(list), spelling);
    return;
  }
  if (words.empty()) return store(option, true, spelling);
  auto value = convert(option, words[0], spelling);
  if (!value) return;
  if (option.type == OptionType::append) {
    json::Value list = json::Value::array();
    if (const json::Value* old = out_.options.find(option.name); old != nullptr && old->is_array())
      list = *old;
    list.push(std::move(*value));
    value = std::move(list);
  }
  store(option, std::move(*value), spelling);
}

void OptionSink::store_flag(const Option& option, bool on, std::string_view spelling) {
  store(option, on, spelling);
}

void OptionSink::store_named(std::string_view name, json::Value value, bool hole) {
  const Option* option = table_.by_name(name);
  if (option == nullptr) {
    unknown(name, value.is_string() ? value.as_string() : value.is_null() ? "" : json::dump(value));
    return;
  }
  if (hole) {
    out_.warn("hole", std::string(name) + " has a value that is not in the text");
    if (value.is_null() || (value.is_object() && value.as_object().empty())) return;
  }
  if (value.is_string() && option->type == OptionType::size) {
    auto size = convert(*option, Word(value.as_string()), name);
    if (!size) return;
    value = std::move(*size);
  }
  if (value.is_null() && option->memory.empty()) return;
  store(*option, std::move(value), name);
}

void OptionSink::unknown(std::string_view token, std::string_view value) {
  if (out_.unknown.size() >= kMaxUnknown) return;
  UnknownOption u{std::string(token), std::string(value), {}};
  if (context_.suggestions_left > 0) {
    --context_.suggestions_left;
    const auto suggestion = context_.tables.suggest(table_.engine(), token, family);
    u.nearest = suggestion.spelling;
    if (table_.is_partial() && u.nearest.empty() && suggestion.other.empty() &&
        starts_with(token, "--")) {
      return out_.ignore(replace_all(std::string(token.substr(2)), "-", "_"));
    }
    if (!suggestion.other.empty()) {
      out_.error("other_engine",
                 std::string(shown(token)) + " is an option of " + std::string(suggestion.other) +
                     (u.nearest.empty() ? std::string() : "; here it is " + u.nearest));
    }
  }
  out_.unknown.push_back(std::move(u));
}

}  // namespace vramwise::engines::launch
