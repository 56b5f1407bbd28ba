// Files that start a service without YAML: systemd units and Dockerfiles.
#include <algorithm>

#include "base/text.h"
#include "engines/launch/collector.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {

bool collect_systemd(std::string_view text, Collector& collector) {
  Invocation base;
  std::vector<std::string> commands;
  std::string line;
  bool in_service = true, any = false;
  const auto take = [&](std::string_view whole) {
    const std::string_view t = trim(whole);
    if (t.empty() || t[0] == '#' || t[0] == ';') return;
    if (t[0] == '[') {
      in_service = t == "[Service]";
      any = any || in_service;
      return;
    }
    const size_t equals = t.find('=');
    if (!in_service || equals == std::string_view::npos) return;
    const std::string_view key = trim(t.substr(0, equals));
    std::string_view value = trim(t.substr(equals + 1));
    if (key == "Environment") {
      for (Word& w : split_words(value)) {
        const size_t at = w.text.find('=');
        if (at == std::string::npos || base.env.size() >= 300) continue;
        Word v = w;
        v.text = w.text.substr(at + 1);
        base.env.emplace_back(w.text.substr(0, at), std::move(v));
      }
    } else if (key == "EnvironmentFile") {
      base.warnings.push_back(
          {"file_not_seen", "the variables in " + std::string(value) + " are not in the text"});
    } else if (key == "ExecStart") {
      while (!value.empty() && contains("@-:+!", value.substr(0, 1))) value.remove_prefix(1);
      commands.push_back(replace_all(replace_all(std::string(value), "%%", "%"), "$$", "\\$"));
    }
  };
  for (const std::string_view raw : split(text, '\n')) {
    std::string_view part = raw;
    while (!part.empty() && (part.back() == '\r' || part.back() == ' ')) part.remove_suffix(1);
    if (!part.empty() && part.back() == '\\') {
      part.remove_suffix(1);
      line += std::string(part) + " ";
      continue;
    }
    take(line + std::string(part));
    line.clear();
  }
  take(line);
  if (!any) return false;
  Variables variables;
  for (const auto& [name, value] : base.env) variables[name] = {value};
  for (const std::string& command : commands)
    collector.command(split_words(command, variables), base);
  if (commands.empty()) {
    bool ollama = false;
    for (const auto& [name, value] : base.env) ollama = ollama || starts_with(name, "OLLAMA_");
    if (!ollama) return true;
    base.argv = {Word("ollama"), Word("serve")};
    base.label = "serve (drop-in)";
    collector.calls.push_back(std::move(base));
  }
  return true;
}

// FROM image, ENV, ENTRYPOINT, CMD: what `docker run` of the result would start.
bool collect_dockerfile(std::string_view text, Collector& collector) {
  Invocation base;
  base.prefix = "docker ";
  std::string from, line;
  std::vector<Word> entrypoint, cmd;
  const auto words = [](std::string_view rest, bool& shell) {
    auto list = parse_yaml(rest, "Dockerfile");
    shell = !(starts_with(rest, "[") && list && list->front().is_array());
    if (shell) return std::vector<Word>{Word("sh"), Word("-c"), Word(std::string(rest))};
    std::vector<Word> exact;
    for (const json::Value& item : list->front().as_array()) exact.emplace_back(yaml_word(item));
    return exact;
  };
  for (const std::string_view raw : split(text, '\n')) {
    std::string_view part = trim(raw);
    if (!part.empty() && part[0] == '#') continue;
    if (!part.empty() && part.back() == '\\') {
      line += std::string(part.substr(0, part.size() - 1)) + " ";
      continue;
    }
    line += part;
    const std::string whole = std::move(line);
    line.clear();
    const std::string_view t = trim(whole);
    const size_t blank = std::min(t.find_first_of(" \t"), t.size());
    const std::string key = to_lower(t.substr(0, blank));
    const std::string_view rest = trim(t.substr(blank));
    bool shell = false;
    if (key == "from") from = std::string(rest.substr(0, rest.find(' ')));
    if (key == "entrypoint") entrypoint = words(rest, shell);
    if (key == "cmd") cmd = words(rest, shell);
    if (key == "env") {
      for (const Word& w : split_words(rest)) {
        const size_t at = w.text.find('=');
        if (at != std::string::npos && base.env.size() < 300) {
          base.env.emplace_back(w.text.substr(0, at), Word(w.text.substr(at + 1)));
        }
      }
    }
  }
  if (from.empty() || (entrypoint.empty() && cmd.empty())) return false;
  const size_t before = collector.calls.size();
  collector.image(parse_image(from), std::move(entrypoint), std::move(cmd), std::move(base), 0);
  return collector.calls.size() > before;
}

}  // namespace vramwise::engines::launch
