// TensorRT-LLM: a click command line and a YAML file that wins over it.
// Source: tensorrt_llm/commands/serve.py, tensorrt_llm/llmapi/llm_args.py.
#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/flag_line.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {
namespace {

class TrtllmLine : public FlagLine {
 public:
  explicit TrtllmLine(OptionSink& sink) : FlagLine(sink, {.prefixes = false}) {}

 protected:
  void positional(const Word& word) override {
    if (!has_model_) {
      has_model_ = true;
      if (word.hole) sink_.out().warn("hole", "the model is not in the text: '" + word.text + "'");
      if (!word.is_unknown()) sink_.out().model = word.text;
      return;
    }
    sink_.out().error("stray_word", "'" + word.text + "' belongs to no option");
  }

 private:
  bool has_model_ = false;
};

// Whether some row of the table stands for this key or for keys under it.
const Option* row_of(const OptionTable& table, const std::string& key, bool& has_children) {
  const Option* exact = nullptr;
  const std::string prefix = key + ".";
  for (const Option& option : table.options()) {
    if (option.name == key) exact = &option;
    if (starts_with(option.name, prefix)) has_children = true;
  }
  return exact;
}

void read_key(OptionSink& sink, const std::string& key, const json::Value& value, int depth) {
  Reading& out = sink.out();
  bool has_children = false;
  const Option* option = row_of(sink.table(), key, has_children);
  if (option == nullptr && depth == 0) {
    if (const Option* old = sink.table().by_name("yaml." + key)) {  // removed from the file only
      sink.removed(*old, key);
      return;
    }
    if (const Option* old = sink.table().by_name("autodeploy." + key)) option = old;
  }
  if (option != nullptr && option->name != "cuda_graph_config") {
    if (sink.removed(*option, key)) return;
  }
  if (value.is_null()) {  // "cuda_graph_config: null" switches graphs off
    if (option == nullptr && !has_children) return sink.unknown(key, "");
    out.set(key, value);
    return;
  }
  if (value.is_object() && has_children && depth < 8) {
    for (const json::Member& member : value.as_object()) {
      read_key(sink, key + "." + member.key, member.value, depth + 1);
    }
    return;
  }
  if (option == nullptr) {
    // Free-form maps ("mx_config.*", "quant_config") hold keys that no table lists.
    const size_t dot = key.rfind('.');
    const std::string parent = dot == std::string::npos ? std::string() : key.substr(0, dot);
    if (!parent.empty()) {
      if (const Option* any = sink.table().by_name(parent + ".*")) {
        if (any->memory.empty()) return out.ignore(key, value);
        out.set(key, value);
        return;
      }
    }
    return sink.unknown(key, yaml_word(value));
  }
  if (option->name == "model") {
    out.model = yaml_word(value);
  } else if (option->memory.empty()) {
    out.ignore(key, value);
  } else {
    out.set(key, value);
  }
}

// Whether the file was there; what stands in it are options of their own then.
bool read_file(const Word& path, OptionSink& sink) {
  Reading& out = sink.out();
  const std::string* text = find_file(sink.context(), path.text);
  if (text == nullptr) {
    out.file_not_seen(path.text, "the options", ", and they win over the command line");
    return false;
  }
  auto documents = parse_yaml(*text, path.text);
  if (!documents || !documents->front().is_object()) {
    out.error("file_invalid",
              path.text + (documents ? " is no mapping" : ": " + documents.error().message));
    return false;
  }
  const json::Value& file = documents->front();
  if (const json::Value* block = file.find("kv_cache_config");
      block != nullptr && out.options.has("free_gpu_memory_fraction")) {
    if (block->find("free_gpu_memory_fraction") != nullptr) {
      out.options.erase("free_gpu_memory_fraction");
    } else {
      // Up to 1.2 the block of the file stands for the whole block; newer versions merge.
      out.warn("yaml_replaces_block",
               "versions up to 1.2 lose the fraction of the command line, because the file has a "
               "kv_cache_config without it; newer ones merge the two");
    }
  }
  for (const json::Member& member : file.as_object()) read_key(sink, member.key, member.value, 0);
  return true;
}

}  // namespace

void read_trtllm(const Invocation& call, const Program& program, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("trtllm");
  if (table == nullptr) return;
  OptionSink sink(context, *table, call.version, out);
  sink.family = program.subcommand;
  std::vector<Word> args(
      call.argv.begin() + ptrdiff_t(std::min(program.arguments, call.argv.size())),
      call.argv.end());
  TrtllmLine line(sink);
  line.walk(args);
  bool read = false;
  for (size_t i = 0; i < args.size(); ++i) {
    for (const std::string_view name :
         {"--extra_llm_api_options", "--config", "-c", "--config_file"}) {
      if (args[i].text == name && i + 1 < args.size()) read = read_file(args[i + 1], sink);
      if (starts_with(args[i].text, std::string(name) + "=")) {
        read = read_file(Word(args[i].text.substr(name.size() + 1)), sink);
      }
    }
  }
  if (read) out.kept.erase("extra_llm_api_options");
  if (out.model.empty() && !out.has_warning("hole") && program.subcommand.empty()) {
    out.error("missing_model", "trtllm-serve wants a model");
  }
}

}  // namespace vramwise::engines::launch
