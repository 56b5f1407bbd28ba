// Heads that draft for one target model (EAGLE, EAGLE-3, DFlash, Medusa). Their own config is
// seldom at hand, but their shape follows the target's; so their size is an estimate with a bar.
//
// Source: SafeAILab/EAGLE eagle/model/cnets.py, sglang srt/models/llama_eagle3.py, vllm
// model_executor/models/{llama_eagle,llama_eagle3,medusa,qwen3_dflash}.py.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "model/model.h"

namespace vramwise::engines {

enum class HeadKind { none, eagle, eagle3, dflash, medusa };

// What a method ("eagle3", "draft-dflash", "EAGLE") or, where it says nothing, a drafter's name
// ("RedHatAI/Qwen3-32B-speculator.eagle3") stands for.
HeadKind head_kind(std::string_view method, std::string_view name);
std::string_view to_string(HeadKind kind);

struct HeadEstimate {
  ByteRange weights;         // of one rank
  int64_t cache_layers = 0;  // each caches like the target's widest layer
};

// A 16-bit head of `target` spread over `ranks`; embedding (and EAGLE's output head) are the
// target's own.
HeadEstimate estimate_head(HeadKind kind, const model::Model& target, int64_t ranks);

}  // namespace vramwise::engines
