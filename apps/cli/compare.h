// `compare A B`: two questions beside each other. A side is a file (a request, a plan file) or the
// words that `plan` takes, in quotes where there are several; flags of compare itself hold for
// both.
#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "apps/cli/question.h"

namespace vramwise::cli {

class CompareCommand : public Command {
 public:
  explicit CompareCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  // Errors: invalid_input for words that `plan` would not take, and as build_request.
  Result<json::Value> side(const std::string& words) const;

  Output& output_;
  Question shared_;    // its model is the first side
  std::string other_;  // the second
};

}  // namespace vramwise::cli
