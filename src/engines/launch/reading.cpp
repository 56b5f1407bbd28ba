#include "engines/launch/reading.h"

#include <array>

#include "base/text.h"

namespace vramwise::engines::launch {
namespace {

constexpr size_t kMaxFindings = 200;  // a paste of nothing but faults need not list them all
constexpr int kMaxFlattenDepth = 32;  // deeper objects stay whole

void add(std::vector<Finding>& list, std::string_view code, std::string text) {
  Finding finding{std::string(code), std::move(text)};
  for (const Finding& f : list) {
    if (f == finding) return;
  }
  if (list.size() < kMaxFindings) list.push_back(std::move(finding));
}

bool has(const std::vector<Finding>& list, std::string_view code) {
  for (const Finding& f : list) {
    if (f.code == code) return true;
  }
  return false;
}

void set_leaves(Options& options, const std::string& name, json::Value value, int depth) {
  if (!value.is_object() || value.as_object().empty() || depth > kMaxFlattenDepth) {
    options.set(name, std::move(value));
    return;
  }
  for (json::Member& member : value.as_object()) {
    set_leaves(options, name + "." + member.key, std::move(member.value), depth + 1);
  }
}

// Keys and passwords are for the server's eyes: a plan is shown, saved and shared.
bool is_secret(std::string_view option) {
  for (const std::string_view tail : {"api_key", "hf_token", "password"}) {
    if (ends_with(option, tail)) return true;
  }
  return false;
}

json::Value codes(const std::vector<Finding>& list) {
  json::Value out = json::Value::array();
  for (size_t i = 0; i < list.size(); ++i) {
    bool seen = false;
    for (size_t j = 0; j < i; ++j) seen = seen || list[j].code == list[i].code;
    if (!seen) out.push(list[i].code);
  }
  return out;
}

json::Value strings(const std::vector<std::string>& list) {
  json::Value out = json::Value::array();
  for (const std::string& s : list) out.push(s);
  return out;
}

json::Value options_json(const Options& options) {
  Options nested;
  json::Value flat = json::Value::object();
  for (const json::Member& member : options.entries()) {
    if (is_family_name(member.key)) {
      flat.set(member.key, member.value);
    } else {
      nested.set(member.key, member.value);
    }
  }
  json::Value out = nested.to_json();
  for (const json::Member& member : flat.as_object()) out.set(member.key, member.value);
  return out;
}

void write_rest(const Reading& reading, json::Value& out) {
  if (!reading.removed.empty()) out.set("removed", strings(reading.removed));
  if (!reading.unknown.empty()) {
    json::Value list = json::Value::array();
    for (const UnknownOption& u : reading.unknown) {
      json::Value row = json::Value::object();
      row.set("token", u.token);
      row.set("value", u.value);
      row.set("nearest", u.nearest);
      list.push(std::move(row));
    }
    out.set("unknown", std::move(list));
  }
  if (!reading.errors.empty()) out.set("errors", codes(reading.errors));
  if (!reading.warnings.empty()) out.set("warnings", codes(reading.warnings));
  if (!reading.files_not_seen.empty()) {
    out.set("files_not_seen", strings(reading.files_not_seen));
  }
  json::Value remarks = json::Value::array();
  for (const auto* list : {&reading.errors, &reading.warnings}) {
    for (const Finding& f : *list) {
      json::Value row = json::Value::object();
      row.set("code", f.code);
      row.set("text", f.text);
      remarks.push(std::move(row));
    }
  }
  if (!remarks.as_array().empty()) out.set("remarks", std::move(remarks));
}

void write_env(const Reading& reading, json::Value& out) {
  if (!reading.env.empty()) {
    json::Value env = json::Value::object();
    for (const auto& [name, value] : reading.env) env.set(name, value);
    out.set("env", std::move(env));
  }
  switch (reading.gpus.kind) {
    case Gpus::Kind::not_given: break;
    case Gpus::Kind::all: out.set("gpus", "all"); break;
    case Gpus::Kind::count: out.set("gpus", reading.gpus.count); break;
    case Gpus::Kind::list: {
      json::Value list = json::Value::array();
      for (const int64_t i : reading.gpus.indices) list.push(i);
      out.set("gpus", std::move(list));
      break;
    }
  }
  if (reading.processes > 0) out.set("processes", reading.processes);
}

// One of several: its model and options, and whatever else is not the same for all of them.
json::Value part_json(const Reading& part, const Reading& whole) {
  json::Value out = json::Value::object();
  if (!part.name.empty()) out.set("name", part.name);
  if (part.engine != whole.engine) out.set("engine", part.engine);
  if (part.entry != whole.entry) out.set("entry", part.entry);
  out.set("model", part.model);
  out.set("options", options_json(part.options));
  write_env(part, out);
  write_rest(part, out);
  return out;
}

}  // namespace

void Reading::error(std::string_view code, std::string text) { add(errors, code, std::move(text)); }
void Reading::warn(std::string_view code, std::string text) {
  add(warnings, code, std::move(text));
}

void Reading::file_not_seen(const std::string& path, std::string_view what, std::string_view why) {
  warn("file_not_seen",
       std::string(what) + " in " + path + " are not in the text" + std::string(why));
  if (files_not_seen.size() < kMaxFindings) files_not_seen.push_back(path);
}
bool Reading::has_error(std::string_view code) const { return has(errors, code); }
bool Reading::has_warning(std::string_view code) const { return has(warnings, code); }

void Reading::ignore(std::string_view option) {
  for (const std::string& s : ignored) {
    if (s == option) return;
  }
  ignored.emplace_back(option);
}

void Reading::ignore(std::string_view option, const json::Value& value) {
  ignore(option);
  const bool nested = value.is_object() || value.is_null();
  if (!nested && !is_secret(option) && !is_family_name(option)) {
    kept.set(option, value);
  }
}

void Reading::set(std::string_view option, json::Value value) {
  const std::string prefix = std::string(option) + ".";
  std::vector<std::string> old;
  for (const json::Member& member : options.entries()) {
    if (member.key == option || starts_with(member.key, prefix)) old.push_back(member.key);
  }
  // A plain value keeps its place; an object is written anew.
  for (const std::string& key : old) {
    if (key != option || value.is_object()) options.erase(key);
  }
  set_leaves(options, std::string(option), std::move(value), 0);
}

bool is_family_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> kFamilies = {
      "bench",         "koboldcpp",          "mlx_lm",    "tgi", "lmdeploy", "lmstudio",
      "disaggregated", "mm_embedding_serve", "autodeploy"};
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  for (const std::string_view family : kFamilies) {
    if (name.substr(0, dot) == family) return true;
  }
  return false;
}

json::Value to_json(const Reading& reading) {
  json::Value out = json::Value::object();
  out.set("engine", reading.engine);
  out.set("entry", reading.entry);
  if (!reading.model.empty()) out.set("model", reading.model);
  if (!reading.version.empty()) out.set("version", reading.version);
  out.set("options", options_json(reading.options));
  write_env(reading, out);
  if (!reading.ignored.empty()) out.set("ignored", strings(reading.ignored));
  write_rest(reading, out);
  if (reading.several.empty()) return out;
  json::Value several = json::Value::array();
  json::Value sections = json::Value::array();
  for (const Reading& part : reading.several) {
    if (reading.preset) several.push(part.name);
    (reading.preset ? sections : several).push(part_json(part, reading));
  }
  out.set("several", std::move(several));
  if (sections.as_array().size() > 1) out.set("sections", std::move(sections));
  return out;
}

}  // namespace vramwise::engines::launch
