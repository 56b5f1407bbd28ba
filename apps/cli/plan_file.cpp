#include "apps/cli/plan_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "api/answer.h"
#include "api/api.h"
#include "apps/cli/options.h"
#include "base/text.h"
#include "host/files.h"
#include "host/model_source.h"
#include "json/parse.h"
#include "report/text.h"

namespace vramwise::cli {
namespace {

using json::Value;

constexpr std::string_view kMark = "vramwise_plan";
constexpr int64_t kPlanFileVersion = 1;

std::string text(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

int64_t total_of(const Value& answer) {
  const Value* totals = answer.find("totals");
  const Value* total = totals != nullptr ? totals->find("total_bytes") : nullptr;
  return total != nullptr && total->is_integer() ? total->as_integer() : 0;
}

// A plan file, or a bare request, which is one without an answer.
Result<Value> read_plan(const std::string& path) {
  TRY_ASSIGN(const std::string content, host::read_file(path, kRequestLimit));
  TRY_ASSIGN(Value file, json::parse(content, path));
  const Value* version = file.find(kMark);
  if (version == nullptr) {
    if (file.find("model") == nullptr && file.find("line") == nullptr) {
      return fail(Error(ErrorCode::invalid_input, "this is neither a plan file nor a request")
                      .at(path)
                      .hint("save one with `vramwise plan … --save FILE`"));
    }
    Value plan = Value::object();
    plan.set("request", std::move(file));
    return plan;
  }
  if (!version->is_integer() || version->as_integer() != kPlanFileVersion) {
    return fail(Error(ErrorCode::unsupported,
                      "the plan file has format " + json::dump(*version) + ", this build reads 1")
                    .at(path)
                    .hint("save it again with this version of vramwise"));
  }
  const Value* request = file.find("request");
  if (request == nullptr || !request->is_object()) {
    return fail(Error(ErrorCode::missing_field, "the plan file has no request").at(path));
  }
  return file;
}

bool is_plan_file(const std::string& path) {
  if (!ends_with(path, ".json") || !host::exists(path) || host::is_directory(path)) return false;
  const auto content = host::read_file(path, kRequestLimit);
  const auto file = content ? json::parse(*content, path) : fail(Error(content.error()));
  return file && file->is_object() && file->find(kMark) != nullptr;
}

Value compare_request(Value a, Value b) {
  Value request = Value::object();
  request.set("ask", "compare");
  request.set("a", std::move(a));
  request.set("b", std::move(b));
  return request;
}

// The saved answer of a plan file where it has one, else its question.
Value side_of(const Value& plan) {
  const Value* answer = plan.find("answer");
  if (answer == nullptr) return *plan.find("request");
  Value side = Value::object();
  side.set("answer", *answer);
  return side;
}

Value with_version(Value request, const std::string& version) {
  Value* engine = request.find("engine");
  Value& target = engine != nullptr ? *engine : request.set("engine", Value::object());
  target.set("version", version);
  return request;
}

}  // namespace

bool is_plan_or_request(const std::string& path) {
  if (host::is_directory(path)) return false;
  const auto content = host::read_file(path, kRequestLimit);
  const auto file = content ? json::parse(*content, path) : fail(Error(content.error()));
  return file && file->is_object() &&
         (file->find(kMark) != nullptr || file->find("model") != nullptr ||
          file->find("line") != nullptr);
}

Result<Value> saved_side(const std::string& path) {
  TRY_ASSIGN(const Value plan, read_plan(path));
  return side_of(plan);
}

Result<void> save_plan(const std::string& path, const Value& request, const Value& answer) {
  Value file = Value::object();
  file.set(kMark, kPlanFileVersion);
  file.set("version", api::version());
  file.set("request", request);
  file.set("answer", answer);
  // Beside the target and then in its place: a reader never meets half a file.
  const std::string beside = path + ".part";
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out << json::dump(file, 2) << "\n";
    out.flush();
    if (!out) {
      std::remove(beside.c_str());
      return fail(Error(ErrorCode::invalid_input, "the plan cannot be written")
                      .at(path)
                      .hint("does the folder exist, and may you write there?"));
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    std::remove(beside.c_str());
    return fail(Error(ErrorCode::invalid_input, "the plan cannot be put in place").at(path));
  }
  return {};
}

CheckCommand::CheckCommand(const Program& program)
    : Command(program.app.add_subcommand("check",
                                         "plan files again: exit status 0 while they still fit")),
      output_(program.output) {
  command_->add_option("FILE", files_, "plan files (plan --save) or requests")->required();
  command_
      ->add_option("--max-growth", growth_,
                   "fail when the fullest card takes more than this beyond what was saved")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PERCENT")
      ->group("Question");
  command_->add_flag("--no-tight", no_tight_, "fail also when it is decided inside the error bars")
      ->group("Question");
  add_output_options(*command_, output_);
}

DiffCommand::DiffCommand(const Program& program)
    : Command(program.app.add_subcommand(
          "diff", "two models or files tensor by tensor; two plan files, or two engine versions")),
      output_(program.output) {
  if (!program.needs("diff")) return;
  question_.ask = "diff";
  add_question_options(*command_, question_, output_);
  command_->add_option("OTHER", other_, "the second file, folder, name or plan file");
  command_->get_option("--engine-version")
      ->expected(1, 2)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("V V");
}

int CheckCommand::run(const std::string& /*launch_line*/) {
  Value list = Value::array();
  bool passed = true;
  for (const std::string& path : files_) {
    const auto plan = read_plan(path);
    if (!plan) return show_error(plan.error(), output_);
    Value request = *plan->find("request");
    if (auto read = host::resolve_sources(request, {}); !read) {
      return show_error(read.error(), output_);
    }
    request.set("ask", "plan");
    request.set("levers", false);
    const Value answer = api::handle_value(request);
    if (answer.find("error") != nullptr) return show(answer, output_);
    Value item = Value::object();
    item.set("file", path);
    const std::string outcome = text(answer, "outcome");
    bool pass = outcome == "fits" || (outcome == "tight" && !no_tight_);
    item.set("outcome", outcome);
    item.set("answer", text(answer, "answer"));
    if (const Value* saved = plan->find("answer")) {
      const int64_t before = total_of(*saved), after = total_of(answer);
      item.set("saved_version", text(*plan, "version"));
      item.set("saved_outcome", text(*saved, "outcome"));
      item.set("saved_total_bytes", before);
      item.set("total_bytes", after);
      const double percent = before > 0 ? 100.0 * double(after - before) / double(before) : 0;
      item.set("growth_percent", percent);
      if (growth_ >= 0 && percent > growth_) pass = false;
    }
    item.set("pass", pass);
    passed = passed && pass;
    list.push(std::move(item));
  }
  Value answer = Value::object();
  answer.set("schema_version", api::kSchemaVersion);
  answer.set("check", std::move(list));
  answer.set("outcome_of_check", passed ? "pass" : "fail");
  show(answer, output_);
  return passed || output_.exit_zero ? 0 : 1;
}

int DiffCommand::run(const std::string& launch_line) {
  question_.line = launch_line;
  const auto options = request_options();
  std::vector<std::string> versions;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i].names != "--engine-version") continue;
    versions.swap(question_.values[i]);
    if (versions.size() == 1) question_.values[i] = versions;
  }
  if (versions.size() == 2) {
    if (!other_.empty()) {
      std::cerr << "error: two engine versions compare one question, and a second side was given\n"
                   "  help: leave out '"
                << report::safe(other_) << "', or give one version\n";
      return kUsage;
    }
    Value request;
    if (is_plan_file(question_.model)) {
      const auto plan = read_plan(question_.model);
      if (!plan) return show_error(plan.error(), output_);
      request = *plan->find("request");
    } else {
      auto built = build_request(question_);
      if (!built) return show_error(built.error(), output_);
      request = std::move(*built);
    }
    request.erase("ask");
    Value both =
        compare_request(with_version(request, versions[0]), with_version(request, versions[1]));
    if (output_.print_request) {
      std::cout << json::dump(both, 2) << "\n";
      return 0;
    }
    return show(api::handle_value(both), output_);
  }
  if (is_plan_file(question_.model)) {
    const auto first = read_plan(question_.model);
    if (!first) return show_error(first.error(), output_);
    // Alone, a plan file is set beside what this build says today.
    if (other_.empty()) {
      return show(api::handle_value(compare_request(side_of(*first), *first->find("request"))),
                  output_);
    }
    const auto second = read_plan(other_);
    if (!second) return show_error(second.error(), output_);
    return show(api::handle_value(compare_request(side_of(*first), side_of(*second))), output_);
  }
  if (question_.model.empty() || other_.empty()) {
    std::cerr
        << "error: two sides are needed\n  help: vramwise diff A B, vramwise diff plan.json "
           "other.json, or\n  help: vramwise diff MODEL --gpu ID --engine-version 0.20 0.21\n";
    return kUsage;
  }
  Value request = Value::object();
  request.set("ask", "diff");
  const std::string* sides[] = {&question_.model, &other_};
  for (int i = 0; i < 2; ++i) {
    Value model = Value::object();
    model.set(host::looks_like_path(*sides[i]) ? "path" : "ref", *sides[i]);
    request.set(i == 0 ? "a" : "b", Value::object()).set("model", std::move(model));
  }
  if (auto read = host::resolve_sources(request, {.offline = question_.offline}); !read) {
    return show_error(read.error(), output_);
  }
  return show(api::handle_value(request), output_);
}

}  // namespace vramwise::cli
