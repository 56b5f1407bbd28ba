#include "apps/cli/compare.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "api/api.h"
#include "apps/cli/plan_file.h"
#include "host/files.h"
#include "report/text.h"

namespace vramwise::cli {

using json::Value;

CompareCommand::CompareCommand(const Program& program)
    : Command(program.app.add_subcommand("compare", "two plans beside each other, part by part")),
      output_(program.output) {
  if (!program.needs("compare")) return;
  shared_.ask = "compare";
  add_question_options(*command_, shared_, output_);
  command_->get_option("MODEL")->description(
      "the first side: a model, a request or plan file, or in quotes what `plan` takes:\n"
      "\"Qwen/Qwen3-8B --weights fp8\"");
  command_->add_option("OTHER", other_, "the second side; options hold for both");
}

Result<Value> CompareCommand::side(const std::string& words) const {
  if (host::exists(words) && is_plan_or_request(words)) {
    TRY_ASSIGN(Value saved, saved_side(words));
    // An answer that was saved stays as it is; a question takes the flags.
    if (saved.find("answer") != nullptr) return saved;
    Question question = shared_;
    question.ask = "plan";
    question.model.clear();
    question.base = std::move(saved);
    return build_request(question);
  }
  Question question;
  question.ask = "plan";
  Output ignored;
  CLI::App reader;
  add_question_options(reader, question, ignored);
  try {
    reader.parse(words);
  } catch (const CLI::ParseError& e) {
    return fail(Error(ErrorCode::invalid_input, std::string("a side cannot be read: ") + e.what())
                    .at(words)
                    .hint("a side is a file, or what `vramwise plan` takes, in quotes"));
  }
  // What a side does not say itself, the flags behind both say.
  for (size_t i = 0; i < question.values.size(); ++i) {
    if (question.values[i].empty()) question.values[i] = shared_.values[i];
  }
  if (question.file.empty()) question.file = shared_.file;
  if (question.revision.empty()) question.revision = shared_.revision;
  question.offline = question.offline || shared_.offline;
  question.no_calibration = shared_.no_calibration;
  return build_request(question);
}

int CompareCommand::run(const std::string& /*launch_line*/) {
  if (shared_.model.empty() || other_.empty()) {
    std::cerr << "error: two sides are needed\n"
                 "  help: vramwise compare Qwen/Qwen3-8B Qwen/Qwen3-14B --gpu l40s --ctx 8k\n"
                 "  help: vramwise compare \"Qwen/Qwen3-8B --gpu l40s\" \"Qwen/Qwen3-8B --gpu "
                 "h100-sxm\"\n"
                 "  help: vramwise compare before.json after.json\n";
    return 2;
  }
  Value request = Value::object();
  request.set("ask", "compare");
  for (const auto& [key, words] : {std::pair{"a", &shared_.model}, std::pair{"b", &other_}}) {
    auto one = side(*words);
    if (!one) return show_error(one.error(), output_);
    one->erase("ask");
    request.set(key, std::move(*one));
  }
  if (output_.print_request) {
    std::cout << json::dump(request, 2) << "\n";
    return 0;
  }
  return show(api::handle_value(request), output_, false);
}

}  // namespace vramwise::cli
