// `vramwise verify LOG`: reads a server's log piece by piece and sets it beside its plan.
#pragma once

#include <string>

#include "api/verify.h"
#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "apps/cli/question.h"
#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

class VerifyCommand : public Command {
 public:
  // Registers the command; `output` must outlive this.
  explicit VerifyCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  int save(const json::Value& answer) const;
  Result<api::LogSession> read_log() const;
  // The log's own model from where it names it: a folder of this machine, or the hub. Null where
  // the answer lacks no model, or it cannot be had.
  json::Value answer_with_its_model(api::LogSession& session, const json::Value& answer);

  Output& output_;
  Question question_;
  std::string log_;      // a file; - reads standard input
  bool save_ = false;    // keep what was measured for later plans
  bool follow_ = false;  // wait until the server is up or has died
};

}  // namespace vramwise::cli
