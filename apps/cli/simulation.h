// Questions that run simulations (`simulate`, `max` and `gpus` of a load): progress on standard
// error, Ctrl-C answers with what is known, pictures to files.
#pragma once

#include <string>

#include "apps/cli/output.h"
#include "json/value.h"

namespace vramwise::cli {

struct Pictures {
  std::string svg;  // file names; empty: none
  std::string html;
};

constexpr int kInterrupted = 130;  // exit status after Ctrl-C

struct Watched {
  json::Value answer;
  bool interrupted = false;
};
Watched ask_watched(const json::Value& request);

// Exit status as of any answer; 130 after Ctrl-C.
int run_simulation(const json::Value& request, const Output& output, const Pictures& pictures);

}  // namespace vramwise::cli
