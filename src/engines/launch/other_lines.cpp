// KoboldCpp, mlx-lm, text-generation-inference, lmdeploy, LM Studio, llama-cpp-python's server.
// Sources: koboldcpp.py, mlx_lm/server.py, launcher/src/main.rs, lmdeploy/cli/utils.py,
// lmstudio.ai/docs/cli.
#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/flag_line.h"
#include "json/parse.h"

namespace vramwise::engines::launch {
namespace {

class OtherLine : public FlagLine {
 public:
  OtherLine(OptionSink& sink, FlagStyle style, bool model_first, bool port_second)
      : FlagLine(sink, style), model_first_(model_first), port_second_(port_second) {}

 protected:
  void positional(const Word& word) override {
    ++seen_;
    if (seen_ == 1 && model_first_) {
      if (word.hole) sink_.out().warn("hole", "the model is not in the text: '" + word.text + "'");
      if (!word.is_unknown()) sink_.out().model = word.text;
      return;
    }
    if (seen_ == 2 && port_second_) return;
    sink_.out().error("stray_word", "'" + word.text + "' belongs to no option");
  }

 private:
  bool model_first_, port_second_;
  int seen_ = 0;
};

// Source: koboldcpp.py, quantkv: 0 = f16, 1 = q8, 2 = q4, 3 = bf16.
void koboldcpp_values(Reading& out) {
  const json::Value* quant = out.options.find("koboldcpp.quantkv");
  if (quant != nullptr && quant->is_string()) {
    constexpr std::string_view kTypes[] = {"f16", "q8_0", "q4_0", "bf16"};
    const auto n = parse_integer(quant->as_string());
    if (n && *n >= 0 && *n <= 3) out.options.set("koboldcpp.quantkv", std::string(kTypes[*n]));
  }
  const json::Value* layers = out.options.find("koboldcpp.gpulayers");
  if (layers != nullptr && layers->is_boolean()) out.options.set("koboldcpp.gpulayers", 1);
  const json::Value* experts = out.options.find("koboldcpp.moecpu");
  if (experts != nullptr && experts->is_boolean()) out.options.set("koboldcpp.moecpu", "all");
}

// A settings file of KoboldCpp replaces everything else.
void koboldcpp_config(const std::vector<Word>& args, OptionSink& sink) {
  for (size_t i = 0; i < args.size(); ++i) {
    const bool named = args[i].text == "--config" && i + 1 < args.size();
    if (!named && !ends_with(args[i].text, ".kcpps")) continue;
    const std::string& path = args[named ? i + 1 : i].text;
    const std::string* text = find_file(sink.context(), path);
    Reading& out = sink.out();
    if (text == nullptr) {
      out.file_not_seen(path, "the settings", ", and they replace the rest");
      return;
    }
    auto parsed = json::parse(*text, path, {.bytes = 1 << 20, .values = 20'000, .depth = 64});
    if (!parsed || !parsed->is_object()) {
      out.error("file_invalid", path + " is no JSON object");
      return;
    }
    out.options = Options();
    for (const json::Member& member : parsed->as_object()) {
      const std::string name = "koboldcpp." + member.key;
      if (sink.table().by_name(name) != nullptr) sink.store_named(name, member.value, false);
    }
    return;
  }
}

// llama-cpp-python's names for what llama.cpp calls otherwise.
// Source: llama_cpp/server/settings.py.
std::string_view llama_cpp_python_name(std::string_view name) {
  constexpr std::string_view kNames[][2] = {{"n_ctx", "ctx_size"},
                                            {"n_batch", "batch_size"},
                                            {"n_ubatch", "ubatch_size"},
                                            {"offload_kqv", "kv_offload"},
                                            {"use_mmap", "mmap"},
                                            {"use_mlock", "mlock"},
                                            {"n_threads", "threads"},
                                            {"type_k", "cache_type_k"},
                                            {"type_v", "cache_type_v"},
                                            {"model_path", "model"},
                                            {"clip_model_path", "mmproj"},
                                            {"lora_path", "lora"},
                                            {"draft_model", "spec_draft_model"},
                                            {"hf_model_repo_id", "hf_repo"},
                                            {"n_seq_max", "parallel"}};
  for (const auto& pair : kNames) {
    if (name == pair[0]) return pair[1];
  }
  return name;
}

void read_llama_cpp_python(const Invocation& call, size_t first, Context& context, Reading& out) {
  std::vector<Argument> arguments;
  for (size_t i = first; i < call.argv.size(); ++i) {
    Word value;
    std::string token = call.argv[i].text;
    if (!starts_with(token, "--")) {
      out.error("stray_word", "'" + token + "' belongs to no option");
      continue;
    }
    if (!split_equals(call.argv[i], token, value) && i + 1 < call.argv.size())
      value = call.argv[++i];
    Argument a;
    a.name = token.substr(2);
    a.hole = value.hole;
    auto literal = read_whole_literal(value.text, {});
    a.value = literal ? std::move(literal->value) : json::Value(value.text);
    arguments.push_back(std::move(a));
  }
  read_named("llama-cpp-python", arguments, context, out);
}

}  // namespace

void read_option_env(const Invocation& call, OptionSink& sink) {
  for (const auto& [name, value] : call.env) {
    bool off = false;
    const Option* option = sink.table().by_env(name, off);
    if (option != nullptr) sink.store_words(*option, {value}, name);
  }
}

void read_other(const Invocation& call, const Program& program, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get(program.table);
  if (table == nullptr) return;
  OptionSink sink(context, *table, call.version, out);
  sink.family = program.subcommand;
  sink.size_rule = SizeRule::decimal;
  std::vector<Word> args(
      call.argv.begin() + ptrdiff_t(std::min(program.arguments, call.argv.size())),
      call.argv.end());
  if (program.subcommand == "python")
    return read_llama_cpp_python(call, program.arguments, context, out);
  FlagStyle style;
  style.prefixes = program.engine != "tgi";
  style.optional_values = program.engine == "tgi";
  style.only_family = program.engine == "lmstudio";
  if (program.engine == "tgi") read_option_env(call, sink);
  const bool model_first = program.engine != "mlx_lm" && program.engine != "tgi";
  OtherLine line(sink, style, model_first, program.engine == "koboldcpp");
  line.walk(args);
  if (program.engine == "koboldcpp") {
    koboldcpp_config(args, sink);
    koboldcpp_values(out);
  }
}

void read_named(std::string_view engine, const std::vector<Argument>& arguments, Context& context,
                Reading& out) {
  const bool python_llama = engine == "llama-cpp-python";
  const bool is_log = ends_with(engine, " log");
  std::string_view table_name = python_llama ? "llamacpp" : engine;
  if (is_log) table_name.remove_suffix(4);
  const OptionTable* table = context.tables.get(table_name);
  if (table == nullptr) return;
  OptionSink sink(context, *table, out.version, out);
  if (table_name == "vllm") sink.size_rule = SizeRule::vllm;
  if (table_name == "sglang") sink.size_rule = SizeRule::sglang;
  size_t positional = 0;
  for (const Argument& argument : arguments) {
    std::string name = argument.name;
    if (name == "*") {
      out.warn("hole", "arguments given as *args or **kwargs are not in the text");
      continue;
    }
    if (name.empty())
      name = positional++ == 0 ? (table_name == "sglang" ? "model_path" : "model") : "";
    if (name.empty()) continue;
    if (python_llama) name = llama_cpp_python_name(name);
    if (table_name == "vllm" && name == "model_tag" && !out.model.empty()) continue;
    // A log line lists everything; names of another version are no mistake of anybody.
    if (is_log && table->by_name(name) == nullptr) continue;
    if (is_log && argument.value.is_null()) continue;
    // LlmArgs of TensorRT-LLM nests without a row for the block itself.
    if (table->by_name(name) == nullptr && argument.value.is_object()) {
      bool nested = false;
      for (const Option& option : table->options())
        nested = nested || starts_with(option.name, name + ".");
      if (nested) {
        if (argument.hole) out.warn("hole", name + " has a value that is not in the text");
        out.set(name, argument.value);
        continue;
      }
    }
    sink.store_named(name, argument.value, argument.hole);
  }
}

}  // namespace vramwise::engines::launch
