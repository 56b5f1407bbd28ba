// vLLM's command line: argparse with additions of its own.
// Source: vllm/utils/argparse_utils.py (FlexibleArgumentParser), vllm/engine/arg_utils.py.
#include <map>

#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/flag_line.h"

namespace vramwise::engines::launch {
namespace {

constexpr size_t kMaxDottedKeys = 2000;

// Short names that may carry a dotted key, and the option they stand for.
std::string dotted_head(std::string_view head) {
  if (head == "-cc" || head == "-O") return "compilation_config";
  if (head == "-sc") return "speculative_config";
  if (head == "-ac") return "attention_config";
  if (head == "-dc") return "diffusion_config";
  return {};
}

void set_path(json::Value& object, std::string_view path, json::Value value, bool append) {
  json::Value* at = &object;
  const std::vector<std::string_view> steps = split(path, '.');
  if (steps.size() > 32) return;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    json::Value* next = at->find(steps[i]);
    at = next != nullptr && next->is_object() ? next : &at->set(steps[i], json::Value::object());
  }
  if (!append) {
    at->set(steps.back(), std::move(value));
    return;
  }
  json::Value* list = at->find(steps.back());
  if (list == nullptr || !list->is_array()) list = &at->set(steps.back(), json::Value::array());
  list->push(std::move(value));
}

class VllmLine : public FlagLine {
 public:
  VllmLine(OptionSink& sink, bool is_serve)
      : FlagLine(sink, {.folds_underscores = true}), is_serve_(is_serve) {}

  void finish(bool has_config) {
    for (auto& [name, value] : dotted_) {
      if (json_given_[name]) {
        sink_.out().warn("dotted_replaces_json",
                         "the dotted keys of " + name +
                             " are put last as one JSON string: the string "
                             "given for the same option is replaced, not merged");
      }
      if (const Option* option = sink_.table().by_name(name))
        sink_.store(*option, std::move(value), name);
    }
    Reading& out = sink_.out();
    if (!positional_model_.empty()) out.model = positional_model_;
    if (!out.model.empty() || has_config) return;
    if (!swallowed_.empty()) {
      out.error("model_swallowed",
                swallowed_ + " was taken as a value of " + swallowed_by_ + "; put the model first");
    }
    if (served_name_ && is_serve_) {
      out.error("missing_model",
                "--served-model-name wants the model in front or in a --config file");
    } else if (!saw_model_hole_) {
      out.model = "Qwen/Qwen3-0.6B";
      out.warn("default_model", "no model is named, so vLLM serves its default, Qwen/Qwen3-0.6B");
    }
  }

 protected:
  bool special(const std::vector<Word>& args, size_t& i) override {
    const Word& word = args[i];
    const std::string& t = word.text;
    if (optimization_level(args, i)) return true;
    if (starts_with(t, "--config=")) {
      // Source: FlexibleArgumentParser._pull_args_from_config looks for the word "--config" only.
      sink_.out().warn("config_equals_ignored",
                       "--config=FILE is never opened; write --config FILE");
      ++i;
      return true;
    }
    if (t == "--model" || t == "--served-model-name") {
      if (t == "--model" && i + 1 < args.size() && args[i + 1].hole) saw_model_hole_ = true;
      if (t != "--model") served_name_ = true;
    }
    if (starts_with(normalised(t), "--served-model-name")) served_name_ = true;
    return dotted(args, i);
  }

  void took_list(const Option& option, const std::vector<Word>& words) override {
    // A word that looks like a model behind the first value.
    for (size_t w = 1; w < words.size(); ++w) {
      if (contains(words[w].text, "/") && swallowed_.empty()) {
        swallowed_ = words[w].text;
        swallowed_by_ = OptionTable::best_spelling(option);
      }
    }
  }

  void positional(const Word& word) override {
    if (word.hole) sink_.out().warn("hole", "the model is not in the text: '" + word.text + "'");
    if (!has_positional_) {
      has_positional_ = true;
      if (is_serve_) {
        if (word.is_unknown())
          saw_model_hole_ = true;
        else
          positional_model_ = word.text;
      } else {
        // The module form has an unused positional that takes the word silently.
        sink_.out().warn("stray_word", "'" + word.text + "' belongs to no option and is swallowed");
      }
      return;
    }
    sink_.out().error("stray_word", "'" + word.text + "' belongs to no option");
  }

