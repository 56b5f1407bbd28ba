// Ollama: the environment of the server, Modelfiles and requests carry what the command line does
// not. Source: envconfig/config.go, parser/parser.go, api/types.go.
#include <array>

#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/option_sink.h"
#include "json/parse.h"

namespace vramwise::engines::launch {
namespace {

// Go's strconv.ParseBool; what it does not know counts as true where the variable is set at all.
bool go_bool(std::string_view text) {
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return true;
}

std::string unquoted(std::string_view text) {
  text = trim(text);
  while (!text.empty() && (text.front() == '"' || text.front() == '\'')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == '"' || text.back() == '\'')) text.remove_suffix(1);
  return std::string(trim(text));
}

bool is_server_variable(std::string_view name) { return starts_with(name, "OLLAMA_"); }

// The value of a PARAMETER line or of request "options".
void set_parameter(std::string_view name, json::Value value, OptionSink& sink) {
  const Option* option = sink.table().by_name(name);
  // A name that only the environment has is no parameter.
  if (option == nullptr || !option->env.empty()) {
    return sink.unknown(name, value.is_string() ? value.as_string() : json::dump(value));
  }
  if (value.is_string()) {
    auto typed = sink.convert(*option, Word(value.as_string()), name);
    if (!typed) return;
    value = std::move(*typed);
  }
  if (sink.table().is_removed(*option, sink.version())) {
    // Old parameters are only warned about.
    Reading& out = sink.out();
    for (const std::string& r : out.removed) {
      if (r == option->name) return;
    }
    out.removed.push_back(option->name);
    return;
  }
  sink.store(*option, std::move(value), name);
}

}  // namespace

void read_ollama_env(const WordEnv& env, bool, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("ollama");
  if (table == nullptr) return;
  OptionSink sink(context, *table, out.version, out);
  for (const auto& [name, word] : env) {
    bool off = false;
    const Option* option = table->by_env(name, off);
    if (option == nullptr) continue;
    if (table->is_removed(*option, out.version)) {
      out.removed.push_back(option->name);  // ignored by the server, so no error
      continue;
    }
    if (word.hole) {
      out.warn("hole", name + " has a value that is not in the text: '" + word.text + "'");
      continue;
    }
    const std::string text = unquoted(word.text);
    if (text.empty()) continue;
    if (option->memory.empty()) {
      out.ignore(option->name);
    } else if (option->type == OptionType::boolean_value) {
      sink.store(*option, go_bool(text), name);
    } else if (option->type == OptionType::integer) {
      const auto n = parse_integer(text);
      if (!n || *n < 0) {
        out.warn("suffix_refused",
                 name + "=" + text + " is no plain number; Ollama falls back to its default");
      } else {
        sink.store(*option, *n, name);
      }
    } else {
      sink.store(*option, text, name);
    }
  }
}

// A name without a tag is the latest of Ollama's library, which says how it is stored.
void name_model(std::string_view name, Reading& out) {
  out.model = std::string(name);
  const bool untagged = name.find_first_of("/:\\") == std::string_view::npos;
  out.ref = untagged && !name.empty() ? out.model + ":latest" : std::string();
}

bool read_ollama_request(const json::Value& body, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("ollama");
  const json::Value* model = body.find("model");
  if (table == nullptr || model == nullptr || !model->is_string()) return false;
  name_model(model->as_string(), out);
  OptionSink sink(context, *table, out.version, out);
  if (const json::Value* options = body.find("options");
      options != nullptr && options->is_object()) {
    for (const json::Member& member : options->as_object()) {
      if (!member.value.is_null()) set_parameter(member.key, member.value, sink);
    }
  }
  return true;
}

bool read_modelfile(std::string_view text, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("ollama");
  if (table == nullptr) return false;
  OptionSink sink(context, *table, out.version, out);
  bool in_text = false;  // inside of """
  bool any = false;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    size_t quotes = 0;
    for (size_t at = line.find("\"\"\""); at != std::string_view::npos;
         at = line.find("\"\"\"", at + 3))
      ++quotes;
    const bool was_in_text = in_text;
    if (quotes % 2 == 1) in_text = !in_text;
    if (was_in_text || line.empty() || line[0] == '#') continue;
    const size_t blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string instruction = to_lower(line.substr(0, blank));
    const std::string_view rest = trim(line.substr(blank));
    if (instruction == "from") {
      name_model(unquoted(rest), out);
      any = true;
    } else if (instruction == "parameter") {
      const size_t gap = std::min(rest.find_first_of(" \t"), rest.size());
      set_parameter(rest.substr(0, gap), json::Value(unquoted(rest.substr(gap))), sink);
      any = true;
    } else if (instruction == "adapter") {
      out.set("adapter", unquoted(rest));
    } else if (instruction == "draft") {
      out.set("draft", unquoted(rest));
    }
  }
  return any;
}

void read_ollama(const Invocation& call, const Program& program, Context& context, Reading& out) {
  out.version = call.version;
  if (program.entry == "api") {  // curl
    std::string body;
    bool is_ollama = false;
    for (size_t i = program.arguments; i < call.argv.size(); ++i) {
      const std::string& w = call.argv[i].text;
      if (contains(w, "/api/generate") || contains(w, "/api/chat") || contains(w, "/api/embed"))
        is_ollama = true;
      const bool data =
          w == "-d" || w == "--data" || w == "--data-raw" || w == "--data-binary" || w == "--json";
      if (!data || i + 1 >= call.argv.size()) continue;
      body = call.argv[++i].text;
      if (starts_with(body, "@")) {
        if (const std::string* file = find_file(context, body.substr(1))) body = *file;
      }
    }
    auto parsed = json::parse(body, "request", {.bytes = 1 << 20, .values = 20'000, .depth = 64});
    if (!is_ollama || !parsed || !read_ollama_request(*parsed, context, out)) out.engine.clear();
    return;
  }
  if (program.entry == "serve") return read_ollama_env(call.env, true, context, out);
  for (const auto& [name, value] : call.env) {
    if (!is_server_variable(name) || name == "OLLAMA_HOST") continue;
    out.warn("env_of_client",
             name + " is read by the server (ollama serve), not by ollama " + program.entry);
  }
  for (size_t i = program.arguments; i < call.argv.size(); ++i) {
    const Word& word = call.argv[i];
    if (word.hole) out.warn("hole", "'" + word.text + "' is not in the text");
    if (program.entry == "create" && (word.text == "-f" || word.text == "--file") &&
        i + 1 < call.argv.size()) {
      const std::string& path = call.argv[++i].text;
      const std::string* file = find_file(context, path);
      if (file == nullptr || !read_modelfile(*file, context, out)) {
        out.file_not_seen(path, "the instructions");
      }
      continue;
    }
    if (starts_with(word.text, "-")) {
      const bool takes_value = word.text == "--keepalive" || word.text == "--format" ||
                               word.text == "-q" || word.text == "--quantize" ||
                               word.text == "--dimensions";
      if (takes_value) ++i;
      continue;
    }
    if (program.entry == "create" && out.name.empty()) out.name = word.text;
    if (program.entry == "run" && out.model.empty() && !word.is_unknown()) {
      name_model(word.text, out);
    }
  }
}

}  // namespace vramwise::engines::launch
