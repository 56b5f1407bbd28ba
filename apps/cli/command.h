// A command of the program: it registers its options when it is made and runs when the line names
// it. commands.cpp lists them all.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/output.h"

namespace vramwise::cli {

// What commands are added to. `output` and `app` outlive them.
struct Program {
  CLI::App& app;
  Output& output;
  std::string_view named;  // the command that the line names; empty: none

  // Whether the options of a command are needed: the line names it or lists those of all. Setting
  // up the hundreds of plan's options takes longer than most answers, and many commands have them.
  bool needs(std::string_view command) const;
};

class Command {
 public:
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  bool parsed() const;
  CLI::App& app() const { return *command_; }
  // Whether entries of the user's own, beside the catalog's, can matter to it.
  virtual bool asks_catalog() const { return true; }
  // `launch_line`: an engine's own line, from behind `--`. The exit status.
  virtual int run(const std::string& launch_line) = 0;

 protected:
  // `command` was added to the program and belongs to it.
  explicit Command(CLI::App* command) : command_(command) {}

  CLI::App* command_;
};

}  // namespace vramwise::cli
