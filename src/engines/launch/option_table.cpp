#include "engines/launch/option_table.h"

#include <algorithm>
#include <array>

#include "base/sort.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/options.h"

namespace vramwise::engines::launch {
namespace {

struct TypeName {
  std::string_view name;
  OptionType type;
};
constexpr std::array<TypeName, 20> kTypes = {{{"flag", OptionType::flag},
                                              {"bool", OptionType::boolean},
                                              {"int", OptionType::integer},
                                              {"size", OptionType::size},
                                              {"float", OptionType::real},
                                              {"str", OptionType::string},
                                              {"json", OptionType::json},
                                              {"ints", OptionType::integers},
                                              {"floats", OptionType::reals},
                                              {"strs", OptionType::strings},
                                              {"commas", OptionType::comma_strings},
                                              {"comma_ints", OptionType::comma_integers},
                                              {"comma_floats", OptionType::comma_reals},
                                              {"append", OptionType::append},
                                              {"opt_int", OptionType::optional_integer},
                                              {"opt_str", OptionType::optional_string},
                                              {"opt_bool", OptionType::optional_boolean},
                                              {"bool_value", OptionType::boolean_value},
                                              {"duration", OptionType::duration},
                                              {"scalar", OptionType::scalar}}};

std::string text_member(const json::Value& row, std::string_view key) {
  const json::Value* value = row.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

std::vector<std::string> list_member(const json::Value& row, std::string_view key) {
  std::vector<std::string> list;
  const json::Value* value = row.find(key);
  if (value == nullptr || !value->is_array()) return list;
  for (const json::Value& item : value->as_array()) {
    if (item.is_string()) list.push_back(item.as_string());
  }
  return list;
}

bool flag_member(const json::Value& row, std::string_view key) {
  const json::Value* value = row.find(key);
  return value != nullptr && value->is_boolean() && value->as_boolean();
}

std::string natural_spelling(std::string_view name, bool dashes) {
  if (starts_with(name, "bench.")) name.remove_prefix(6);
  std::string spelling = "--" + std::string(name);
  return dashes ? replace_all(std::move(spelling), "_", "-") : spelling;
}

Result<Option> read_row(const json::Value& row, const std::string& prefix, bool dashes) {
  Option option;
  const std::string name = text_member(row, "name");
  if (name.empty()) return fail(ErrorCode::inconsistent, "an option without a name");
  option.flags = {natural_spelling(name, dashes)};
  option.name = prefix + name;
  if (row.find("flags") != nullptr) option.flags = list_member(row, "flags");
  option.no = list_member(row, "no");
  option.old = list_member(row, "old");
  option.env = list_member(row, "env");
  option.env_no = list_member(row, "env_no");
  option.choices = list_member(row, "choices");
  option.words = list_member(row, "words");
  option.memory = text_member(row, "memory");
  option.until = text_member(row, "until");
  option.now = text_member(row, "now");
  option.like = text_member(row, "like");
  option.positional = flag_member(row, "positional");
  option.fork = flag_member(row, "fork");
  const std::string type = text_member(row, "type");
  for (const TypeName& t : kTypes) {
    if (t.name == type) option.type = t.type;
  }
  if (option.type == OptionType::boolean) {
    option.no.push_back("--no-" + natural_spelling(name, dashes).substr(2));
  }
  return option;
}

// Spellings compare without regard to - and _ and letter case where somebody mistyped one.
std::string loose(std::string_view spelling) { return replace_all(to_lower(spelling), "_", "-"); }

int compare_versions(const Version& a, const Version& b) {
  const std::array<int, 4> x = {a.major, a.minor, a.patch, a.build};
  const std::array<int, 4> y = {b.major, b.minor, b.patch, b.build};
  return x < y ? -1 : x == y ? 0 : 1;
}

// The nearest spelling seen so far; only nearer ones replace it.
struct Near {
  int limit = 0;
  int distance = 1000;
  std::string spelling;

  // `translate_to`: another engine's options count only where that table has the same idea.
  void look_at(const OptionTable& table, const std::string& wanted, std::string_view family,
               const OptionTable* translate_to) {
    for (const OptionTable::Spelling& s : table.spellings()) {
      const int cap = std::min(limit, distance - 1);
      if (cap < 0) return;
      const int d = edit_distance(wanted, s.loose, cap);
      if (d > cap) continue;
      const Option& option = table.options()[s.option];
      if (!option.until.empty() || option.fork) continue;
      if (!option.family().empty() && option.family() != family) continue;
      const Option* twin = translate_to != nullptr ? translate_to->by_idea(option.like) : nullptr;
      if (translate_to != nullptr && twin == nullptr) continue;
      distance = d;
      spelling = twin != nullptr ? std::string(OptionTable::best_spelling(*twin)) : s.text;
    }
  }
};

}  // namespace

std::string_view Option::family() const {
  // lmstudio.load.gpu belongs to `lms load`; kv_cache_config.dtype is a key of an object.
  constexpr std::array<std::string_view, 9> kFamilies = {
      "bench",  "disaggregated", "mm_embedding_serve", "autodeploy", "yaml", "load", "server",
      "config", "unload"};
  std::string_view rest = name;
  if (starts_with(rest, "lmstudio.")) rest.remove_prefix(9);
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return {};
  for (const std::string_view f : kFamilies) {
    if (rest.substr(0, dot) == f) return rest.substr(0, dot);
  }
  return {};
}

Result<OptionTable> OptionTable::from_json(std::string_view engine, const json::Value& file) {
  const json::Value* rows = file.find("options");
  if (rows == nullptr || !rows->is_array()) {
    return fail(ErrorCode::inconsistent, "an option table without options");
  }
  OptionTable table;
  table.engine_ = std::string(engine);
  table.partial_ = flag_member(file, "partial");
  const std::string prefix = text_member(file, "prefix");
  const bool dashes = text_member(file, "words") != "underscore";
  table.options_.reserve(rows->as_array().size());
  for (const json::Value& row : rows->as_array()) {
    TRY_ASSIGN(Option option, read_row(row, prefix, dashes));
    table.options_.push_back(std::move(option));
  }
  if (const json::Value* releases = file.find("releases");
      releases != nullptr && releases->is_array()) {
    for (const json::Value& pair : releases->as_array()) {
      if (pair.is_array() && pair.as_array().size() == 2) {
        table.releases_.emplace_back(pair.as_array()[0].as_string(),
                                     pair.as_array()[1].as_string());
      }
    }
  }
  table.index();
  return table;
}

void OptionTable::index() {
  for (size_t i = 0; i < options_.size(); ++i) {
    if (starts_with(options_[i].name, "env:")) continue;  // a variable has no flag
    for (const std::string& s : options_[i].flags)
      spellings_.push_back({s, loose(s), i, false, false});
    for (const std::string& s : options_[i].no) spellings_.push_back({s, loose(s), i, true, false});
    for (const std::string& s : options_[i].old)
      spellings_.push_back({s, loose(s), i, false, true});
  }
  sort_stable(spellings_, [](const Spelling& a, const Spelling& b) {
    return a.text != b.text ? a.text < b.text : a.option < b.option;
  });
}

const Option* OptionTable::by_name(std::string_view name) const {
  for (const Option& option : options_) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

const Option* OptionTable::by_env(std::string_view variable, bool& off) const {
  off = false;
  for (const Option& option : options_) {
    for (const std::string& e : option.env) {
      if (e == variable) return &option;
    }
    for (const std::string& e : option.env_no) {
      if (e == variable) {
        off = true;
        return &option;
      }
    }
  }
  return nullptr;
}

std::optional<Match> OptionTable::exact(std::string_view spelling, std::string_view family,
                                        bool only_family) const {
  auto at = std::lower_bound(
      spellings_.begin(), spellings_.end(), spelling,
      [](const Spelling& s, std::string_view text) { return std::string_view(s.text) < text; });
  std::optional<Match> common, gone;
  for (; at != spellings_.end() && at->text == spelling; ++at) {
    const Option& option = options_[at->option];
    const Match match{&option, at->text, at->negative, at->deprecated};
    const std::string_view of = option.family();
    if (!family.empty() && of == family) return match;
    if (!of.empty() || only_family) continue;
    // A name that was removed and came back with another meaning: today's first.
    if (!option.until.empty() || option.fork) {
      if (!gone) gone = match;
    } else if (!common) {
      common = match;
    }
  }
  return common ? common : gone;
}

std::vector<Match> OptionTable::beginning_with(std::string_view prefix,
                                               std::string_view family) const {
  std::vector<Match> found;
  auto at = std::lower_bound(
      spellings_.begin(), spellings_.end(), prefix,
      [](const Spelling& s, std::string_view text) { return std::string_view(s.text) < text; });
  for (; at != spellings_.end() && starts_with(at->text, prefix); ++at) {
    const Option& option = options_[at->option];
    if (!option.until.empty() || option.fork) continue;
    if (!option.family().empty() && option.family() != family) continue;
    bool known = false;
    for (const Match& m : found) known = known || m.option == &option;
    if (!known) found.push_back({&option, at->text, at->negative, at->deprecated});
  }
  return found;
}

const Option* OptionTable::by_idea(std::string_view like) const {
  if (like.empty()) return nullptr;
  for (const Option& option : options_) {
    if (option.like == like) return &option;
  }
  return nullptr;
}

std::string_view OptionTable::best_spelling(const Option& option) {
  for (const std::string& s : option.flags) {
    if (starts_with(s, "--")) return s;
  }
  if (!option.flags.empty()) return option.flags.front();
  return option.old.empty() ? std::string_view() : std::string_view(option.old.front());
}

bool OptionTable::is_removed(const Option& option, std::string_view version_text) const {
  if (option.until.empty()) return false;
  const auto version = Version::parse(version_text);
  if (version_text.empty() || !version) return true;
  const bool is_day = option.until.size() >= 4 && starts_with(option.until, "20");
  if (!is_day) {
    const auto until = Version::parse(option.until);
    return !until || compare_versions(*until, *version) <= 0;
  }
  std::string_view day;
  for (const auto& [release, released] : releases_) {
    const auto r = Version::parse(release);
    if (r && compare_versions(*r, *version) <= 0) day = released;
  }
  return releases_.empty() || day >= std::string_view(option.until);
}

OptionTables::OptionTables() = default;
OptionTables::~OptionTables() = default;

const OptionTable* OptionTables::get(std::string_view engine) {
  if (const auto at = tables_.find(engine); at != tables_.end()) return at->second.get();
  std::unique_ptr<OptionTable> table;
  if (auto entry = catalog::find_shared(catalog::Kind::options, engine)) {
    if (auto read = OptionTable::from_json(engine, **entry)) {
      table = std::make_unique<OptionTable>(std::move(*read));
    }
  }
  return tables_.emplace(std::string(engine), std::move(table)).first->second.get();
}

// Variables that are known and move no memory stand apart in the catalog, and are loaded for a name
// that is not among the others. A build that leaves them out does not know which names there are.
std::optional<std::string> OptionTables::unknown_variable(std::string_view engine,
                                                          const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
      {"vllm", "VLLM_"},     {"sglang", "SGLANG_"},      {"sglang", "SGL_"},
      {"ollama", "OLLAMA_"}, {"llamacpp", "LLAMA_ARG_"}, {"trtllm", "TRTLLM_"}};
  bool own = false;
  for (const auto& [program, prefix] : kPrefixes) {
    own = own || (engine == program && starts_with(name, prefix));
  }
  const OptionTable* table = own ? get(engine) : nullptr;
  bool off = false;
  if (table == nullptr || table->by_name("env:" + name) != nullptr ||
      table->by_env(name, off) != nullptr) {
    return std::nullopt;
  }
  const OptionTable* harmless = get(std::string(engine) + "/env");
  if (harmless == nullptr || harmless->by_name("env:" + name) != nullptr) return std::nullopt;
  std::vector<std::string_view> known;
  for (const OptionTable* names : {table, harmless}) {
    for (const Option& option : names->options()) {
      known.insert(known.end(), option.env.begin(), option.env.end());
      if (starts_with(option.name, "env:")) {
        known.push_back(std::string_view(option.name).substr(4));
      }
    }
  }
  const std::vector<std::string> near = nearest_names(name, known, 1);
  return near.empty() ? std::string() : near.front();
}

OptionTables::Suggestion OptionTables::suggest(std::string_view engine, std::string_view token,
                                               std::string_view family) {
  // Engines whose lines are mistaken for each other, the most common first.
  constexpr std::array<std::string_view, 7> kOthers = {"llamacpp", "vllm",      "sglang", "trtllm",
                                                       "lmdeploy", "koboldcpp", "tgi"};
  Suggestion suggestion;
  const OptionTable* own = get(engine);
  if (own == nullptr || token.size() > 100) return suggestion;
  const std::string wanted = loose(token);
  // Two or three letters are near to everything: short names are looked up, never guessed.
  const bool is_long = starts_with(wanted, "--") && wanted.size() >= 6;
  Near near;
  near.limit = is_long ? std::max(1, int(wanted.size() - 2) / 3) : 0;
  near.look_at(*own, wanted, family, nullptr);
  if (near.distance == 0) {  // only - and _ or letter case differ
    suggestion.spelling = near.spelling;
    return suggestion;
  }
  for (const std::string_view other : kOthers) {
    const OptionTable* table = other == engine ? nullptr : get(other);
    const auto match = table != nullptr ? table->exact(token) : std::nullopt;
    if (!match) continue;
    if (suggestion.other.empty()) suggestion.other = other;
    if (const Option* twin = own->by_idea(match->option->like)) {
      suggestion.spelling = OptionTable::best_spelling(*twin);
      return suggestion;
    }
  }
  // An own word that is nearly the same says more than that another engine has this one.
  if (!suggestion.other.empty() && near.distance <= 3) suggestion.spelling = near.spelling;
  if (!suggestion.other.empty() || !is_long) return suggestion;
  // A typo in another engine's word: "--context-lenght" means llama.cpp's --ctx-size.
  for (const std::string_view other : kOthers) {
    const OptionTable* table = other == engine ? nullptr : get(other);
    if (table != nullptr) near.look_at(*table, wanted, {}, own);
  }
  suggestion.spelling = near.spelling;
  return suggestion;
}

}  // namespace vramwise::engines::launch
