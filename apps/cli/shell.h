// What a shell and `man` are given: completions, manual pages.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/command.h"

namespace vramwise::cli {

class CompletionsCommand : public Command {
 public:
  explicit CompletionsCommand(const Program& program);
  bool asks_catalog() const override { return false; }
  int run(const std::string& launch_line) override;

 private:
  const CLI::App& app_;
  std::string shell_;
};

class ManCommand : public Command {
 public:
  explicit ManCommand(const Program& program);
  bool asks_catalog() const override { return false; }
  int run(const std::string& launch_line) override;

 private:
  const CLI::App& app_;
  std::string name_;  // of a command; empty: the program's own page
};

// Hidden: what a completion script asks.
class CandidatesCommand : public Command {
 public:
  explicit CandidatesCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  const CLI::App& app_;
  std::vector<std::string> words_;  // kind and prefix
};

}  // namespace vramwise::cli
