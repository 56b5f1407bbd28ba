// A launch command taken apart into what a container needs; only the manifest writer includes this.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engines/launch/write_manifest.h"

namespace vramwise::engines::launch {

struct ContainerProgram {
  std::string name;                  // of the service: "vllm"
  std::string image;                 // with its tag
  std::vector<std::string> command;  // replaces the image's program
  std::vector<std::string> args;
  std::string model;  // as the command names it
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::pair<std::string, std::string>> files;  // path inside of the container, content
  int port = 8000;
  std::string store;  // folder of the container that keeps the model from one start to the next
  bool local_models = false;  // `store` must hold the files already
  bool hub = false;           // downloads from Hugging Face, where a token may be needed
};

// Errors: unsupported when no public image runs the command.
Result<ContainerProgram> container_program(const Deployment& deployment);

}  // namespace vramwise::engines::launch
