// `vramwise calibration list|remove|export|import`: runs that `verify --save` kept.
#pragma once

#include <string>

#include "apps/cli/output.h"
#include "json/value.h"

namespace vramwise::cli {

class CalibrationCommand {
 public:
  CalibrationCommand(CLI::App& app, Output& output);
  bool parsed() const;
  int run();

 private:
  int list() const;
  int remove() const;
  int export_runs() const;
  int import_runs() const;

  CLI::App* command_ = nullptr;
  CLI::App* list_ = nullptr;
  CLI::App* remove_ = nullptr;
  CLI::App* export_ = nullptr;
  CLI::App* import_ = nullptr;
  Output& output_;
  std::string number_;  // of the run to remove, or "all"
  std::string file_;
};

}  // namespace vramwise::cli
