// SGLang's command line: plain argparse.
// Source: python/sglang/srt/server_args.py, python/sglang/launch_server.py.
#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/flag_line.h"

namespace vramwise::engines::launch {
namespace {

// Deprecated flags that store a value of another option.
struct Stored {
  std::string_view spelling, option, value;
};
constexpr Stored kStored[] = {
    {"--disable-piecewise-cuda-graph", "cuda_graph_backend_prefill", "disabled"},
    {"--enable-breakable-cuda-graph", "cuda_graph_backend_prefill", "breakable"},
    // Only keeps SGLang from switching the graphs off by itself.
    {"--enforce-piecewise-cuda-graph", "cuda_graph_backend_prefill", ""},
};

class SglangLine : public FlagLine {
 public:
  SglangLine(OptionSink& sink, bool is_serve) : FlagLine(sink, {}), is_serve_(is_serve) {}

 protected:
  bool special(const std::vector<Word>& args, size_t& i) override {
    const std::string& t = args[i].text;
    for (const Stored& s : kStored) {
      if (t != s.spelling) continue;
      const Option* option = sink_.table().by_name(s.option);
      if (option != nullptr && !s.value.empty()) {
        sink_.store(*option, std::string(s.value), t);
      }
      ++i;
      return true;
    }
    // The router's own options say nothing about memory.
    if (starts_with(t, "--router-")) {
      ++i;
      if (!contains(t, "=") && value_at(args, i) != nullptr) ++i;
      return true;
    }
    if (is_serve_ && t == "--model-type") {  // taken out before the real parser
      i += value_at(args, i + 1) != nullptr ? 2 : 1;
      return true;
    }
    return false;
  }

  void positional(const Word& word) override {
    if (is_serve_ && !has_model_) {
      has_model_ = true;
      if (word.hole) sink_.out().warn("hole", "the model is not in the text: '" + word.text + "'");
      if (!word.is_unknown()) sink_.out().model = word.text;
      return;
    }
    sink_.out().error("stray_word", "'" + word.text + "' belongs to no option");
  }

 private:
  bool is_serve_;
  bool has_model_ = false;
};

}  // namespace

void read_sglang(const Invocation& call, const Program& program, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("sglang");
  if (table == nullptr) return;
  OptionSink sink(context, *table, call.version, out);
  sink.size_rule = SizeRule::sglang;
  std::vector<Word> args(
      call.argv.begin() + ptrdiff_t(std::min(program.arguments, call.argv.size())),
      call.argv.end());
  const bool is_serve = program.entry == "serve";
  bool has_config = false, config_read = false;
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    if (args[i].text != "--config") continue;
    has_config = true;
    ConfigWords file = read_config_file(args[i + 1], "sglang", context, out);
    config_read = file.read;
    if (!file.model.empty()) out.model = file.model;
    sink.names_from_file = true;
    SglangLine(sink, false).walk(file.words);
    sink.names_from_file = false;
    break;
  }
  SglangLine(sink, is_serve).walk(args);
  if (config_read) out.kept.erase("config");
  if (out.model.empty() && !has_config && !out.has_warning("hole")) {
    out.error("missing_model", "SGLang wants --model-path");
  }
}

}  // namespace vramwise::engines::launch
