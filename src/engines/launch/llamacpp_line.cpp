// llama.cpp's command line, which has a parser of its own.
// Source: common/arg.cpp (common_params_parse_ex), tools/llama-bench/llama-bench.cpp.
#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/llamacpp_parts.h"
#include "engines/launch/option_sink.h"

namespace vramwise::engines::launch {
namespace {

constexpr size_t kMaxListed = 2000;

// Options whose repetition adds up instead of replacing.
bool adds_up(const Option& option) {
  for (const std::string_view name :
       {"override_tensor", "lora", "lora_scaled", "control_vector", "control_vector_scaled",
        "override_kv", "spec_type", "logit_bias", "spec_draft_override_tensor"}) {
    if (option.name == name) return true;
  }
  return starts_with(option.name, "bench.");
}

// stoi: leading blanks and digits count, whatever follows is dropped.
std::optional<int64_t> leading_integer(std::string_view text, size_t& used) {
  size_t i = 0;
  while (i < text.size() && (text[i] == ' ' || text[i] == '\t')) ++i;
  size_t end = i;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  const size_t digits = end;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  used = end;
  if (end == digits) return std::nullopt;
  const auto n = parse_integer(text.substr(i, end - i));
  if (!n || *n > 2147483647 || *n < -2147483648LL) return std::nullopt;
  return n;
}

std::optional<double> leading_number(std::string_view text, size_t& used) {
  for (used = text.size(); used > 0; --used) {
    if (const auto d = parse_number(text.substr(0, used))) return d;
    if (text.size() > 60) break;
  }
  return std::nullopt;
}

// What somebody who writes "32k" means, for the warning.
std::string probably(std::string_view text, int64_t n) {
  const std::string suffix = to_lower(text);
  if (suffix == "k") return ", probably meant " + format_integer(saturating_multiply(n, 1024));
  if (suffix == "m") return ", probably meant " + format_integer(saturating_multiply(n, 1 << 20));
  return {};
}

class LlamaLine {
 public:
  LlamaLine(OptionSink& sink, bool is_bench) : sink_(sink), is_bench_(is_bench) {}

  void walk(const std::vector<Word>& args) {
    for (size_t i = 0; i < args.size();) {
      const Word& word = args[i];
      std::string token = word.text;
      if (starts_with(token, "--")) token = replace_all(token, "_", "-");
      const auto match = find(token);
      ++i;
      if (match) {
        take(*match, word.text, args, i);
        continue;
      }
      if (token.size() < 2 || token[0] != '-') {
        // The last word of old programs was a prompt; today's refuse it.
        sink_.out().error("stray_word", "'" + token + "' belongs to no option");
        continue;
      }
      const size_t equals = token.find('=');
      if (equals != std::string::npos && find(token.substr(0, equals))) {
        sink_.out().error("equals_not_allowed", word.text + ": llama.cpp takes no '='; write " +
                                                    token.substr(0, equals) + " " +
                                                    token.substr(equals + 1));
        continue;
      }
      std::string value;
      if (i < args.size() && !looks_like_option(args[i].text)) value = args[i++].text;
      sink_.unknown(word.text, value);
    }
  }

  // One value from the command line, a variable or a preset.
  void value(const Option& option, const Word& word, std::string_view spelling) {
    if (word.hole) return sink_.store_words(option, {word}, spelling);
    auto converted = convert(option, word.text, spelling);
    if (!converted) return;
    if (adds_up(option)) {
      json::Value list = json::Value::array();
      if (const json::Value* old = sink_.out().options.find(option.name);
          old != nullptr && old->is_array()) {
        if (old->as_array().size() >= kMaxListed) return;  // adding up copies the list
        list = *old;
      }
      if (converted->is_array()) {
        for (const json::Value& item : converted->as_array()) list.push(item);
      } else {
        list.push(std::move(*converted));
      }
      converted = std::move(list);
    }
    sink_.store(option, std::move(*converted), spelling);
  }

