#include "apps/cli/ask.h"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <utility>

#include "api/api.h"
#include "apps/cli/node_file.h"
#include "apps/cli/plan_file.h"
#include "host/files.h"
#include "json/parse.h"

namespace vramwise::cli {
namespace {

void add_plan_options(AskCommand& plan) {
  plan.app()
      .add_option("--save", plan.question.save, "also write a plan file, for `check` and `diff`")
      ->type_name("FILE")
      ->group("Output");
  plan.app()
      .add_option("--node", plan.node_file,
                  "plan several programs on one node, in start order, from a YAML or JSON\n"
                  "file (docs/node-files.md); - reads standard input")
      ->type_name("FILE")
      ->group("Question");
  plan.app()
      .add_option("--emit", plan.emit, "print a manifest to run it: compose, k8s or llm-d")
      ->check(CLI::IsMember({"compose", "k8s", "llm-d"}))
      ->type_name("KIND")
      ->group("Output");
}

void add_max_options(AskCommand& max) {
  max.app()
      .add_option("--of", max.max_of,
                  "context, concurrency, batch, lora, weights; rate or users under a promise\n"
                  "(default context)")
      ->type_name("WHAT")
      ->group("Question");
}

void add_gpus_options(AskCommand& gpus) {
  gpus.app()
      .add_option("--prices", gpus.prices,
                  "own prices instead of the catalog's: a JSON list of offers")
      ->type_name("FILE")
      ->group("Question");
  gpus.app()
      .add_option("--max-count", gpus.max_count, "most GPUs of one kind (default 8)")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->group("Question");
}

void add_simulate_options(AskCommand& simulate) {
  simulate.app()
      .add_option("--svg", simulate.pictures.svg, "write occupancy over time as a picture")
      ->type_name("FILE")
      ->group("Output");
  simulate.app()
      .add_option("--html", simulate.pictures.html, "the same as a page with all figures")
      ->type_name("FILE")
      ->group("Output");
}

constexpr auto kAsks = std::to_array<Ask>({
    {"plan", "budget, verdict, capacity and what would help", add_plan_options},
    {"explain", "every row of the budget with its formula, numbers and source", nullptr},
    {"inspect", "a model: exact parameters, tensors, cache of each layer", nullptr},
    {"launch", "what an engine's launch line says, option by option", nullptr},
    {"max", "the largest context, concurrency, batch, … that fits", add_max_options},
    {"gpus", "which GPUs hold it, cheapest first", add_gpus_options},
    {"models", "which models of the catalog a GPU holds", nullptr},
    {"simulate", "a load run through the scheduler: users, waiting, latency, cost",
     add_simulate_options},
});

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

}  // namespace

std::span<const Ask> asks() { return kAsks; }

AskCommand::AskCommand(const Program& program, const Ask& ask)
    : Command(program.app.add_subcommand(std::string(ask.name), std::string(ask.help))),
      output_(program.output) {
  question.ask = std::string(ask.name);
  if (program.needs(ask.name)) add_question_options(*command_, question, output_);
  if (ask.add_options != nullptr) ask.add_options(*this);
}

Result<void> AskCommand::add_extra() {
  if (!emit.empty()) question.extra.set("emit", emit);
  if (question.ask == "max") question.extra.set("of", max_of);
  if (max_count > 0) question.extra.set("max_count", max_count);
  if (!prices.empty()) {
    TRY_ASSIGN(json::Value list, read_price_list(prices));
    question.extra.set("prices", std::move(list));
  }
  return {};
}

int AskCommand::run(const std::string& launch_line) {
  if (auto added = add_extra(); !added) return show_error(added.error(), output_);
  question.line = launch_line;
  const bool names_model = !question.model.empty() || !question.request_file.empty() ||
                           !question.line.empty() || !question.line_file.empty();
  if (!node_file.empty()) {
    if (names_model || !question.save.empty() || !emit.empty()) {
      std::cerr << "error: --node plans the programs of its file, and another one was given\n"
                   "  help: put the model or the line into the file as a process\n"
                   "  help: --save and --emit are for one server\n";
      return kUsage;
    }
    auto request = read_node_file(node_file);
    if (!request) return show_error(request.error(), output_);
    question.ask = "node";
    question.extra = std::move(*request);
  } else if (!names_model && question.ask != "models") {
    std::cerr << "error: no model given\n  help: vramwise " << question.ask
              << " MODEL …, or --request FILE\n  help: vramwise catalog models\n";
    return kUsage;
  }
  return ask_core();
}

int AskCommand::ask_core() {
  auto request = build_request(question);
  if (!request) return show_error(request.error(), output_);
  if (output_.print_request) {
    std::cout << json::dump(*request, 2) << "\n";
    return 0;
  }
  if (question.ask == "simulate") return run_simulation(*request, output_, pictures);
  // Those of a load simulate.
  const bool watched = question.ask == "max" || question.ask == "gpus";
  Watched asked = watched ? ask_watched(*request) : Watched{api::handle_value(*request)};
  json::Value& answer = asked.answer;
  if (!node_file.empty()) name_node_file(answer, node_file);
  if (!question.save.empty() && answer.find("error") == nullptr) {
    if (auto saved = save_plan(question.save, *request, answer); !saved) {
      return show_error(saved.error(), output_);
    }
  }
  const int status = show(answer, output_, question.ask == "explain");
  return asked.interrupted ? kInterrupted : status;
}

}  // namespace vramwise::cli
