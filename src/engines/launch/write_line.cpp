#include "engines/launch/write_line.h"

#include <vector>

#include "base/text.h"
#include "engines/launch/option_table.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {
namespace {

// A value as one word: numbers without a needless point, objects as JSON.
std::string value_word(const json::Value& value) { return yaml_word(value); }

bool is_list(const json::Value& value) { return value.is_array(); }

std::string joined_list(const json::Value& value, std::string_view separator) {
  if (!is_list(value)) return value_word(value);
  std::vector<std::string> parts;
  for (const json::Value& item : value.as_array()) parts.push_back(value_word(item));
  return join(parts, separator);
}

// Words of one command; options are kept together with their values when the line is broken.
class Line {
 public:
  explicit Line(const std::map<std::string, std::string>& env) {
    for (const auto& [name, value] : env) groups_.push_back(name + "=" + shell_quote(value));
  }
  void word(std::string_view text) { groups_.push_back(shell_quote(text)); }
  void option(std::string_view spelling, const std::vector<std::string>& values) {
    std::string group = shell_quote(spelling);
    for (const std::string& v : values) group += " " + shell_quote(v);
    groups_.push_back(std::move(group));
  }
  std::string text(int columns) const {
    std::string out;
    size_t width = 0;
    for (const std::string& group : groups_) {
      // Two columns stay free for the backslash.
      if (!out.empty() && columns > 0 && width + group.size() + 3 > size_t(columns)) {
        out += " \\\n  ";
        width = 2;
      } else if (!out.empty()) {
        out += " ";
        ++width;
      }
      out += group;
      width += group.size();
    }
    return out;
  }

 private:
  std::vector<std::string> groups_;
};

// Leaves under dotted names gathered into the objects that the options take.
json::Object grouped(const Options& options, const OptionTable& table) {
  json::Object out;
  const auto member = [&](std::string_view key) -> json::Value& {
    for (json::Member& m : out) {
      if (m.key == key) return m.value;
    }
    out.push_back({std::string(key), json::Value()});
    return out.back().value;
  };
  for (const json::Member& entry : options.entries()) {
    const size_t dot = entry.key.find('.');
    const std::string head = entry.key.substr(0, dot);
    const Option* whole = dot == std::string::npos ? nullptr : table.by_name(head);
    if (whole == nullptr || whole->type != OptionType::json) {
      member(entry.key) = entry.value;
      continue;
    }
    json::Value* at = &member(head);
    const std::vector<std::string_view> steps =
        split(std::string_view(entry.key).substr(dot + 1), '.');
    if (!at->is_object()) *at = json::Value::object();
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      json::Value* next = at->find(steps[i]);
      at = next != nullptr && next->is_object() ? next : &at->set(steps[i], json::Value::object());
    }
    at->set(steps.back(), entry.value);
  }
  return out;
}

// Options that are gone in `version` under the name that replaced them, where the value is the same
// kind of thing; the rest as they are.
Options todays_names(const Options& options, const OptionTable& table, std::string_view version) {
  Options out;
  for (const json::Member& entry : options.entries()) {
    const Option* option = table.by_name(entry.key);
    const bool gone = option != nullptr && table.is_removed(*option, version);
    const Option* today = gone ? table.by_name(option->now) : nullptr;
    const bool same = today != nullptr && today->type == option->type;
    const std::string_view name = same ? std::string_view(today->name) : entry.key;
    if (!same || !options.has(name)) out.set(name, entry.value);
  }
  return out;
}

// One option with a spelling; false when the command line cannot say it.
bool write_option(const Option& option, const json::Value& value, Line& line) {
  const std::string_view spelling = OptionTable::best_spelling(option);
  if (spelling.empty() || value.is_null()) return false;
  if (option.is_bare()) {
    const bool on = !value.is_boolean() || value.as_boolean();
    if (on) {
      line.option(spelling, {});
    } else if (!option.no.empty()) {
      std::string_view off = option.no.front();
      for (const std::string& s : option.no) {
        if (starts_with(s, "--")) off = s;
      }
      line.option(off, {});
    } else {
      return false;
    }
    return true;
  }
  if (option.takes_several()) {
    std::vector<std::string> words;
    if (is_list(value)) {
      for (const json::Value& item : value.as_array()) words.push_back(value_word(item));
    } else {
      words.push_back(value_word(value));
    }
    line.option(spelling, words);
    return true;
  }
  const bool commas = option.type == OptionType::comma_strings ||
                      option.type == OptionType::comma_integers ||
                      option.type == OptionType::comma_reals;
  if (option.type == OptionType::json) {
    line.option(spelling, {json::dump(value)});
  } else if (commas && option.name == "override_tensor" && is_list(value)) {
    for (const json::Value& item : value.as_array()) line.option(spelling, {value_word(item)});
  } else if (commas) {
    line.option(spelling, {joined_list(value, ",")});
  } else {
    line.option(spelling, {value_word(value)});
  }
  return true;
}

