#include "apps/cli/question.h"

#include <CLI/CLI.hpp>

#include "apps/cli/load_options.h"
#include "apps/cli/options.h"
#include "host/calibration_store.h"
#include "host/files.h"
#include "host/machine/local_hardware.h"
#include "host/model_source.h"
#include "json/parse.h"

namespace vramwise::cli {

namespace {

// What a command cannot do without is asked for in the words of its flags, not of the request.
Result<void> check_complete(const Question& question, const json::Value& request) {
  if (!question.request_file.empty() || question.base.is_object()) return {};
  // A file that is not there is the first thing to say; its reader does.
  if (host::looks_like_path(question.model) && !host::exists(question.model)) return {};
  const auto missing = [&](const char* message) {
    return Error(ErrorCode::missing_field, message);
  };
  const bool simulates = question.ask == "simulate";
  if (simulates && request.find("workload") == nullptr) {
    return fail(missing("no load given")
                    .hint("--lengths chat, or a trace: --lengths FILE; names: vramwise catalog "
                          "workloads"));
  }
  const bool plans = question.ask == "plan" || question.ask == "explain" || question.ask == "max" ||
                     question.ask == "models" || simulates;
  if (plans && request.find("hardware") == nullptr) {
    Error error =
        missing("no GPU given")
            .hint(
                "--gpu h100-sxm, or --gpu local for this machine's; names: vramwise catalog gpus");
    if (question.ask == "models") return fail(std::move(error));
    return fail(std::move(error).hint("which GPUs hold it: vramwise gpus MODEL"));
  }
  return {};
}

}  // namespace

Result<json::Value> build_request(const Question& question) {
  json::Value request = question.base.is_object() ? question.base : json::Value::object();
  request.set("schema_version", 1);
  request.set("ask", question.ask == "explain" ? "plan" : question.ask);
  if (!question.request_file.empty()) {
    TRY_ASSIGN(const std::string text, host::read_file(question.request_file, kRequestLimit));
    TRY_ASSIGN(request, json::parse(text, question.request_file));
    if (!request.is_object()) {
      return fail(Error(ErrorCode::invalid_input, "a request must be a JSON object")
                      .at(question.request_file));
    }
    if (request.find("ask") == nullptr && question.ask != "explain")
      request.set("ask", question.ask);
  }
  if (!question.model.empty()) {
    json::Value model = json::Value::object();
    // Something that is on disk, or looks like a path, is a path; everything else is a name.
    model.set(host::looks_like_path(question.model) ? "path" : "ref", question.model);
    if (!question.file.empty()) model.set("file", question.file);
    if (!question.revision.empty()) model.set("revision", question.revision);
    request.set("model", std::move(model));
  }
  if (!question.line.empty()) request.set("line", question.line);
  if (!question.line_file.empty()) {
    TRY_ASSIGN(const std::string text, host::read_file(question.line_file, kLineLimit));
    request.set("line", text);
  }
  for (const json::Member& member : question.extra.as_object()) {
    if (request.find(member.key) == nullptr) request.set(member.key, member.value);
  }
  const auto options = request_options();
  std::string arrivals;  // the flag that says how requests come
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string flag(options[i].names.substr(options[i].names.find("--")));
    if (!question.values[i].empty() &&
        (flag == "--rate" || flag == "--users" || flag == "--replay")) {
      if (!arrivals.empty()) {
        return fail(Error(ErrorCode::inconsistent,
                          arrivals + " and " + flag + " both say how requests come")
                        .at(flag)
                        .hint("give one of them: --rate N, --users N or --replay SPEED"));
      }
      arrivals = flag;
    }
    for (const std::string& value : question.values[i]) {
      TRY(options[i].apply(request, value, flag));
    }
  }
  // Runs that were measured here, unless the request brings its own.
  const bool plans = question.ask == "plan" || question.ask == "explain";
  if (plans && !question.no_calibration && request.find("calibration") == nullptr) {
    TRY_ASSIGN(json::Value runs, host::load_calibration());
    if (!runs.as_array().empty()) request.set("calibration", std::move(runs));
  }
  if (question.tensors) request.set("tensors", true);
  if (question.show_options) request.set("show_options", true);
  TRY(check_complete(question, request));
  TRY(read_trace_file(request));
  host::SourceOptions sources;
  sources.offline = question.offline;
  TRY(host::resolve_sources(request, sources));
  TRY(host::resolve_local_hardware(request));
  return request;
}

void add_question_options(CLI::App& command, Question& question, Output& output) {
  command.add_option(
      "MODEL", question.model,
      "catalog name (Qwen/Qwen3-8B, llama-3.1-70b), hub id (hf:org/name:Q4_K_M,\n"
      "ollama:llama3.1:8b, ms:org/name), GGUF or safetensors file, config.json, folder");
  for (const OptionSpec& spec : request_options()) {
    question.values.emplace_back();
    if (question.own_load && spec.group == "Load") continue;
    auto* option =
        command.add_option(std::string(spec.names), question.values.back(), std::string(spec.help))
            ->type_name(std::string(spec.value))
            ->group(std::string(spec.group))
            ->allow_extra_args(false);
    if (spec.repeatable) {
      option->take_all();
    } else {
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  command.add_option("--file", question.file, "which file of a repository or folder, e.g. a GGUF")
      ->type_name("NAME")
      ->group("Model");
  command
      .add_option("--revision", question.revision, "branch, tag or commit of a hub's repository")
      ->type_name("REV")
      ->group("Model");
  command.add_flag("--offline", question.offline, "use what is on disk; ask no hub")
      ->group("Model");
  if (question.ask == "plan" || question.ask == "explain") {
    command
        .add_flag("--no-calibration", question.no_calibration,
                  "plan by the rules alone, without runs saved by `verify --save`")
        ->group("Engine");
  }
  if (question.ask == "plan") {
    command
        .add_flag("--show-options", question.show_options,
                  "every option the plan rests on: value, who decided it, what it moves")
        ->group("Output");
  }
  if (question.ask == "inspect") {
    command.add_flag("--tensors", question.tensors, "every tensor with its shape, type and bytes")
        ->group("Output");
  }
  command
      .add_option("--line", question.line_file,
                  "launch line, script, compose file or manifest to read; - reads standard input")
      ->type_name("FILE")
      ->group("Engine");
  command.add_option("--request", question.request_file, "a JSON request; - reads standard input")
      ->type_name("FILE")
      ->group("Output");
  command.add_flag("--print-request", output.print_request, "the JSON that the flags mean")
      ->group("Output");
  add_output_options(command, output);
}

}  // namespace vramwise::cli
