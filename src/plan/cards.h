// A question put to other cards than its own.
#pragma once

#include "catalog/gpu.h"
#include "plan/resolve.h"

namespace vramwise::plan {

// What programs use on such a card: CUDA, ROCm, Metal, SYCL.
engines::Backend usual_backend(const catalog::Gpu& gpu);
// Whether a program can use the card by it.
bool has_backend(const catalog::Gpu& gpu, engines::Backend backend);

// The same question on `count` cards of one kind, nothing in use on them, with their usual backend.
Resolved on_cards(const Resolved& resolved, const catalog::Gpu& gpu, size_t count);

}  // namespace vramwise::plan
