// Programs that are not planned by rules of their own but run llama.cpp inside: KoboldCpp and
// LM Studio. What their lines say, as llama.cpp's options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/launch/reading.h"

namespace vramwise::engines::launch {

struct Embedded {
  std::string name;               // "KoboldCpp"
  std::string engine;             // what runs inside, by the name of an engine that is planned
  Options options;                // llama.cpp's names
  std::vector<std::string> left;  // options that move memory and have no counterpart here
};

// nullopt: the line is of a program without llama.cpp inside.
std::optional<Embedded> as_llamacpp(const Reading& reading);

}  // namespace vramwise::engines::launch
