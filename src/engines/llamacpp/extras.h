// What a server holds beside model and context: the vision projector, adapters, and host memory
// that grows while it runs (saved prompts, checkpoints of states that cannot be rewound).
// Source: ggml-org/llama.cpp tools/mtmd/clip.cpp, src/llama-adapter.cpp, tools/server.
#pragma once

#include <vector>

#include "base/result.h"
#include "engines/engine.h"
#include "engines/llamacpp/budget.h"
#include "engines/llamacpp/request.h"

namespace vramwise::engines::llamacpp {

struct Extras {
  // Of each device of the plan; the last is the host.
  struct Part {
    ByteRange projector;          // weights of --mmproj
    ByteRange projector_compute;  // its graph for one image
    ByteRange adapters;           // --lora

    Bytes likely() const { return projector.likely + projector_compute.likely + adapters.likely; }
  };
  std::vector<Part> parts;
  // Host memory at its limit; nothing of it is taken at the start.
  Bytes prompt_cache, checkpoints;
  int64_t checkpoint_count = 0;  // over all slots
};

// Parts that the options ask for. Errors: bad values of the options.
Result<Extras> extras_of(const Question& question, const Shape& shape, const Rules& rules,
                         const json::Value& profile, const Request& request, const Budget& budget,
                         Notes& notes);

// Bytes of a projector's file: matrices in `type`, vectors and the first layer in F32.
Bytes projector_bytes(const model::Model& model, weights::GgmlType type);

}  // namespace vramwise::engines::llamacpp
