// `vramwise verify LOG`: reads a server's log piece by piece and sets it beside its plan.
#pragma once

#include <string>

#include "apps/cli/output.h"
#include "apps/cli/question.h"
#include "base/result.h"
#include "json/value.h"

namespace CLI {
class App;
}

namespace vramwise::cli {

class VerifyCommand {
 public:
  // Registers the command; `output` must outlive this.
  VerifyCommand(CLI::App& app, Output& output);
  bool parsed() const;
  // `line`: what stood behind `--`.
  int run(const std::string& line);

 private:
  int save(const json::Value& answer) const;
  Result<json::Value> read_log(const json::Value& request) const;

  CLI::App* command_ = nullptr;
  Output& output_;
  Question question_;
  std::string log_;      // a file; - reads standard input
  bool save_ = false;    // keep what was measured for later plans
  bool follow_ = false;  // wait until the server is up or has died
};

}  // namespace vramwise::cli