 private:
  std::optional<Match> find(std::string_view token) const {
    return sink_.table().exact(token, is_bench_ ? "bench" : "", is_bench_);
  }

  static bool looks_like_option(std::string_view t) {
    return t.size() > 1 && t[0] == '-' && !(t[1] >= '0' && t[1] <= '9') && t[1] != '.';
  }

  void take(const Match& match, const std::string& spelling, const std::vector<Word>& args,
            size_t& i) {
    const Option& option = *match.option;
    if (option.fork)
      sink_.out().warn("fork_option",
                       spelling + " is an option of forks (ik_llama.cpp, KoboldCpp)");
    if (!adds_up(option)) sink_.seen(option, spelling);
    if (option.is_bare()) {
      llamacpp_name_model(option, sink_.out());
      return sink_.store_flag(option, !match.negative, spelling);
    }
    // The next word is the value, whatever it looks like.
    if (i >= args.size()) {
      if (option.fork) return sink_.store_flag(option, true, spelling);
      sink_.out().error("missing_value", spelling + " wants a value");
      return;
    }
    if ((option.fork || !option.until.empty()) && looks_like_option(args[i].text)) {
      return sink_.store_flag(option, true, spelling);
    }
    const size_t words =
        option.takes_several() ? 2 : 1;  // two values: --control-vector-layer-range
    value(option, args[i], spelling);
    i += std::min(words, args.size() - i);
  }

  std::optional<json::Value> integer(const Option& option, const std::string& text,
                                     std::string_view spelling) {
    size_t used = 0;
    const auto n = leading_integer(text, used);
    if (!n) {
      sink_.out().error("not_an_integer",
                        std::string(spelling) + " wants a whole number, got '" + text + "'");
      return std::nullopt;
    }
    if (used < text.size()) {
      const std::string_view rest = std::string_view(text).substr(used);
      sink_.out().warn("suffix_ignored", std::string(spelling) + " " + text + " is read as " +
                                             format_integer(*n) + probably(rest, *n));
    }
    if (!option.choices.empty()) {
      for (const std::string& c : option.choices) {
        if (c == format_integer(*n)) return json::Value(*n);
      }
      sink_.out().error("bad_choice",
                        std::string(spelling) + " takes " + join(option.choices, ", "));
      return std::nullopt;
    }
    return json::Value(*n);
  }

  std::optional<json::Value> one(const Option& option, const std::string& text, OptionType type,
                                 std::string_view spelling) {
    for (const std::string& w : option.words) {
      if (w == text) return json::Value(text);
    }
    if (type == OptionType::integer || type == OptionType::integers)
      return integer(option, text, spelling);
    if (type == OptionType::real) {
      size_t used = 0;
      const auto d = leading_number(text, used);
      if (!d) {
        sink_.out().error("not_a_number",
                          std::string(spelling) + " wants a number, got '" + text + "'");
        return std::nullopt;
      }
      return json::Value(*d);
    }
    if (!option.choices.empty()) {
      bool known = false;
      for (const std::string& c : option.choices) known = known || c == text;
      if (!known) {
        sink_.out().error("bad_choice", std::string(spelling) + " takes " +
                                            join(option.choices, ", ") + "; got '" + text + "'");
        return std::nullopt;
      }
    }
    if (ends_with(option.name, "flash_attn")) {
      // Source: common/arg.cpp, is_truthy and is_falsey.
      if (text == "1" || text == "true" || text == "enabled") return json::Value("on");
      if (text == "0" || text == "false" || text == "disabled") return json::Value("off");
      if (text == "-1") return json::Value("auto");
    }
    return json::Value(text);
  }

