#include "apps/cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "api/answer.h"
#include "api/api.h"
#include "apps/cli/terminal.h"
#include "report/text.h"

namespace vramwise::cli {

report::Style Output::style(bool for_stderr) const {
  report::Style s = detect_style(color, width, ascii, for_stderr);
  s.exact = exact;
  s.verbosity = verbosity;
  return s;
}

void add_output_options(CLI::App& command, Output& output) {
  command
      .add_flag("--json", output.json_format,
                "one JSON document on standard output (--json=lines where there are many)")
      ->check(CLI::IsMember({"true", "lines"}).description(""))
      ->each([&output](const std::string&) { output.json = true; })
      ->group("Output");
  command.add_flag("-v", output.verbosity, "more: -v all assumptions, -vv formulas")
      ->group("Output");
  command.add_flag("--exact", output.exact, "whole bytes")->group("Output");
  command.add_option("--color", output.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->group("Output");
  command.add_option("--width", output.width, "columns (default: the terminal's)")
      ->check(CLI::Range(20, 1000))
      ->type_name("N")
      ->group("Output");
  command.add_flag("--ascii", output.ascii, "no characters beyond ASCII")->group("Output");
  command.add_flag("--exit-zero", output.exit_zero, "exit 0 also when it does not fit")
      ->group("Output");
}

int show(const json::Value& answer, const Output& output, bool explain) {
  if (output.json) {
    std::cout << json::dump(answer, 2) << "\n";
  } else if (answer.find("error") != nullptr) {
    std::cerr << report::error_text(answer, output.style(true));
  } else {
    const report::Style style = output.style();
    std::cout << (explain ? report::explain_text(answer, style) : report::to_text(answer, style));
  }
  std::cout.flush();
  const int status = api::exit_status(answer);
  return output.exit_zero && status == 1 ? 0 : status;
}

int show_error(const Error& error, const Output& output) {
  return show(api::error_answer(json::Value(), error), output);
}

bool written() {
  std::cout.flush();
  if (std::cout) return true;
  // Who closes a pipe has read enough: `| head`.
  struct stat target = {};
  const bool there = ::fstat(STDOUT_FILENO, &target) == 0;
  if (there && (S_ISFIFO(target.st_mode) || S_ISSOCK(target.st_mode))) return true;
  std::cerr << "error: the answer could not be written whole\n  --> standard output\n  help: "
            << (there ? "is there room left where it goes?" : "it is closed") << "\n";
  return false;
}

}  // namespace vramwise::cli
