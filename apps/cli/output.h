// What every command shares: the flags about output, and how an answer reaches the person.
#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"
#include "report/style.h"

namespace CLI {
class App;
}

namespace vramwise::cli {

inline constexpr int kUsage = 2;  // exit status: the command line itself is wrong

struct Output {
  std::string color = "auto";
  int width = 0;
  bool json = false;
  std::string json_format;  // of --json=FORMAT: "lines" where an answer has many
  bool ascii = false;
  bool exact = false;
  bool exit_zero = false;
  bool print_request = false;
  int verbosity = 0;

  report::Style style(bool for_stderr = false) const;
};

// Registers the flags of `output` with a command.
void add_output_options(CLI::App& command, Output& output);

// Prints an answer: JSON or text on standard output, errors as text on standard error. Returns the
// exit status.
int show(const json::Value& answer, const Output& output, bool explain = false);
int show_error(const Error& error, const Output& output);

// Whether all of standard output could be written; says so on standard error where it could not
// (a full disk), so that no half answer passes for a whole one.
bool written();

}  // namespace vramwise::cli
