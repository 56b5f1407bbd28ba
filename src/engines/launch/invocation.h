// One program call found in a paste, with its wrappers, container and environment taken apart.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/option_table.h"
#include "engines/launch/reading.h"
#include "engines/launch/shell.h"

namespace vramwise::engines::launch {

using WordEnv = std::vector<std::pair<std::string, Word>>;

struct Invocation {
  std::vector<Word> argv;  // program and arguments
  WordEnv env;
  bool env_in_front = false;  // written in the same shell line: shown again in `env`
  Gpus gpus;                  // what the container or the scheduler hands out
  int64_t nodes = 1;
  int64_t processes = 0;
  std::string prefix;     // "docker ", "compose ", "k8s ": how the image was started
  std::string label;      // entry of an image whose program was not named
  std::string name;       // compose service
  std::string version;    // from the image's tag
  std::string python;     // source given to python -c
  bool has_hole = false;  // somewhere in the words that were taken off
  std::vector<Finding> errors, warnings;
};

// What the readers of engines share during one read_launch.
struct Context {
  explicit Context(OptionTables& t) : tables(t) {}

  OptionTables& tables;
  std::map<std::string, std::string> files;  // given with the paste or written in it, by name
  int suggestions_left = 40;  // looking for the nearest of thousands of names is slow
};

// "/usr/bin/python3" -> "python3", "llama-server.exe" -> "llama-server".
std::string program_name(std::string_view word);
// The file of that name, however its folder was written; nullptr when it is not in the paste.
const std::string* find_file(const Context& context, std::string_view path);

// Name and version of an image: "docker.io/vllm/vllm-openai:v0.11.0" -> {"vllm/vllm-openai",
// "0.11.0"}.
struct Image {
  std::string name;
  std::string tag;
  std::string version;  // of the tag where it is one
};
Image parse_image(std::string_view reference);

}  // namespace vramwise::engines::launch
