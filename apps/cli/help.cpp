#include "apps/cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "apps/cli/terminal.h"
#include "base/text.h"
#include "report/style.h"

namespace vramwise::cli {
namespace {

constexpr int kNarrowest = 50;  // names take 30 columns; less is left to the terminal's wrapping
constexpr int kNameColumns = 30;

// Two columns: what is written, and what it means.
class Wrapped : public CLI::Formatter {
 public:
  explicit Wrapped(int width) : width_(width) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return row(make_option_name(option, is_positional) + make_option_opts(option),
               make_option_desc(option));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_display_name(true), command->get_description());
  }

  std::string make_description(const CLI::App* app) const override {
    return report::wrap(app->get_description(), width_, 0) + "\n";
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = Formatter::make_usage(app, std::move(name));
    if (app->get_option_no_throw("--line") == nullptr) return text;
    text.insert(text.find_last_not_of('\n') + 1, " [-- ENGINE'S LAUNCH LINE]");
    return text;
  }

  // The library's ranges ("[20 - 1000]") and lists belong to its error messages; the words here say
  // what a value is.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = Formatter::make_option_opts(option);
    if (option->get_positional() && starts_with(text, " TEXT")) text.erase(0, 5);
    return text.substr(0, text.find(":INT in ["));
  }

  // One blank line between groups, where the library leaves two.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_help(app, std::move(name), mode);
    for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) {
      text.erase(at, 1);
    }
    return text;
  }

 private:
  std::string row(const std::string& name, const std::string& meaning) const {
    std::string out = "  " + name;
    const int used = report::display_width(out);
    out += used + 2 > kNameColumns ? "\n" + std::string(kNameColumns, ' ')
                                   : std::string(size_t(kNameColumns - used), ' ');
    return out + report::wrap(replace_all(meaning, "\n", " "), width_, kNameColumns, kNameColumns) +
           "\n";
  }

  int width_;
};

constexpr std::string_view kExitCodes =
    "\nExit codes: 0 fits, tight or answered; 1 does not fit or refuses to start;\n"
    "2 usage; 3 input; 4 unknown name; 70 a bug of ours; 130 interrupted.\n";

constexpr std::string_view kProgram =
    "  vramwise plan llama-3.1-70b --weights Q4_K_M --engine llama.cpp \\\n"
    "      --gpu h100-sxm --ctx 64k --concurrency 2\n"
    "  vramwise plan --gpu h100-sxm -- vllm serve Qwen/Qwen3-30B-A3B \\\n"
    "      --tensor-parallel-size 2 --max-model-len 32768 --kv-cache-dtype fp8\n"
    "  vramwise gpus Qwen/Qwen3-32B --ctx 8k --concurrency 50\n"
    "  vramwise inspect deepseek-v3\n"
    "  vramwise verify run.log\n"
    "  vramwise doctor;  vramwise models --gpu local\n";

struct Examples {
  std::string_view command;
  std::string_view text;
  std::string_view exit_codes = kExitCodes;
};