  // 0-99+33, 128-1024*2 and plain numbers of llama-bench.
  bool range(const std::string& text, json::Value& list) {
    const size_t dash = text.find('-', 1);
    if (dash == std::string::npos) return false;
    const size_t step = text.find_first_of("+*", dash);
    const auto from = parse_integer(std::string_view(text).substr(0, dash));
    const auto to = parse_integer(std::string_view(text).substr(
        dash + 1, step == std::string::npos ? step : step - dash - 1));
    const auto by = step == std::string::npos
                        ? std::optional<int64_t>(1)
                        : parse_integer(std::string_view(text).substr(step + 1));
    if (!from || !to || !by || *by < 1) return false;
    const bool multiplies = step != std::string::npos && text[step] == '*';
    for (int64_t n = *from; n <= *to && list.as_array().size() < 1000;) {
      list.push(n);
      const int64_t next = multiplies ? saturating_multiply(n, *by) : saturating_add(n, *by);
      if (next <= n) break;
      n = next;
    }
    return true;
  }

  std::optional<json::Value> convert(const Option& option, const std::string& text,
                                     std::string_view spelling) {
    const bool ints = option.type == OptionType::comma_integers;
    const bool reals = option.type == OptionType::comma_reals;
    if (!ints && !reals && option.type != OptionType::comma_strings && !is_bench_) {
      return one(option, text, option.type, spelling);
    }
    json::Value list = json::Value::array();
    const std::string parts = option.name == "tensor_split" || option.name == "fit_target"
                                  ? replace_all(text, "/", ",")
                                  : text;
    for (const std::string& part : comma_list(parts)) {
      if (ints && is_bench_ && range(part, list)) continue;
      auto item = one(option, part,
                      ints    ? OptionType::integer
                      : reals ? OptionType::real
                              : OptionType::string,
                      spelling);
      if (!item) return std::nullopt;
      // 3 and 3.0 are one number; whole ones are written without a point.
      list.push(std::move(*item));
    }
    return list;
  }

  // Comma list with the quotes of CSV: a,"b,c",d.
  static std::vector<std::string> comma_list(std::string_view text) {
    std::vector<std::string> parts(1);
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '"') {
        if (quoted && i + 1 < text.size() && text[i + 1] == '"')
          parts.back() += text[i++];
        else
          quoted = !quoted;
      } else if (c == ',' && !quoted) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    return parts;
  }

  OptionSink& sink_;
  bool is_bench_;
};

// Variables count first, the command line overrides them.
void read_variables(const WordEnv& env, OptionSink& sink, LlamaLine& line) {
  for (const auto& [name, value] : env) {
    bool off = false;
    const Option* option = sink.table().by_env(name, off);
    if (option == nullptr || name == "HF_TOKEN") continue;
    if (value.hole) {
      sink.store_words(*option, {value}, name);
    } else if (off) {
      sink.store_flag(*option, false, name);  // its presence is enough
    } else if (option->is_bare()) {
      const std::string v = to_lower(value.text);
      const bool yes = v == "on" || v == "enabled" || v == "true" || v == "1";
      const bool no = v == "off" || v == "disabled" || v == "false" || v == "0";
      // A flag without a twin ignores false words.
      if (yes || (no && !option->no.empty())) sink.store_flag(*option, yes, name);
    } else {
      line.value(*option, value, name);
    }
  }
}

}  // namespace

void llamacpp_value(OptionSink& sink, const Option& option, const Word& word,
                    std::string_view spelling) {
  LlamaLine(sink, false).value(option, word, spelling);
}

void read_llamacpp(const Invocation& call, const Program& program, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("llamacpp");
  if (table == nullptr) return;
  OptionSink sink(context, *table, call.version, out);
  const bool is_bench = program.subcommand == "bench";
  sink.family = program.subcommand;
  LlamaLine line(sink, is_bench);
  if (!is_bench) read_variables(call.env, sink, line);
  std::vector<Word> args(
      call.argv.begin() + ptrdiff_t(std::min(program.arguments, call.argv.size())),
      call.argv.end());
  line.walk(args);
  if (is_bench) {
    if (const json::Value* model = out.options.find("bench.model");
        model != nullptr && model->is_array()) {
      out.model = model->as_array()[0].as_string();
      if (model->as_array().size() == 1) out.options.erase("bench.model");
    }
  }
  llamacpp_choose_model(out);
}

}  // namespace vramwise::engines::launch
