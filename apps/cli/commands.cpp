#include "apps/cli/commands.h"

#include <CLI/CLI.hpp>

#include "apps/cli/ask.h"
#include "apps/cli/batch.h"
#include "apps/cli/calibration.h"
#include "apps/cli/catalog.h"
#include "apps/cli/compare.h"
#include "apps/cli/doctor.h"
#include "apps/cli/loadtest.h"
#include "apps/cli/plan_file.h"
#include "apps/cli/shell.h"
#include "apps/cli/verify.h"
#include "apps/cli/watch.h"
#include "apps/cli/web.h"

namespace vramwise::cli {

bool Program::needs(std::string_view command) const {
  return named == command || named == "completions" || named == "man" || named == "__complete";
}

bool Command::parsed() const { return command_->parsed(); }

std::vector<std::unique_ptr<Command>> add_commands(const Program& program) {
  std::vector<std::unique_ptr<Command>> all;
  for (const Ask& ask : asks()) {
    all.push_back(std::make_unique<AskCommand>(program, ask));
  }
  all.push_back(std::make_unique<VerifyCommand>(program));
  all.push_back(std::make_unique<CalibrationCommand>(program));
  all.push_back(std::make_unique<CatalogCommand>(program));
  all.push_back(std::make_unique<CheckCommand>(program));
  all.push_back(std::make_unique<DiffCommand>(program));
  all.push_back(std::make_unique<CompareCommand>(program));
  all.push_back(std::make_unique<BatchCommand>(program));
  all.push_back(std::make_unique<DoctorCommand>(program));
  all.push_back(std::make_unique<WatchCommand>(program));
  all.push_back(std::make_unique<LoadtestCommand>(program));
  all.push_back(std::make_unique<WebCommand>(program));
  all.push_back(std::make_unique<CompletionsCommand>(program));
  all.push_back(std::make_unique<ManCommand>(program));
  all.push_back(std::make_unique<CandidatesCommand>(program));
  return all;
}

}  // namespace vramwise::cli
