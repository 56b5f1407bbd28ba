// llama.cpp's --fit: what it does to a context and a placement that were left to it.
// Source: ggml-org/llama.cpp common/fit.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "engines/llamacpp/budget.h"

namespace vramwise::engines::llamacpp {

struct FitQuestion {
  std::vector<Bytes> free;      // of each device; without devices the host's total, or nothing
  std::vector<Bytes> margin;    // to be left free, for each
  int64_t smallest_ctx = 4096;  // of one stream
  bool ctx_open = false;        // -c was left to the program
  bool layers_open = false;     // -ngl, -ts and -ot were
};

struct FitAnswer {
  bool changed = false;
  bool failed = false;        // nothing more it may change; the program goes on as asked
  int64_t n_ctx = 0;          // of all streams together
  int64_t n_gpu_layers = -1;  // -1: left alone
  std::vector<double> tensor_split;
  std::vector<std::string> overrides;  // as -ot prints them
  PlacementSettings placement;         // ready to be used
};

// `measured` may be the budget of the same context and placement, to save a measurement; nullptr.
FitAnswer run_fit(Budgeter& budgeter, const ContextSettings& context,
                  const PlacementSettings& placement, const FitQuestion& question,
                  const Budget* measured = nullptr);

}  // namespace vramwise::engines::llamacpp