std::string yaml_value(const json::Value& value) {
  // Flow style of YAML takes JSON as it is.
  return json::dump(value);
}

// Lines of a YAML mapping for dotted names.
std::string yaml_lines(const Options& options) {
  std::string out;
  const json::Value tree = options.to_json();
  for (const json::Member& member : tree.as_object()) {
    if (!member.value.is_object() || member.value.as_object().empty()) {
      out += member.key + ": " + yaml_value(member.value) + "\n";
      continue;
    }
    out += member.key + ":\n";
    for (const json::Member& inner : member.value.as_object()) {
      out += "  " + inner.key + ": " + yaml_value(inner.value) + "\n";
    }
  }
  return out;
}

std::string here_document(std::string_view file, std::string_view content) {
  return "cat > " + std::string(file) + " <<'EOF'\n" + std::string(content) + "EOF\n";
}

bool looks_like_repository(std::string_view model) {
  return contains(model, "/") && !contains(model, ".gguf") && !contains(model, "\\") &&
         model.find_first_of("./~") != 0;
}

std::string write_ollama(std::string_view model, const Options& options, const OptionTable& table,
                         const std::map<std::string, std::string>& env, int columns) {
  std::map<std::string, std::string> variables = env;
  std::string parameters;
  for (const json::Member& entry : options.entries()) {
    const Option* option = table.by_name(entry.key);
    if (option == nullptr) continue;
    if (option->env.empty()) {
      parameters += "PARAMETER " + entry.key + " " + value_word(entry.value) + "\n";
    } else {
      const bool boolean = entry.value.is_boolean();
      variables[option->env.front()] =
          boolean ? (entry.value.as_boolean() ? "1" : "0") : value_word(entry.value);
    }
  }
  // The server goes to the background: the line below it talks to it.
  std::string out;
  if (!variables.empty() || (parameters.empty() && model.empty())) {
    Line line(variables);
    line.word("ollama");
    line.word("serve");
    out = line.text(columns);
    if (!model.empty()) out += " &\n";
  }
  if (model.empty()) return out;
  const bool is_file = ends_with(model, ".gguf");
  if (!parameters.empty() || is_file) {
    const std::string folder = is_file && !contains(model, "/") ? "./" : "";
    const std::string file = "FROM " + folder + std::string(model) + "\n" + parameters;
    out += here_document("Modelfile", file) + "ollama create planned -f Modelfile\n";
    model = "planned";
  }
  return out + "ollama run " + shell_quote(model);
}

}  // namespace

std::string shell_quote(std::string_view word) {
  constexpr std::string_view kSafe =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  const bool safe = !word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos;
  if (safe) return std::string(word);
  return "'" + replace_all(std::string(word), "'", "'\\''") + "'";
}

std::string write_line(std::string_view engine, std::string_view model, const Options& options,
                       const std::map<std::string, std::string>& env, int columns,
                       std::string_view version) {
  OptionTables tables;
  return write_line(tables, engine, model, options, env, columns, version);
}

std::string write_line(OptionTables& tables, std::string_view engine, std::string_view model,
                       const Options& options, const std::map<std::string, std::string>& env,
                       int columns, std::string_view version) {
  const bool llama = engine == "llama.cpp" || engine == "llamacpp";
  const OptionTable* table = tables.get(llama ? "llamacpp" : engine);
  if (table == nullptr) return {};
  if (engine == "ollama") return write_ollama(model, options, *table, env, columns);

  Line line(env);
  if (engine == "vllm") {
    line.word("vllm");
    line.word("serve");
    if (!model.empty()) line.word(model);
  } else if (engine == "sglang") {
    for (const std::string_view w : {"python", "-m", "sglang.launch_server"}) line.word(w);
    if (!model.empty()) line.option("--model-path", {std::string(model)});
  } else if (engine == "trtllm") {
    line.word("trtllm-serve");
    if (!model.empty()) line.word(model);
  } else if (llama) {
    line.word("llama-server");
    if (!model.empty() && !options.has("hf_repo")) {
      line.option(looks_like_repository(model) ? "-hf" : "-m", {std::string(model)});
    }
  } else {
    return {};
  }

  Options in_file;
  for (const json::Member& entry : grouped(todays_names(options, *table, version), *table)) {
    const Option* option = table->by_name(entry.key);
    if (option != nullptr && option->name != "model" && write_option(*option, entry.value, line)) {
      continue;
    }
    if (engine == "trtllm") in_file.set(entry.key, entry.value);
  }
  if (in_file.entries().empty()) return line.text(columns);
  line.option("--extra_llm_api_options", {"extra.yaml"});
  return here_document("extra.yaml", yaml_lines(in_file)) + line.text(columns);
}

}  // namespace vramwise::engines::launch