 private:
  // -O3, -O 3, -O=3; older: -O.level 3 and -O '{...}' for the compilation config.
  bool optimization_level(const std::vector<Word>& args, size_t& i) {
    std::string t = args[i].text;
    if (!starts_with(t, "-O") || starts_with(t, "-O.")) return false;
    std::string value = t.substr(2);
    if (starts_with(value, "=")) value.erase(0, 1);
    ++i;
    if (value.empty()) {
      const Word* next = value_at(args, i);
      if (next == nullptr) {
        sink_.out().error("missing_value", "-O wants a level");
        return true;
      }
      value = next->text;
      ++i;
    }
    const bool is_json = starts_with(value, "{");
    const Option* option =
        sink_.table().by_name(is_json ? "compilation_config" : "optimization_level");
    if (option == nullptr) return true;
    Word word = is_json ? args[i - 1] : Word(value);
    sink_.seen(*option, "-O");
    sink_.store_words(*option, {word}, "-O");
    return true;
  }

  // --compilation-config.cudagraph_mode NONE, -cc.mode=3, --x.list+ a
  bool dotted(const std::vector<Word>& args, size_t& i) {
    const Word& word = args[i];
    std::string token = word.text;
    Word value;
    const bool attached = split_equals(word, token, value);
    const size_t dot = token.find('.');
    if (token.size() < 4 || token[0] != '-' || dot == std::string::npos || dot < 2) {
      remember_json(args, i);
      return false;
    }
    std::string name = dotted_head(token.substr(0, dot));
    if (name.empty() && starts_with(token, "--")) {
      const std::string head = normalised(token.substr(0, dot));
      auto match = sink_.table().exact(head);
      if (!match) {
        const auto near = sink_.table().beginning_with(head);
        if (near.size() == 1) match = near[0];
      }
      if (match) name = match->option->name;
    }
    const Option* option = name.empty() ? nullptr : sink_.table().by_name(name);
    if (option == nullptr) return false;
    std::string path = token.substr(dot + 1);
    const bool append = ends_with(path, "+");
    if (append) path.pop_back();
    ++i;
    if (!attached) {
      const Word* next = value_at(args, i);
      if (next == nullptr) {
        sink_.out().error("missing_value", token + " wants a value");
        return true;
      }
      value = *next;
      ++i;
    }
    if (value.hole) {
      sink_.out().warn("hole",
                       token + " has a value that is not in the text: '" + value.text + "'");
      if (value.is_unknown()) return true;
    }
    json::Value& object = dotted_[name];
    if (object.is_null()) object = json::Value::object();
    if (path.empty() || ++dotted_keys_ > kMaxDottedKeys) return true;
    if (append) {
      for (const std::string_view part : split(value.text, ',')) {
        set_path(object, path, dotted_value(part), true);
      }
    } else {
      set_path(object, path, dotted_value(value.text), false);
    }
    return true;
  }

  // Read as JSON, else as a size, else as text.
  static json::Value dotted_value(std::string_view text) {
    if (auto literal = read_whole_literal(text, {.suffixes = true}))
      return std::move(literal->value);
    if (const auto size = vllm_size(text)) return *size;
    return std::string(text);
  }

  void remember_json(const std::vector<Word>& args, size_t i) {
    std::string token = args[i].text;
    Word value;
    split_equals(args[i], token, value);
    std::string name = dotted_head(token);
    if (name.empty() && starts_with(token, "--")) {
      if (const auto match = sink_.table().exact(normalised(token));
          match && match->option->type == OptionType::json) {
        name = match->option->name;
      }
    }
    if (!name.empty()) json_given_[name] = true;
  }

  bool is_serve_;
  bool has_positional_ = false, served_name_ = false, saw_model_hole_ = false;
  std::string positional_model_, swallowed_, swallowed_by_;
  std::map<std::string, json::Value> dotted_;
  size_t dotted_keys_ = 0;
  std::map<std::string, bool> json_given_;
};

}  // namespace

void read_vllm(const Invocation& call, const Program& program, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("vllm");
  if (table == nullptr) return;
  OptionSink sink(context, *table, call.version, out);
  sink.size_rule = SizeRule::vllm;
  sink.none_is_unset = true;
  sink.family = program.subcommand;

  const bool is_serve = program.entry == "serve" || !call.label.empty();
  VllmLine line(sink, is_serve);
  std::vector<Word> args(
      call.argv.begin() + ptrdiff_t(std::min(program.arguments, call.argv.size())),
      call.argv.end());
  // The words of a configuration file are put first, so that the command line wins.
  bool has_config = false, config_read = false;
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    if (args[i].text != "--config") continue;
    has_config = true;
    ConfigWords file = read_config_file(args[i + 1], "vllm", context, out);
    config_read = file.read;
    if (!file.model.empty()) out.model = file.model;
    sink.names_from_file = true;
    VllmLine file_line(sink, true);
    file_line.walk(file.words);
    file_line.finish(true);
    sink.names_from_file = false;
    break;
  }
  line.walk(args);
  line.finish(has_config || program.is_client);
  // What stands in it is an option of its own now.
  if (config_read) out.kept.erase("config");
}

}  // namespace vramwise::engines::launch
