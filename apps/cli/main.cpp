// The command line. It turns flags into a JSON request, hands that to the core, and draws the JSON
// answer: nothing here knows a formula.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "api/api.h"
#include "apps/cli/batch.h"
#include "apps/cli/calibration.h"
#include "apps/cli/command_tree.h"
#include "apps/cli/compare.h"
#include "apps/cli/doctor.h"
#include "apps/cli/loadtest.h"
#include "apps/cli/node_file.h"
#include "apps/cli/output.h"
#include "apps/cli/plan_file.h"
#include "apps/cli/question.h"
#include "apps/cli/simulation.h"
#include "apps/cli/verify.h"
#include "apps/cli/watch.h"
#include "apps/cli/web.h"
#include "base/text.h"
#include "engines/launch_command.h"
#include "host/catalog_folder.h"
#include "host/files.h"
#include "host/model_source.h"
#include "json/parse.h"
#include "report/text.h"

namespace vramwise::cli {
namespace {

// `node_file` is where the question's programs stand; empty: it is about one.
int answer_question(const Question& question, const std::string& node_file, const Output& output,
                    const Pictures& pictures) {
  auto request = build_request(question);
  if (!request) return show_error(request.error(), output);
  if (output.print_request) {
    std::cout << json::dump(*request, 2) << "\n";
    return 0;
  }
  if (question.ask == "simulate") return run_simulation(*request, output, pictures);
  // Those of a load simulate.
  const bool watched = question.ask == "max" || question.ask == "gpus";
  Watched asked = watched ? ask_watched(*request) : Watched{api::handle_value(*request)};
  json::Value& answer = asked.answer;
  if (!node_file.empty()) name_node_file(answer, node_file);
  if (!question.save.empty() && answer.find("error") == nullptr) {
    if (auto saved = save_plan(question.save, *request, answer); !saved) {
      return show_error(saved.error(), output);
    }
  }
  const int status = show(answer, output, question.ask == "explain");
  return asked.interrupted ? kInterrupted : status;
}

// [{"gpu":"h100-sxm","count":8,"usd_per_hour":16}], or the same under "prices".
Result<json::Value> read_price_list(const std::string& path) {
  TRY_ASSIGN(const std::string text, host::read_file(path, kRequestLimit));
  TRY_ASSIGN(json::Value list, json::parse(text, path));
  if (const json::Value* inner = list.find("prices")) list = json::Value(*inner);
  if (!list.is_array()) {
    return fail(Error(ErrorCode::invalid_input, "the prices are no list")
                    .at(path)
                    .hint("write [{\"gpu\": \"h100-sxm\", \"count\": 8, \"usd_per_hour\": 16}]"));
  }
  return list;
}

// Flags close to an unknown one, for the error message.
std::vector<std::string> similar_flags(const CLI::App& command, const std::string& token) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return nearest_names(token.substr(0, token.find('=')), views, 2);
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, const Output& output) {
  const report::Style style = output.style(true);
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::string message = error.what();
  // The library lists leftovers in an order of its own; the first unknown flag is what is wrong.
  for (const std::string& token : app.remaining(true)) {
    if (!starts_with(token, "-")) continue;
    message = "unknown option '" + token + "'";
    break;
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  std::cerr << report::paint(style, report::Ink::red, "error:") << " " << report::safe(message)
            << "\n";
  for (const std::string& token : app.remaining(true)) {
    if (!chosen.empty() && !starts_with(token, "-")) continue;
    for (const std::string& near : similar_flags(command, token)) {
      std::cerr << "  help: an option with a similar name exists: " << near << "\n";
    }
    if (chosen.empty()) {
      std::vector<std::string> names;
      for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
      const std::vector<std::string_view> views(names.begin(), names.end());
      for (const std::string& near : nearest_names(token, views, 1)) {
        std::cerr << "  help: a command with a similar name exists: " << near << "\n";
      }
    }
    break;
  }
  std::cerr << "  help: vramwise " << (chosen.empty() ? "" : command.get_name() + " ")
            << "--help\n";
  return kUsage;
}

constexpr const char* kExamples =
    "\nExamples:\n"
    "  vramwise plan llama-3.1-70b --weights Q4_K_M --engine llama.cpp \\\n"
    "      --gpu h100-sxm --ctx 64k --concurrency 2\n"
    "  vramwise plan Qwen/Qwen3-30B-A3B --gpu rtx-5090 --ctx 32k\n"
    "  vramwise plan --gpu h100-sxm -- vllm serve Qwen/Qwen3-30B-A3B \\\n"
    "      --tensor-parallel-size 2 --max-model-len 32768 --kv-cache-dtype fp8\n"
    "  vramwise explain ./config.json --gpu a100-sxm4-80 --count 2\n"
    "  vramwise inspect deepseek-v3\n"
    "  vramwise simulate llama-3.1-8b --gpu h100-sxm --lengths chat --ttft 1s --tpot 50ms\n"
    "  vramwise doctor;  vramwise models --gpu local\n"
    "\nExit codes: 0 fits, tight or answered; 1 does not fit or refuses to start; 2 usage;\n"
    "3 input; 4 unknown name; 70 a bug of ours; 130 interrupted.\n";

// The command that the line names. Options are set up for it alone, unless it lists those of all:
// they are some hundreds, and setting them up takes longer than most answers.
bool sets_up(std::string_view command, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (starts_with(word, "-")) continue;
    return word == command || word == "completions" || word == "man" || word == "__complete";
  }
  return false;
}

int run(int argc, char** argv) {
  CLI::App app{"Where every byte of GPU memory goes before you pay for the GPU."};
  app.name("vramwise");
  app.footer(kExamples);
  app.set_version_flag("--version", "vramwise " + std::string(api::version()));
  app.require_subcommand(0, 1);
  Output output;

  std::deque<Question> questions;
  const auto add_question = [&](const char* name, const char* help) {
    questions.push_back({});
    questions.back().ask = name;
    CLI::App* command = app.add_subcommand(name, help);
    if (sets_up(name, argc, argv)) add_question_options(*command, questions.back(), output);
    return command;
  };
  std::vector<CLI::App*> asks = {
      add_question("plan", "budget, verdict, capacity and what would help"),
      add_question("explain", "every row of the budget with its formula, numbers and source"),
      add_question("inspect", "a model: exact parameters, tensors, cache of each layer"),
      add_question("launch", "what an engine's launch line says, option by option"),
      add_question("max", "the largest context, concurrency, batch, … that fits"),
      add_question("gpus", "which GPUs hold it, cheapest first"),
      add_question("models", "which models of the catalog a GPU holds"),
      add_question("simulate", "a load run through the scheduler: users, waiting, latency, cost"),
  };
  asks[0]
      ->add_option("--save", questions[0].save, "also write a plan file, for `check` and `diff`")
      ->type_name("FILE")
      ->group("Output");
  std::string node_file;
  asks[0]
      ->add_option("--node", node_file,
                   "plan several programs on one node, in start order, from a YAML or JSON\n"
                   "file (docs/node-files.md); - reads standard input")
      ->type_name("FILE")
      ->group("Question");
  std::string emit;
  asks[0]
      ->add_option("--emit", emit, "print a manifest to run it: compose, k8s or llm-d")
      ->check(CLI::IsMember({"compose", "k8s", "llm-d"}))
      ->type_name("KIND")
      ->group("Output");
  std::string max_of = "context";
  asks[4]
      ->add_option("--of", max_of,
                   "context, concurrency, batch, lora, weights; rate or users under a promise\n"
                   "(default context)")
      ->type_name("WHAT")
      ->group("Question");
  std::string prices;
  asks[5]
      ->add_option("--prices", prices, "own prices instead of the catalog's: a JSON list of offers")
      ->type_name("FILE")
      ->group("Question");
  int max_count = 0;
  asks[5]
      ->add_option("--max-count", max_count, "most GPUs of one kind (default 8)")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->group("Question");

  Pictures pictures;
  asks[7]
      ->add_option("--svg", pictures.svg, "write occupancy over time as a picture")
      ->type_name("FILE")
      ->group("Output");
  asks[7]
      ->add_option("--html", pictures.html, "the same as a page with all figures")
      ->type_name("FILE")
      ->group("Output");

  VerifyCommand verify(app, output);
  CalibrationCommand calibration(app, output);

  std::string catalog_kind;
  std::string catalog_name;
  CLI::App* catalog = app.add_subcommand("catalog", "what is known: gpus, models, weights, …");
  catalog->add_option("KIND", catalog_kind,
                      "gpus, models, weights, engines, families, instances, speeds, workloads");
  catalog->add_option("NAME", catalog_name, "show this entry with its sources");
  add_output_options(*catalog, output);

  PlanFileCommands plan_files(app, output);

  CompareCommand compare(app, output);

  std::string batch_file;
  CLI::App* batch = app.add_subcommand("batch", "JSON Lines requests in, one answer a line out");
  batch->add_option("FILE", batch_file, "requests, one a line; - reads standard input")->required();

  CLI::App* doctor =
      app.add_subcommand("doctor", "this machine: GPUs, what holds their memory, limits");
  add_output_options(*doctor, output);

  WatchCommand watch;
  CLI::App* watch_command = add_watch(app, watch, output);
  LoadtestCommand loadtest;
  CLI::App* loadtest_command = add_loadtest(app, loadtest, output);

  bool only_path = false;
  CLI::App* web = app.add_subcommand("web", "the page: the same planner in a browser, offline");
  web->add_flag("--path", only_path, "print where the file is, open nothing");

  std::string shell;
  CLI::App* completions =
      app.add_subcommand("completions", "a completion script for bash, zsh or fish");
  completions->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  std::string manual_of;
  CLI::App* manual = app.add_subcommand("man", "the manual page, or that of a command, in roff");
  manual->add_option("COMMAND", manual_of, "the command; without it, the program's own page");
  std::vector<std::string> completed;  // kind and prefix, from a completion script
  CLI::App* candidates = app.add_subcommand("__complete", "")->group("");
  candidates->add_option("WORDS", completed)->expected(1, 2);

  // Whatever a command asks the catalog for, it finds one's own entries too.
  std::vector<std::string> catalog_folders;
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command == completions || command == manual || command == web) continue;
    command
        ->add_option("--catalog", catalog_folders,
                     "own GPUs, models and prices beside the catalog's: a folder with gpus/,\n"
                     "models/, instances/, one JSON file a thing; a config.json is a model too")
        ->type_name("DIR")
        ->allow_extra_args(false)
        ->take_all()
        ->group("Catalog");
  }

  // Everything behind `--` is an engine's own line, not ours.
  std::string launch_line;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    for (int k = i + 1; k < argc; ++k) {
      if (k > i + 1) launch_line += ' ';
      // One word is a whole line that the shell kept together.
      launch_line += argc == i + 2 ? std::string(argv[k]) : engines::shell_quoted(argv[k]);
    }
    argc = i;
    break;
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    app.exit(e, std::cout, std::cerr);
    return 0;
  } catch (const CLI::CallForAllHelp& e) {
    app.exit(e, std::cout, std::cerr);
    return 0;
  } catch (const CLI::CallForVersion& e) {
    app.exit(e, std::cout, std::cerr);
    return 0;
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e, output);
  }

  for (const std::string& folder : catalog_folders) {
    const auto added = host::add_catalog_folder(folder);
    if (!added) return show_error(added.error(), output);
  }
  for (size_t i = 0; i < asks.size(); ++i) {
    if (!asks[i]->parsed()) continue;
    if (!emit.empty()) questions[i].extra.set("emit", emit);
    if (questions[i].ask == "max") questions[i].extra.set("of", max_of);
    if (!prices.empty()) {
      auto list = read_price_list(prices);
      if (!list) return show_error(list.error(), output);
      questions[i].extra.set("prices", std::move(*list));
    }
    if (max_count > 0) questions[i].extra.set("max_count", max_count);
    questions[i].line = launch_line;
    const bool names_model = !questions[i].model.empty() || !questions[i].request_file.empty() ||
                             !questions[i].line.empty() || !questions[i].line_file.empty();
    const bool whole_node = !node_file.empty();
    if (whole_node && (names_model || !questions[i].save.empty() || !emit.empty())) {
      std::cerr << "error: --node plans the programs of its file, and another one was given\n"
                   "  help: put the model or the line into the file as a process\n"
                   "  help: --save and --emit are for one server\n";
      return kUsage;
    }
    if (whole_node) {
      auto request = read_node_file(node_file);
      if (!request) return show_error(request.error(), output);
      questions[i].ask = "node";
      questions[i].extra = std::move(*request);
    }
    if (!names_model && !whole_node && questions[i].ask != "models") {
      std::cerr << "error: no model given\n  help: vramwise " << questions[i].ask
                << " MODEL …, or --request FILE\n  help: vramwise catalog models\n";
      return kUsage;
    }
    return answer_question(questions[i], node_file, output, pictures);
  }
  if (verify.parsed()) return verify.run(launch_line);
  if (calibration.parsed()) return calibration.run();
  if (catalog->parsed()) {
    json::Value request = json::Value::object();
    request.set("ask", "catalog");
    if (!catalog_kind.empty()) request.set("kind", catalog_kind);
    if (!catalog_name.empty()) request.set("name", catalog_name);
    request.set("rows", true);
    return show(api::handle_value(request), output, false);
  }
  if (plan_files.parsed()) return plan_files.run(launch_line);
  if (compare.parsed()) return compare.run();
  if (completions->parsed()) {
    std::cout << completion_script(command_tree(app), shell);
    return 0;
  }
  if (manual->parsed()) {
    const std::string page = manual_page(command_tree(app), manual_of);
    if (page.empty()) {
      std::cerr << "error: there is no command '" << report::safe(manual_of)
                << "'\n  help: vramwise man\n";
      return 4;
    }
    std::cout << page;
    return 0;
  }
  if (candidates->parsed()) {
    const std::string prefix = completed.size() > 1 ? completed[1] : std::string();
    for (const std::string& name : complete(app, completed.front(), prefix)) {
      std::cout << name << "\n";
    }
    return 0;
  }
  if (doctor->parsed()) return run_doctor(output);
  if (web->parsed()) return run_web(only_path, output);
  if (loadtest_command->parsed()) return run_loadtest(loadtest, launch_line, output);
  if (watch_command->parsed()) return run_watch(watch, launch_line, output);
  if (batch->parsed()) return run_batch(batch_file);
  std::cerr << app.help();
  return kUsage;
}

}  // namespace
}  // namespace vramwise::cli

int main(int argc, char** argv) {
  try {
    const int status = vramwise::cli::run(argc, argv);
    return vramwise::cli::written() ? status : 3;
  } catch (const std::exception& e) {
    std::cerr << "error: a bug in vramwise: " << e.what()
              << "\n  help: please report it with the command line and `vramwise --version`\n";
    return 70;
  }
}
