// `vramwise calibration list|remove|export|import`: runs that `verify --save` kept.
#pragma once

#include <string>

#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "json/value.h"

namespace vramwise::cli {

class CalibrationCommand : public Command {
 public:
  explicit CalibrationCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  int list() const;
  int remove() const;
  int export_runs() const;
  int import_runs() const;

  CLI::App* list_ = nullptr;
  CLI::App* remove_ = nullptr;
  CLI::App* export_ = nullptr;
  CLI::App* import_ = nullptr;
  Output& output_;
  std::string number_;  // of the run to remove, or "all"
  std::string file_;
};

}  // namespace vramwise::cli
