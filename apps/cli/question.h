// A question on the command line, and the JSON request that its flags mean.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "apps/cli/output.h"
#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

inline constexpr int64_t kRequestLimit = int64_t{64} << 20;  // bytes of a request file
inline constexpr int64_t kLineLimit = int64_t{1} << 20;      // bytes of a launch line

// One question on the command line: `plan`, `explain`, `inspect`.
struct Question {
  std::string ask;
  std::string model;
  std::string request_file;
  std::string line;       // an engine's launch line, from behind `--`
  std::string line_file;  // or from a file: a script, a compose file, a manifest
  std::string file;       // of a repository or folder with several models
  std::string revision;
  std::string save;  // plan file to write
  bool offline = false;
  bool tensors = false;
  bool show_options = false;
  bool no_calibration = false;                // leave runs measured here out
  bool own_load = false;                      // the command has a Load group of its own
  json::Value base;                           // the request that the flags change; null: none
  json::Value extra = json::Value::object();  // members of one ask alone
  // One slot per option row; deque because CLI11 keeps references.
  std::deque<std::vector<std::string>> values;
};

// Registers MODEL and the flags of `question` (its `ask` must be set) with a command.
void add_question_options(CLI::App& command, Question& question, Output& output);

// The request that the flags mean, files and hubs read. Errors: as the readers of files and flags.
Result<json::Value> build_request(const Question& question);

}  // namespace vramwise::cli
