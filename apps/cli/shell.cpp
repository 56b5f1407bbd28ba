#include "apps/cli/shell.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "apps/cli/command_tree.h"
#include "report/text.h"

namespace vramwise::cli {

CompletionsCommand::CompletionsCommand(const Program& program)
    : Command(
          program.app.add_subcommand("completions", "a completion script for bash, zsh or fish")),
      app_(program.app) {
  command_->add_option("SHELL", shell_, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

int CompletionsCommand::run(const std::string& /*launch_line*/) {
  std::cout << completion_script(command_tree(app_), shell_);
  return 0;
}

ManCommand::ManCommand(const Program& program)
    : Command(program.app.add_subcommand("man", "the manual page, or that of a command, in roff")),
      app_(program.app) {
  command_->add_option("COMMAND", name_, "the command; without it, the program's own page");
}

int ManCommand::run(const std::string& /*launch_line*/) {
  const std::string page = manual_page(command_tree(app_), name_);
  if (page.empty()) {
    std::cerr << "error: there is no command '" << report::safe(name_)
              << "'\n  help: vramwise man\n";
    return 4;
  }
  std::cout << page;
  return 0;
}

CandidatesCommand::CandidatesCommand(const Program& program)
    : Command(program.app.add_subcommand("__complete", "")->group("")), app_(program.app) {
  command_->add_option("WORDS", words_)->expected(1, 2);
}

int CandidatesCommand::run(const std::string& /*launch_line*/) {
  const std::string kind = words_.empty() ? std::string() : words_.front();
  const std::string prefix = words_.size() > 1 ? words_[1] : std::string();
  for (const std::string& name : complete(app_, kind, prefix)) std::cout << name << "\n";
  return 0;
}

}  // namespace vramwise::cli
