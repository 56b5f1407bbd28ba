// Flags by which a server quantises plain weights while it loads them ("--quantization fp8" on a
// bf16 checkpoint). Shared by the engines that run on PyTorch.
//
// Source: vllm model_executor/layers/quantization (fp8.py, bitsandbytes.py, online), sglang
// srt/layers/quantization (fp8.py, w8a8_fp8.py, bitsandbytes.py), sglang
// srt/layers/torchao_utils.py.
#pragma once

#include <optional>
#include <string_view>

#include "base/note.h"
#include "weights/weights.h"

namespace vramwise::engines {

// What the linear matrices become; nullopt where the flag leaves them as they are stored: no flag,
// or a checkpoint that is quantised already. Warns where the flag only names a format that the
// checkpoint would have to be in, and where no rule here follows it.
std::optional<weights::Scheme> online_scheme(std::string_view flag, const weights::Weights& stored,
                                             Notes& notes);

// The same for the names of torchao ("int8wo", "fp8dq-per_row", "int4wo-128").
std::optional<weights::Scheme> torchao_scheme(std::string_view name, const weights::Weights& stored,
                                              Notes& notes);

}  // namespace vramwise::engines
