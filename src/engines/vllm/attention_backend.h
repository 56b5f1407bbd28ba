// Attention backends by name: a name that no release has is one of a build of one's own, whose
// rules need not be those of the releases.
#pragma once

#include <optional>

#include "engines/engine.h"

namespace vramwise::engines::vllm {

// The requirement that such a build exists, undecided; empty where no backend was asked for or a
// release of that version or an older one has it. `backend`: the value of --attention-backend.
//
// Source: vllm v1/attention/backends/registry.py, which refuses any other name. Forks with kernels
// of their own also split what the releases refuse to: local-inference-lab/vllm pull request 64
// pads 64 heads to 66 for its backend B12X.
// Errors: internal for a faulty profile.
Result<std::optional<Requirement>> unknown_backend(const Version& version,
                                                   const std::string& backend);

}  // namespace vramwise::engines::vllm
