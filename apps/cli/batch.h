// `vramwise batch`: JSON Lines in, one answer a line out, in the same order.
#pragma once

#include <string>

#include "apps/cli/command.h"

namespace vramwise::cli {

class BatchCommand : public Command {
 public:
  explicit BatchCommand(const Program& program);
  // Exit status 0 when every line was answered, 3 when any answer is an error.
  int run(const std::string& launch_line) override;

 private:
  std::string path_;  // "-" reads standard input
};

}  // namespace vramwise::cli
