#include "engines/launch/flag_line.h"

#include <optional>

#include "base/text.h"

namespace vramwise::engines::launch {

bool split_equals(const Word& word, std::string& token, Word& value) {
  const size_t equals = word.text.find('=');
  if (equals == std::string::npos) return false;
  token = word.text.substr(0, equals);
  value = word;
  value.text = word.text.substr(equals + 1);
  return true;
}

bool FlagLine::special(const std::vector<Word>&, size_t&) { return false; }
void FlagLine::took_list(const Option&, const std::vector<Word>&) {}

// As argparse decides: a dash in front, but neither a number nor a text with blanks.
bool FlagLine::looks_like_option(const Word& word) const {
  const std::string& t = word.text;
  if (t.size() < 2 || t[0] != '-') return false;
  if (t[1] == '.' || (t[1] >= '0' && t[1] <= '9')) return !parse_number(t);
  const size_t blank = t.find(' ');
  return blank == std::string::npos || t.find('=') < blank;
}

std::string FlagLine::normalised(std::string_view token) const {
  if (!style_.folds_underscores || !starts_with(token, "--")) return std::string(token);
  const size_t end = std::min(token.find_first_of(".="), token.size());
  std::string head = "--" + replace_all(std::string(token.substr(2, end - 2)), "_", "-");
  return head + std::string(token.substr(end));
}

const Word* FlagLine::value_at(const std::vector<Word>& args, size_t i) const {
  return i < args.size() && !looks_like_option(args[i]) ? &args[i] : nullptr;
}

void FlagLine::take(const Match& match, const std::string& token, const Word* attached,
                    const std::vector<Word>& args, size_t& i) {
  const Option& option = *match.option;
  ++i;
  sink_.seen(option, token);
  if (option.is_bare()) {
    if (attached != nullptr) {
      sink_.out().error("flag_takes_no_value",
                        token + " takes no value, got '" + attached->text + "'");
    }
    return sink_.store_flag(option, !match.negative, token);
  }
  if (attached != nullptr) return sink_.store_words(option, {*attached}, token);
  if (option.takes_several()) {
    std::vector<Word> words;
    while (const Word* w = value_at(args, i)) {
      words.push_back(*w);
      ++i;
    }
    if (words.empty()) {
      sink_.out().error("missing_value", token + " wants at least one value");
      return;
    }
    took_list(option, words);
    return sink_.store_words(option, words, token);
  }
  const Word* value = value_at(args, i);
  const bool may_be_bare = option.type == OptionType::optional_integer ||
                           option.type == OptionType::optional_string ||
                           option.type == OptionType::optional_boolean;
  if (value == nullptr ||
      (may_be_bare && option.type == OptionType::optional_integer && !parse_integer(value->text))) {
    if (may_be_bare) return sink_.store(option, true, token);
    // Removed options whose kind is no longer known may have been bare.
    if (!option.until.empty() && option.type == OptionType::string) {
      return sink_.store_flag(option, true, token);
    }
    sink_.out().error("missing_value", token + " wants a value");
    return;
  }
  ++i;
  sink_.store_words(option, {*value}, token);
}

namespace {

// Where harmless options are left out of the table, their names tell which of them are bare.
bool reads_like_a_flag(std::string_view token) {
  for (const std::string_view head : {"--enable-", "--disable-", "--no-", "--trust-", "--skip-",
                                      "--use-", "--log-requests", "--headless", "--jinja"}) {
    if (starts_with(token, head)) return true;
  }
  return false;
}

}  // namespace

void FlagLine::not_known(const std::string& token, const Word* attached,
                         const std::vector<Word>& args, size_t& i) {
  ++i;
  std::string value;
  if (attached != nullptr) {
    value = attached->text;
  } else if (const Word* next = value_at(args, i);
             next != nullptr && !(sink_.table().is_partial() && reads_like_a_flag(token))) {
    value = next->text;
    ++i;
  }
  // "-" and "_" mixed up where the program keeps them apart.
  const bool dashes = contains(token.size() > 2 ? token.substr(2) : "", "-");
  const std::string other = dashes ? "--" + replace_all(token.substr(2), "-", "_")
                            : starts_with(token, "--")
                                ? "--" + replace_all(token.substr(2), "_", "-")
                                : token;
  if (other != token && sink_.table().exact(other, sink_.family)) {
    sink_.out().error(dashes ? "dash_refused" : "underscore_refused",
                      token + " is not an option, " + other + " is");
  }
  sink_.unknown(token, value);
}

void FlagLine::option(const std::vector<Word>& args, size_t& i) {
  const Word& word = args[i];
  std::string token = word.text;
  Word attached;
  bool has_value = false;
  const auto find = [&](const std::string& t) {
    return sink_.table().exact(normalised(t), sink_.family, style_.only_family);
  };
  std::optional<Match> match = find(token);
  if (!match && split_equals(word, token, attached)) {
    has_value = true;
    match = find(token);
  }
  if (!match && style_.prefixes && token.size() > 2) {
    const auto candidates = sink_.table().beginning_with(normalised(token), sink_.family);
    if (candidates.size() == 1) {
      match = candidates[0];
    } else if (candidates.size() > 1) {
      std::string names;
      for (size_t c = 0; c < candidates.size() && c < 6; ++c) {
        names += (c > 0 ? ", " : "") + std::string(candidates[c].spelling);
      }
      sink_.out().error("ambiguous_prefix", token + " could be " + names);
      ++i;
      if (!has_value && value_at(args, i) != nullptr) ++i;
      return;
    }
  }
  // -qawq: a short name of one letter with its value glued on.
  if (!match && !has_value && token.size() > 2 && token[0] == '-' && token[1] != '-') {
    if (auto glued = find(token.substr(0, 2));
        glued && !glued->option->is_bare() &&
        (glued->option->type != OptionType::integer || parse_integer(token.substr(2)))) {
      attached = word;
      attached.text = token.substr(2);
      token = token.substr(0, 2);
      has_value = true;
      match = glued;
    }
  }
  if (!match) return not_known(token, has_value ? &attached : nullptr, args, i);
  take(*match, token, has_value ? &attached : nullptr, args, i);
}

void FlagLine::walk(const std::vector<Word>& args) {
  for (size_t i = 0; i < args.size();) {
    if (special(args, i)) continue;
    const Word& word = args[i];
    if (word.text == "--") {
      ++i;
      continue;
    }
    if (looks_like_option(word)) {
      option(args, i);
      continue;
    }
    // One list item that holds an option and its value: "--kv-cache-dtype fp8".
    const size_t blank = word.text.find(' ');
    if (starts_with(word.text, "--") && blank != std::string::npos &&
        sink_.table().exact(normalised(word.text.substr(0, blank)), sink_.family)) {
      sink_.out().error("one_word_with_blank",
                        "'" + word.text + "' is one argument with a blank in it; write two");
      ++i;
      continue;
    }
    ++i;
    positional(word);
  }
}

}  // namespace vramwise::engines::launch
