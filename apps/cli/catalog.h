#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/output.h"

namespace vramwise::cli {

class CatalogCommand : public Command {
 public:
  explicit CatalogCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
  std::string kind_;
  std::string name_;
};

}  // namespace vramwise::cli
