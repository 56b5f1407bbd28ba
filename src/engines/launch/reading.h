// What was read out of a launch line.
//
// src/engines/launch reads what people paste (a shell line, docker run, compose, Kubernetes,
// systemd, Python, a log line) and answers which engine runs which model with which options, in the
// engine's own meaning, and what the program itself would refuse. read_launch.h is the door.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/options.h"
#include "json/value.h"

namespace vramwise::engines::launch {

// Something to tell the person: a stable code, and a sentence about this very line.
struct Finding {
  std::string code;  // "suffix_ignored", "removed_option"
  std::string text;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// GPUs that the line leaves visible to the server.
struct Gpus {
  enum class Kind { not_given, all, count, list };
  Kind kind = Kind::not_given;
  int64_t count = 0;             // Kind::count
  std::vector<int64_t> indices;  // Kind::list, in the order given

  // -1 when the line does not say how many.
  int64_t number() const {
    if (kind == Kind::count) return count;
    return kind == Kind::list ? int64_t(indices.size()) : -1;
  }
};

struct UnknownOption {
  std::string token;    // as typed
  std::string value;    // the word behind it, empty when there was none
  std::string nearest;  // spelling in this engine that was probably meant, may be empty
};

using Env = std::vector<std::pair<std::string, std::string>>;

struct Reading {
  std::string engine;  // "vllm"; empty when no engine was found
  std::string entry;   // form of the program: "serve", "docker vllm/vllm-openai", "LLM"
  std::string name;    // section of a preset or service of a compose file
  std::string model;
  std::string ref;      // the name to plan by, where the line's leaves a part to the engine
  std::string version;  // from an image tag, else empty
  Options options;      // only those that move memory or limits
  Env env;              // only what matters
  Gpus gpus;
  int64_t processes = 0;             // torchrun or MPI ranks; 0 = not given
  std::vector<std::string> ignored;  // known options without effect on memory
  // Their values where one word or list says them, for the command that a plan prints: a server
  // that needs --trust-remote-code still needs it. Never a secret.
  Options kept;
  std::vector<UnknownOption> unknown;
  std::vector<std::string> removed;  // known, but gone in the version meant
  std::vector<Finding> errors;       // what the program itself would refuse
  std::vector<Finding> warnings;
  std::vector<std::string> files_not_seen;  // named by the line, neither in the paste nor given
  std::vector<Reading> several;             // every reading, when there is more than one
  bool preset = false;                      // `several` are sections that share one server

  void error(std::string_view code, std::string text);
  void warn(std::string_view code, std::string text);
  // A file that the line names: `what` stands in it ("the options"), `why` ends the sentence.
  void file_not_seen(const std::string& path, std::string_view what, std::string_view why = {});
  void ignore(std::string_view name);
  void ignore(std::string_view name, const json::Value& value);  // and keeps the value
  // Sets an option. Objects are kept as their leaves under dotted names ("a": {"b": 1} -> "a.b")
  // and replace what was there under that name.
  void set(std::string_view name, json::Value value);
  bool has_error(std::string_view code) const;
  bool has_warning(std::string_view code) const;
};

// The answer to ask "launch". Absent fields are empty ones; engine, entry and options always stand.
json::Value to_json(const Reading& reading);

// A name whose first part is a family of options, not an object: "bench.n_gen", "tgi.num_shard".
bool is_family_name(std::string_view name);

}  // namespace vramwise::engines::launch
