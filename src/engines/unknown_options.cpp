#include "engines/unknown_options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/launch/option_table.h"
#include "json/value.h"

namespace vramwise::engines {
namespace {

// Is it one of the words of a list parted by single blanks?
bool has_word(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

std::string_view head_of(std::string_view name) { return name.substr(0, name.find('.')); }

// A name of its own, or a key below a known one.
bool is_known(std::string_view known, std::string_view name) {
  return has_word(known, name) || has_word(known, head_of(name));
}

// A value that leaves the program at what it does anyway.
bool changes_nothing(const json::Value& value) {
  if (value.is_boolean()) return !value.as_boolean();
  if (value.is_number()) return value.as_double() == 0;
  if (!value.is_string()) return false;
  constexpr std::array<std::string_view, 5> kNothing = {"", "auto", "none", "default", "false"};
  const std::string word = to_lower(value.as_string());
  return std::find(kNothing.begin(), kNothing.end(), word) != kNothing.end();
}

}  // namespace

Result<void> warn_of_options(const Options& options, std::string_view engine, std::string_view name,
                             Notes& notes) {
  if (options.entries().empty()) return {};
  TRY_ASSIGN(const std::shared_ptr<const json::Value> names,
             catalog::find_shared(catalog::Kind::options, std::string(engine) + "/names"));
  const json::Value* known = names->find("known");
  const json::Value* uncounted = names->find("uncounted");
  if (known == nullptr || uncounted == nullptr) {
    return fail(ErrorCode::internal, "the option names of " + std::string(name) + " are missing");
  }
  std::vector<std::string> left_out;
  for (const json::Member& member : options.entries()) {
    const std::string_view head = head_of(member.key);
    if (!is_known(known->as_string(), member.key)) {
      std::string text = std::string(name) + " has no option '" + member.key + "'; it is ignored";
      const auto near = nearest_names(member.key, split(known->as_string(), ' '), 1);
      if (!near.empty()) text += "; a similar option exists: " + near.front();
      notes.warn("unknown_option", std::move(text));
      continue;
    }
    // A name of its own decides; what stands below a name follows that one.
    const bool own = has_word(known->as_string(), member.key);
    if (has_word(uncounted->as_string(), own ? std::string_view(member.key) : head) &&
        !changes_nothing(member.value)) {
      left_out.push_back(member.key);
    }
  }
  if (!left_out.empty()) {
    notes.warn("uncounted_option", "can move memory, and no number here follows " +
                                       std::string(left_out.size() == 1 ? "it" : "them") + ": " +
                                       join(left_out, ", "));
  }
  return {};
}

void warn_of_variables(const std::map<std::string, std::string>& env, std::string_view engine,
                       std::string_view name, Notes& notes) {
  launch::OptionTables tables;
  for (const auto& [variable, value] : env) {
    const auto near = tables.unknown_variable(engine, variable);
    if (!near) continue;
    std::string text =
        std::string(name) + " has no variable '" + variable + "' that is known here; it is ignored";
    if (!near->empty()) text += "; a similar variable exists: " + *near;
    notes.warn("unknown_variable", std::move(text));
  }
}

Options known_options(const Options& options, std::string_view engine) {
  const auto names = catalog::find_shared(catalog::Kind::options, std::string(engine) + "/names");
  const json::Value* known = names ? (*names)->find("known") : nullptr;
  if (known == nullptr) return options;
  Options kept;
  for (const json::Member& member : options.entries()) {
    if (is_known(known->as_string(), member.key)) kept.set(member.key, member.value);
  }
  return kept;
}

}  // namespace vramwise::engines
