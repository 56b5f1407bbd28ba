// The options of one engine, as data: catalog/options/<engine>.json.
//
// Members of a row and what their absence means:
//   name       canonical name; nested keys are dotted ("compilation_config.mode")
//   flags      spellings; absent: "--name" with blanks as the file's `words` says (dash,
//   underscore) no, old    spellings that switch off; deprecated spellings that still work env
//   variables that set it; env_no: variables whose presence switches it off type       flag (bare),
//   bool (flag with --no- twin), int, size (suffixes), float, str, json,
//              ints, floats, strs (several words), commas, comma_ints, comma_floats (one word),
//              append, opt_int, opt_str, opt_bool (value may be missing), bool_value, duration,
//              scalar (a number where it looks like one); str
//   choices    the only values; words: values besides numbers
//   memory     weights, kv, activations, runtime, limits, parallelism; absent: no effect on memory
//   until      day or release of its removal, "?" where unknown
//   now        what replaced it: an option's name, or a setting in words
//   ("attention_backend=triton") like       idea shared with other engines, so that their spelling
//   finds this option
// Effects, defaults and sources stand apart in catalog/options/<engine>__about.json: a build may
// leave them out.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::engines::launch {

enum class OptionType {
  flag,
  boolean,
  integer,
  size,
  real,
  string,
  json,
  integers,
  reals,
  strings,
  comma_strings,
  comma_integers,
  comma_reals,
  append,
  optional_integer,
  optional_string,
  optional_boolean,
  boolean_value,
  duration,
  scalar
};

struct Option {
  std::string name;
  std::vector<std::string> flags, no, old;
  std::vector<std::string> env, env_no;
  OptionType type = OptionType::string;
  std::vector<std::string> choices, words;
  std::string memory;  // empty: harmless
  std::string until;   // empty: still there
  std::string now;     // what replaced it, may be empty
  std::string like;
  bool positional = false;
  bool fork = false;  // only forks know it

  // Options of one subcommand only: "bench", "disaggregated", "load"; empty for the rest.
  std::string_view family() const;
  bool is_bare() const { return type == OptionType::flag || type == OptionType::boolean; }
  bool takes_several() const {
    return type == OptionType::integers || type == OptionType::reals || type == OptionType::strings;
  }
};

struct Match {
  const Option* option = nullptr;
  std::string_view spelling;
  bool negative = false;    // one of `no`
  bool deprecated = false;  // one of `old`
};

class OptionTable {
 public:
  struct Spelling {
    std::string text;
    std::string loose;  // lower case, dashes for underscores: how typos are compared
    size_t option;      // place in options()
    bool negative, deprecated;
  };

  static Result<OptionTable> from_json(std::string_view engine, const json::Value& file);

  std::string_view engine() const { return engine_; }
  const std::vector<Option>& options() const { return options_; }
  // Sorted by text, then by place of the option.
  const std::vector<Spelling>& spellings() const { return spellings_; }
  // Harmless options are left out (the page); an option it does not know is then most likely one.
  bool is_partial() const { return partial_; }

  const Option* by_name(std::string_view name) const;
  // The option that a variable sets; `off` tells that its presence switches off.
  const Option* by_env(std::string_view variable, bool& off) const;
  // Exact spelling. `family` first, then (unless `only_family`) the common options.
  std::optional<Match> exact(std::string_view spelling, std::string_view family = {},
                             bool only_family = false) const;
  // One entry an option: spellings of today that begin with `prefix`.
  std::vector<Match> beginning_with(std::string_view prefix, std::string_view family = {}) const;
  // The option that stands for an idea other engines have too.
  const Option* by_idea(std::string_view like) const;
  // Long spelling if there is one: what to show people.
  static std::string_view best_spelling(const Option& option);

  // Gone in the version meant: `until` is over by that version; an absent version is today's.
  bool is_removed(const Option& option, std::string_view version) const;

 private:
  void index();

  std::string engine_;
  bool partial_ = false;
  std::vector<Option> options_;
  std::vector<Spelling> spellings_;
  std::vector<std::pair<std::string, std::string>> releases_;  // version -> day
};

// Tables of one reading, loaded from the catalog when first asked for.
class OptionTables {
 public:
  OptionTables();
  ~OptionTables();
  OptionTables(const OptionTables&) = delete;
  OptionTables& operator=(const OptionTables&) = delete;

  // nullptr when the catalog has none (a bug of the build).
  const OptionTable* get(std::string_view engine);

  struct Suggestion {
    std::string spelling;    // of `engine`, may be empty
    std::string_view other;  // engine whose exact spelling the token is, may be empty
  };
  // A variable named like the engine's own ones ("VLLM_…") that is none of them, with the nearest
  // that is, maybe empty. nullopt: it is known, or another program's, or this build has not all
  // names.
  std::optional<std::string> unknown_variable(std::string_view engine, const std::string& name);
  // What was probably meant by a token that `engine` does not know.
  Suggestion suggest(std::string_view engine, std::string_view token, std::string_view family = {});

 private:
  std::map<std::string, std::unique_ptr<OptionTable>, std::less<>> tables_;
};

}  // namespace vramwise::engines::launch
