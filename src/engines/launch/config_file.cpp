// Configuration files that vLLM and SGLang turn into words of a command line.
// Source: vllm/utils/argparse_utils.py (load_config_file),
// python/sglang/srt/server_args_config_parser.py.
#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {
namespace {

// "./conf/serve.yaml" and "serve.yaml" may be one file: a paste rarely has the same folder twice.
std::string_view base_name(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

const std::string* find_file(const Context& context, std::string_view path) {
  if (const auto exact = context.files.find(std::string(path)); exact != context.files.end()) {
    return &exact->second;
  }
  for (const auto& [name, text] : context.files) {
    if (base_name(name) == base_name(path)) return &text;
  }
  return nullptr;
}

ConfigWords read_config_file(const Word& path, std::string_view table_name, Context& context,
                             Reading& out) {
  ConfigWords result;
  const std::string* text = find_file(context, path.text);
  if (text == nullptr) {
    out.file_not_seen(path.text, "the options");
    return result;
  }
  auto documents = parse_yaml(*text, path.text);
  if (!documents || !documents->front().is_object()) {
    out.error("file_invalid",
              path.text + (documents ? " is no mapping"
                                     : ": " + documents.error().message + " (" +
                                           documents.error().where.to_text() + ")"));
    return result;
  }
  result.read = true;
  const OptionTable* table = context.tables.get(table_name);
  for (const json::Member& member : documents->front().as_object()) {
    const std::string key = replace_all(member.key, "_", "-");
    const std::string spelling = "--" + key;
    const json::Value& value = member.value;
    if (key == "model" || key == "model-path" || key == "model-tag") {
      result.model = yaml_word(value);
      continue;
    }
    if (value.is_boolean()) {
      if (value.as_boolean()) {
        result.words.emplace_back(spelling);
      } else {
        const auto match = table != nullptr ? table->exact(spelling) : std::nullopt;
        const bool has_negative = match && !match->option->no.empty();
        out.warn("yaml_false_ignored",
                 member.key + ": false adds nothing" +
                     (has_negative ? "; write no-" + key + ": true" : std::string()));
      }
      continue;
    }
    result.words.emplace_back(spelling);
    if (value.is_array()) {
      for (const json::Value& item : value.as_array()) result.words.emplace_back(yaml_word(item));
    } else if (!value.is_null()) {
      result.words.emplace_back(yaml_word(value));
    }
  }
  return result;
}

}  // namespace vramwise::engines::launch
