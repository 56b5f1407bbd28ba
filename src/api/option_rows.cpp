#include "api/option_rows.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/sort.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/launch/option_table.h"

namespace vramwise::api {
namespace {

using engines::launch::Option;
using engines::launch::OptionTable;
using json::Value;

constexpr std::string_view kEnv = "env:";

// The engine's id in the option tables: "llama.cpp" -> "llamacpp".
std::string table_id(std::string_view engine) {
  std::string id(engine);
  id.erase(std::remove(id.begin(), id.end(), '.'), id.end());
  return id;
}

bool listed(const Value& names, std::string_view key, std::string_view name) {
  const Value* list = names.find(key);
  if (list == nullptr || !list->is_string()) return false;
  const auto words = split(list->as_string(), ' ');
  return std::find(words.begin(), words.end(), name) != words.end();
}

struct Rows {
  const OptionTable* table;
  const Value& names;
  Value list = Value::array();

  Value& add(std::string_view name, const Value& value, std::string_view from, bool given) {
    Value row = Value::object();
    const bool variable = starts_with(name, kEnv);
    const Option* option = table != nullptr ? table->by_name(name) : nullptr;
    row.set("name", name);
    if (variable) {
      row.set("flag", std::string(name.substr(kEnv.size())));
    } else if (option != nullptr && !OptionTable::best_spelling(*option).empty()) {
      row.set("flag", OptionTable::best_spelling(*option));
    }
    row.set("value", value);
    row.set("from", from);
    row.set("given", given);
    if (option != nullptr && !option->memory.empty()) {
      row.set("moves", option->memory);
      if (listed(names, "uncounted", name)) row.set("counted", false);
    }
    list.push(std::move(row));
    return list.as_array().back();
  }
};

int rank(const Value& row) {
  const bool moves = row.find("moves") != nullptr;
  const bool given = row.find("given")->as_boolean();
  return moves ? (given ? 0 : 1) : 2;
}

void sort_rows(Value& rows) {
  sort_stable(rows.as_array(), [](const Value& a, const Value& b) { return rank(a) < rank(b); });
}

}  // namespace

Result<Value> option_rows(const plan::Plan& plan) {
  const engines::Settings& settings = plan.resolved.settings;
  const engines::Assessment& a = plan.assessment;
  const std::string id = table_id(plan.resolved.engine->name());
  engines::launch::OptionTables tables;
  Value none = Value::object();
  std::shared_ptr<const Value> names;
  // A plain program ("transformers") has no table of options.
  if (catalog::contains(catalog::Kind::options, id + "/names")) {
    TRY_ASSIGN(names, catalog::find_shared(catalog::Kind::options, id + "/names"));
  }
  Rows rows{names ? tables.get(id) : nullptr, names ? *names : none};
  const std::string_view program = plan.resolved.engine->program_option();
  const auto set_by_variable = [&](std::string_view name) {
    const Option* option = rows.table != nullptr ? rows.table->by_name(name) : nullptr;
    return option != nullptr &&
           std::any_of(option->env.begin(), option->env.end(),
                       [&](const std::string& v) { return settings.env.count(v) > 0; });
  };
  for (const json::Member& given : settings.options.entries()) {
    if (!program.empty() && given.key == program) continue;
    const Value* taken = a.effective.find(given.key);
    const bool other = taken != nullptr && !(*taken == given.value);
    Value& row = rows.add(given.key, other ? *taken : given.value,
                          set_by_variable(given.key) ? "environment" : "request", true);
    if (other) row.set("asked", given.value);
  }
  for (const auto& [variable, value] : settings.env) {
    bool off = false;
    const Option* option = rows.table != nullptr ? rows.table->by_env(variable, off) : nullptr;
    if (option != nullptr && settings.options.has(option->name)) continue;
    rows.add(std::string(kEnv) + variable, Value(value), "environment", true);
  }
  for (const json::Member& taken : a.effective.entries()) {
    if (settings.options.has(taken.key)) continue;
    const auto decider = a.deciders.find(taken.key);
    rows.add(taken.key, taken.value, decider == a.deciders.end() ? "default" : decider->second,
             false);
  }
  sort_rows(rows.list);
  return std::move(rows.list);
}

void mark_line_options(Value& rows, const engines::launch::Reading& reading) {
  for (Value& row : rows.as_array()) {
    if (row.find("from")->as_string() != "request") continue;
    const std::string& name = row.find("name")->as_string();
    if (reading.options.has(name) || reading.kept.has(name)) row.set("from", "line");
  }
  const auto shown = [&](std::string_view name) {
    return std::any_of(rows.as_array().begin(), rows.as_array().end(),
                       [&](const Value& row) { return row.find("name")->as_string() == name; });
  };
  const auto add = [&](std::string_view name, const Value& value) -> Value& {
    Value row = Value::object();
    row.set("name", name);
    row.set("value", value);
    row.set("from", "line");
    row.set("given", true);
    rows.push(std::move(row));
    return rows.as_array().back();
  };
  for (const std::string& name : reading.ignored) {
    if (!shown(name)) add(name, Value());
  }
  for (const engines::launch::UnknownOption& option : reading.unknown) {
    Value& row = add(option.token, Value(option.value));
    row.set("unknown", true);
    if (!option.nearest.empty()) row.set("nearest", option.nearest);
  }
}

}  // namespace vramwise::api
