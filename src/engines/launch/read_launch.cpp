#include "engines/launch/read_launch.h"

#include <algorithm>

#include "base/text.h"
#include "engines/launch/collector.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/python_source.h"

namespace vramwise::engines::launch {
namespace {

// Lines that are not blank and no comment of the kind that every format here shares.
std::vector<std::string_view> meaningful_lines(std::string_view text, size_t limit) {
  std::vector<std::string_view> lines;
  for (const std::string_view raw : split(text.substr(0, 20'000), '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';' || starts_with(line, "```")) continue;
    lines.push_back(line);
    if (lines.size() == limit) break;
  }
  return lines;
}

bool looks_like_yaml(std::string_view text) {
  for (const std::string_view line : meaningful_lines(text, 1)) {
    if (line == "---") return true;
    std::string_view t = line;
    if (starts_with(t, "- ")) t = trim(t.substr(2));
    const size_t colon = t.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    if (colon + 1 < t.size() && t[colon + 1] != ' ') return false;
    return t.substr(0, colon).find_first_of(" =$(") == std::string_view::npos;
  }
  return false;
}

bool has_section(std::string_view text, std::string_view header) {
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line) == header) return true;
  }
  return false;
}

// [*] or [name] with "key = value" below: a preset of llama-server.
bool looks_like_preset(std::string_view text) {
  const auto lines = meaningful_lines(text, 3);
  if (lines.empty()) return false;
  size_t first = 0;
  if (lines.size() > 1 && contains(lines[0], "=") && lines[0][0] != '[') first = 1;  // version = 1
  const std::string_view header = lines[first];
  return header.front() == '[' && header.back() == ']' && first + 1 < lines.size() &&
         contains(lines[first + 1], "=") && !contains(header, "@") && header != "[Service]" &&
         header != "[Unit]";
}

bool starts_with_from(std::string_view text) {
  const auto lines = meaningful_lines(text, 1);
  return !lines.empty() && starts_with(to_lower(lines[0].substr(0, 5)), "from ") &&
         !contains(lines[0], " import ");
}

// `ollama serve` with what fills it: the server's settings stand in its own line, model and
// parameters in those of its clients. A paste of all of them is one server.
void join_ollama(std::vector<Reading>& readings) {
  if (readings.size() < 2 || readings[0].engine != "ollama") return;
  if (!contains(readings[0].entry, "serve")) return;
  Reading& server = readings[0];
  std::vector<std::string> created;
  for (size_t i = 1; i < readings.size(); ++i) {
    Reading& client = readings[i];
    if (client.engine != "ollama" || contains(client.entry, "serve")) return;
    if (client.entry == "create") created.push_back(client.name);
  }
  for (size_t i = 1; i < readings.size(); ++i) {
    Reading& client = readings[i];
    const bool is_created =
        std::find(created.begin(), created.end(), client.model) != created.end();
    if (server.model.empty() && !is_created) server.model = client.model;
    for (const json::Member& option : client.options.entries()) {
      if (!server.options.has(option.key)) server.set(option.key, option.value);
    }
    for (const Finding& f : client.errors) server.error(f.code, f.text);
    for (const Finding& f : client.warnings) server.warn(f.code, f.text);
    for (const std::string& name : client.ignored) server.ignore(name);
    for (UnknownOption& unknown : client.unknown) server.unknown.push_back(std::move(unknown));
  }
  readings.resize(1);
}

class Reader {
 public:
  Reader(std::string text, OptionTables& tables, std::string_view version, Files files)
      : text_(std::move(text)), version_(version), context_(tables) {
    context_.files = std::move(files);
  }

  Reading run(bool smart_quotes) {
    dispatch();
    Reading whole = assemble();
    if (smart_quotes) {
      whole.warn("smart_quotes",
                 "typographic quotes or dashes were read as plain ones; a shell does not do that");
    }
    for (const Finding& warning : warnings_) whole.warn(warning.code, warning.text);
    return whole;
  }

