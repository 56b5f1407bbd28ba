// Flags of the commands that look at a running server, one row each as in options.h, and what they
// share: the server, the plan beside it, the samples of the cards.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "apps/cli/question.h"
#include "base/result.h"
#include "host/live/plan_view.h"

namespace vramwise::cli {

template <class Options>
struct LiveOption {
  std::string_view names;
  std::string_view value;  // placeholder; empty: a flag without value
  std::string_view group;
  std::string_view help;
  Result<bool> (*apply)(Options& options, const std::string& value, std::string_view flag);
};

// Registers the rows with a command; what was given is applied by apply_live_options().
struct GivenOption {
  size_t row = 0;
  std::string value;
};
using GivenOptions = std::vector<GivenOption>;
void add_live_option(CLI::App& command, size_t row, std::string_view names, std::string_view value,
                     std::string_view group, std::string_view help, GivenOptions& given);

template <class Options>
void add_live_options(CLI::App& command, std::span<const LiveOption<Options>> rows,
                      GivenOptions& given) {
  for (size_t i = 0; i < rows.size(); ++i) {
    add_live_option(command, i, rows[i].names, rows[i].value, rows[i].group, rows[i].help, given);
  }
}

template <class Options>
Result<bool> apply_live_options(std::span<const LiveOption<Options>> rows,
                                const GivenOptions& given, Options& options) {
  for (const GivenOption& option : given) {
    const auto& row = rows[option.row];
    const std::string flag(row.names.substr(row.names.find("--")));
    TRY(row.apply(options, option.value, flag));
  }
  return true;
}

// A command that looks at a running server, beside a plan where one is asked for.
class LiveCommand : public Command {
 protected:
  LiveCommand(CLI::App* command, Output& output) : Command(command), output_(output) {}

  Output& output_;
  Question question_;  // the plan, by the usual flags
  std::string server_;
  GivenOptions given_;
};

// "30", "30s", "5m", "1h" within limits, in seconds. Errors: invalid_input naming the flag.
Result<double> parse_duration(const std::string& value, std::string_view flag, double least,
                              double most);
// A whole number within limits.
Result<int64_t> parse_count(const std::string& value, std::string_view flag, int64_t least,
                            int64_t most);

// A text that means a server rather than a model: "http://…", "localhost:8000", "10.0.0.1:80".
bool looks_like_server(const std::string& text);

// The plan to hold the server to: from a file, else from the usual flags where they name a model.
Result<std::optional<host::PlanView>> find_plan(const std::string& plan_file,
                                                const Question& question);

}  // namespace vramwise::cli
