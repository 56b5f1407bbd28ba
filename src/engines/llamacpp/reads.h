// What one generated token reads, from which memory: the measure of a placement. Decoding is bound
// by it, and host memory is the slow one.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/llamacpp/budget.h"

namespace vramwise::engines::llamacpp {

// The share of a tensor that one token reads: experts by those it is routed to, input tables by a
// row.
int64_t bytes_read(const weights::GgufTensor& tensor, const FileTensor& file, const Shape& shape);

// Weights and one sequence's caches at full context, of each device of the budget, the CPU last.
std::vector<int64_t> reads_per_token(const Shape& shape, const weights::GgufModel& gguf,
                                     const Budget& budget);

}  // namespace vramwise::engines::llamacpp
