// The commands that turn flags into one question for the core: plan and its kin.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "apps/cli/question.h"
#include "apps/cli/simulation.h"

namespace vramwise::cli {

class AskCommand;

struct Ask {
  std::string_view name;
  std::string_view help;
  void (*add_options)(AskCommand& command);  // beyond those that all share; null: none
};

// In the order of the help.
std::span<const Ask> asks();

class AskCommand : public Command {
 public:
  AskCommand(const Program& program, const Ask& ask);
  int run(const std::string& launch_line) override;

  // What the options of single commands fill.
  Question question;
  std::string node_file;  // where the programs of a whole node stand; empty: one program
  std::string emit;       // kind of manifest
  std::string max_of = "context";
  std::string prices;  // a file
  int max_count = 0;   // 0: the core's own
  Pictures pictures;

 private:
  // Errors: as the readers of the files named.
  Result<void> add_extra();
  int ask_core();

  Output& output_;
};

}  // namespace vramwise::cli