 private:
  void dispatch() {
    if (looks_like_preset(text_)) {
      Reading preset;
      if (read_llamacpp_preset(text_, context_, preset)) {
        readings_.push_back(std::move(preset));
        return;
      }
    }
    if (read_python_source(text_, context_, readings_)) return;
    Collector collector;
    if (has_section(text_, "[Service]")) {
      collect_systemd(text_, collector);
      return take(collector);
    }
    if (starts_with_from(text_)) {
      if (collect_dockerfile(text_, collector)) return take(collector);
      Reading modelfile;
      modelfile.engine = "ollama";
      modelfile.entry = "Modelfile";
      if (read_modelfile(text_, context_, modelfile)) readings_.push_back(std::move(modelfile));
      return;
    }
    if (looks_like_yaml(text_) && collect_yaml(text_, collector)) {
      take(collector);
      if (!readings_.empty()) return;
      collector = Collector();
    }
    collector.script(text_, Invocation());
    take(collector);
    if (!readings_.empty()) return;
    // "# vllm serve ..." of a root shell.
    collector = Collector();
    collector.hash_is_prompt = true;
    collector.script(text_, Invocation());
    take(collector);
  }

  void take(Collector& collector) {
    for (auto& [name, content] : collector.files) context_.files[name] = std::move(content);
    warnings_.insert(warnings_.end(), collector.warnings.begin(), collector.warnings.end());
    std::vector<Reading> clients;
    for (Invocation& call : collector.calls) {
      if (call.version.empty()) call.version = version_;
      if (!call.python.empty() && read_python_source(call.python, context_, readings_)) continue;
      const Program program = identify(call.argv);
      if (program.engine.empty() || readings_.size() + clients.size() > 200) continue;
      Reading reading;
      if (!read_call(call, program, reading)) continue;
      (program.is_client ? clients : readings_).push_back(std::move(reading));
    }
    // A paste of clients only still says which engine it is about.
    if (readings_.empty() && !clients.empty()) readings_.push_back(std::move(clients[0]));
  }

  bool read_call(const Invocation& call, const Program& program, Reading& out) {
    out.engine = program.engine;
    out.name = call.name;
    out.version = call.version;
    out.processes = call.processes;
    out.entry = call.label.empty() ? program.entry : call.prefix + call.label;
    for (const Finding& f : call.errors) out.error(f.code, f.text);
    for (const Finding& f : call.warnings) out.warn(f.code, f.text);
    if (program.named_only) {
      out.warn("not_planned", program.engine + " is known by name only; its options are not read");
    } else if (program.engine == "vllm") {
      read_vllm(call, program, context_, out);
    } else if (program.engine == "sglang") {
      read_sglang(call, program, context_, out);
    } else if (program.engine == "trtllm") {
      read_trtllm(call, program, context_, out);
    } else if (program.engine == "ollama") {
      read_ollama(call, program, context_, out);
    } else if (program.engine == "llama.cpp" && program.subcommand != "python") {
      read_llamacpp(call, program, context_, out);
    } else {
      read_other(call, program, context_, out);
    }
    if (out.engine.empty()) return false;
    if (call.has_hole) out.warn("hole", "some values are variables that are not in the text");
    if (starts_with(program.entry, "dynamo.")) {
      out.warn("dynamo", "started through NVIDIA Dynamo: read as the engine's own options");
    }
    read_env(call, context_, program.table, out);
    read_devices(call, out);
    check_gpu_count(call, out);
    return true;
  }

  Reading assemble() {
    join_ollama(readings_);
    if (readings_.empty()) {
      Reading none;
      none.error("no_engine", "no line here starts an engine that is known");
      return none;
    }
    if (readings_.size() == 1) {
      if (!readings_[0].preset) readings_[0].name.clear();
      return std::move(readings_[0]);
    }
    Reading whole = readings_[0];
    whole.name.clear();
    whole.several = std::move(readings_);
    return whole;
  }

  std::string text_;
  std::string version_;
  Context context_;
  std::vector<Reading> readings_;
  std::vector<Finding> warnings_;
};

}  // namespace

Result<Reading> read_launch(std::string_view text, std::string_view version, Files files) {
  OptionTables tables;
  return read_launch(text, tables, version, std::move(files));
}

Result<Reading> read_launch(std::string_view text, OptionTables& tables, std::string_view version,
                            Files files) {
  if (text.size() > kMaxPaste) {
    return fail(Error(ErrorCode::too_large, "more than a megabyte of launch line").at("line"));
  }
  for (const auto& [name, content] : files) {
    if (content.size() > kMaxPaste) {
      return fail(Error(ErrorCode::too_large, "more than a megabyte of configuration").at(name));
    }
  }
  std::string plain(text);
  const bool smart_quotes = straighten(plain);
  return Reader(replace_all(std::move(plain), "\r\n", "\n"), tables, version, std::move(files))
      .run(smart_quotes);
}

}  // namespace vramwise::engines::launch
