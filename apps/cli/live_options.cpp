#include "apps/cli/live_options.h"

#include <CLI/CLI.hpp>

#include "api/api.h"
#include "base/text.h"

namespace vramwise::cli {

void add_live_option(CLI::App& command, size_t row, std::string_view names, std::string_view value,
                     std::string_view group, std::string_view help, GivenOptions& given) {
  const auto note = [&given, row](const std::string& text) { given.push_back({row, text}); };
  if (value.empty()) {
    command.add_flag_callback(
               std::string(names), [note] { note(""); }, std::string(help))
        ->group(std::string(group));
    return;
  }
  command.add_option_function<std::string>(std::string(names), note, std::string(help))
      ->type_name(std::string(value))
      ->group(std::string(group))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Result<double> parse_duration(const std::string& value, std::string_view flag, double least,
                              double most) {
  double factor = 1;
  std::string_view number = trim(value);
  for (const auto& [unit, seconds] :
       {std::pair<std::string_view, double>{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}}) {
    if (!ends_with(number, unit)) continue;
    factor = seconds;
    number.remove_suffix(unit.size());
    break;
  }
  const auto parsed = parse_number(number);
  if (!parsed || *parsed * factor < least || *parsed * factor > most) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + value.substr(0, 40) + "' is not a time between " +
                          format_number(least) + " s and " + format_number(most) + " s")
                    .at(std::string(flag))
                    .hint("write 30s, 5m or 1h"));
  }
  return *parsed * factor;
}

Result<int64_t> parse_count(const std::string& value, std::string_view flag, int64_t least,
                            int64_t most) {
  const auto parsed = parse_integer(trim(value));
  if (!parsed || *parsed < least || *parsed > most) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + value.substr(0, 40) + "' is not a whole number between " +
                          format_grouped(least) + " and " + format_grouped(most))
                    .at(std::string(flag)));
  }
  return *parsed;
}

bool looks_like_server(const std::string& text) {
  if (starts_with(text, "http://") || starts_with(text, "https://")) return true;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return text == "localhost";
  const std::string_view port = std::string_view(text).substr(colon + 1);
  const std::string_view digits = port.substr(0, port.find('/'));
  return !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos &&
         !contains(text.substr(0, colon), "/");
}

Result<std::optional<host::PlanView>> find_plan(const std::string& plan_file,
                                                const Question& question) {
  if (!plan_file.empty()) {
    TRY_ASSIGN(host::PlanView view, host::read_plan_file(plan_file));
    return view;
  }
  if (question.model.empty() && question.request_file.empty() && question.line.empty() &&
      question.line_file.empty()) {
    return std::nullopt;
  }
  TRY_ASSIGN(json::Value request, build_request(question));
  request.set("levers", false);
  TRY_ASSIGN(host::PlanView view, host::view_plan(api::handle_value(request)));
  return view;
}

}  // namespace vramwise::cli
