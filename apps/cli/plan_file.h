// Plan files: a question with its answer, kept for later. `plan --save` writes one, `check` plans
// it again and says by its exit status whether it still holds, `diff` sets two beside each other.
//
//   {"vramwise_plan":1,"version":"0.1.0","request":{…},"answer":{…}}
//
// The request carries what was read from the model's files, so a plan file needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/output.h"
#include "apps/cli/question.h"
#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

// Errors: invalid_input when the file cannot be written.
Result<void> save_plan(const std::string& path, const json::Value& request,
                       const json::Value& answer);

// Whether a file holds a plan or a request, not a model's config.
bool is_plan_or_request(const std::string& path);
// A side of a comparison: {"answer":…} of a plan file that has one, else the request.
// Errors: as the readers of files.
Result<json::Value> saved_side(const std::string& path);

// `check`: saved plans, planned again.
class CheckCommand : public Command {
 public:
  explicit CheckCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
  std::vector<std::string> files_;
  double growth_ = -1;  // percent; negative: any
  bool no_tight_ = false;
};

class DiffCommand : public Command {
 public:
  explicit DiffCommand(const Program& program);
  int run(const std::string& launch_line) override;

 private:
  Output& output_;
  Question question_;
  std::string other_;
};

}  // namespace vramwise::cli