constexpr auto kExamples = std::to_array<Examples>({
    {"plan",
     "  vramwise plan llama-3.1-70b --weights Q4_K_M --engine llama.cpp \\\n"
     "      --gpu h100-sxm --ctx 64k --concurrency 2\n"
     "  vramwise plan Qwen/Qwen3-30B-A3B --gpu rtx-5090 --ctx 32k\n"
     "  vramwise plan --gpu h100-sxm -- vllm serve Qwen/Qwen3-30B-A3B \\\n"
     "      --tensor-parallel-size 2 --max-model-len 32768 --kv-cache-dtype fp8\n"
     "  vramwise plan --gpu rtx-4090 --line docker-compose.yml\n"},
    {"explain",
     "  vramwise explain Qwen/Qwen3-8B --gpu l4 --ctx 8k\n"
     "  vramwise explain ./config.json --gpu a100-sxm4-80 --count 2\n"},
    {"inspect",
     "  vramwise inspect deepseek-v3\n"
     "  vramwise inspect model-Q4_K_M.gguf\n"
     "  vramwise inspect Qwen/Qwen3-8B --weights fp8\n"},
    {"launch",
     "  vramwise launch -- vllm serve Qwen/Qwen3-8B --max-model-len 32k\n"
     "  vramwise launch --line docker-compose.yml\n"},
    {"max",
     "  vramwise max Qwen/Qwen3-8B --gpu rtx-4090\n"
     "  vramwise max Qwen/Qwen3-8B --gpu rtx-4090 --of concurrency --ctx 8k\n"
     "  vramwise max Qwen/Qwen3-8B --gpu l40s --of users --lengths chat --ttft 1s\n"},
    {"gpus",
     "  vramwise gpus Qwen/Qwen3-32B --ctx 8k --concurrency 50\n"
     "  vramwise gpus deepseek-v3 --ctx 32k --max-count 16\n"},
    {"models",
     "  vramwise models --gpu rtx-3090 --ctx 8k\n"
     "  vramwise models --gpu local --engine llama.cpp --weights Q4_K_M\n"},
    {"simulate",
     "  vramwise simulate llama-3.1-8b --gpu h100-sxm --lengths chat \\\n"
     "      --ttft 1s --tpot 50ms\n"
     "  vramwise simulate Qwen/Qwen3-8B --gpu l40s --lengths trace.csv --rate 4\n"},
    {"verify",
     "  vramwise verify run.log\n"
     "  docker logs vllm 2>&1 | vramwise verify -\n"},
    {"catalog",
     "  vramwise catalog gpus\n"
     "  vramwise catalog gpus h100-sxm\n"
     "  vramwise catalog models --json\n"},
    {"check",
     "  vramwise plan Qwen/Qwen3-8B --gpu l4 --ctx 8k --save plan.json\n"
     "  vramwise check plan.json\n"},
    {"diff",
     "  vramwise diff model-Q4_K_M.gguf model-Q5_K_M.gguf\n"
     "  vramwise diff before.plan.json after.plan.json\n"
     "  vramwise diff Qwen/Qwen3-8B --gpu l4 --engine-version 0.18 0.21\n"},
    {"compare",
     "  vramwise compare Qwen/Qwen3-8B \"Qwen/Qwen3-8B --weights fp8\" --gpu l4 --ctx 8k\n"
     "  vramwise compare before.plan.json after.plan.json\n"},
    {"calibration",
     "  vramwise verify run.log --save\n"
     "  vramwise calibration list\n"},
    {"batch", "  vramwise batch requests.jsonl > answers.jsonl\n"},
    {"doctor",
     "  vramwise doctor\n"
     "  vramwise doctor --json\n"},
    {"watch",
     "  vramwise watch http://127.0.0.1:8000 Qwen/Qwen3-8B --gpu local --ctx 8k\n"
     "  vramwise watch localhost:8000 --plan plan.json --json=lines > watch.jsonl\n"
     "  vramwise watch --once                      this machine's cards alone\n"},
    {"loadtest",
     "  vramwise loadtest http://127.0.0.1:8000 --users 32 --prompt-tokens 100-2000\n"
     "  vramwise loadtest localhost:8000 Qwen/Qwen3-8B --gpu local --ctx 8k -u 50 \\\n"
     "      --html report.html\n",
     "\nExit codes: 0 held; 1 errors, memory that grows, or stopped by itself;\n"
     "3 no such server; 130 interrupted (the report is printed all the same).\n"},
    {"web", "  vramwise web\n"},
    {"completions",
     "  source <(vramwise completions bash)\n"
     "  vramwise completions zsh > ~/.zfunc/_vramwise\n"
     "  vramwise completions fish > ~/.config/fish/completions/vramwise.fish\n"},
    {"man",
     "  vramwise man | man -l -\n"
     "  vramwise man plan | man -l -\n"},
});

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() {
  const int width = detect_style("never", 0, false, false).width;
  return std::make_shared<Wrapped>(width > 0 ? std::max(width, kNarrowest) : 80);
}

std::string help_footer(std::string_view command) {
  Examples shown = {{}, kProgram};
  for (const Examples& one : kExamples) {
    if (one.command == command) shown = one;
  }
  return "\nExamples:\n" + std::string(shown.text) + std::string(shown.exit_codes);
}

}  // namespace vramwise::cli
