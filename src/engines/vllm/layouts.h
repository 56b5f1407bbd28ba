// How vLLM spreads over cards, and which option stands behind a knob.
#pragma once

#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace vramwise::engines::vllm {

std::string_view option_of(Knob knob);

// Tensor x pipeline parallel layouts over `devices` cards, widest tensor parallel first (it divides
// both weights and cache, and needs no full pipeline). Sizes already among the options are kept.
// Whether heads divide is judged by the plan of each.
std::vector<Layout> layouts(const Options& options, int devices);

// tensor x pipeline x data parallel size; 0 when the options name none of them.
int64_t devices_asked(const Options& options);

// CUDA from compute capability 7.0 on, ROCm. Source: vLLM docs, getting_started/installation/gpu.
bool runs_on(const catalog::Gpu& gpu);

}  // namespace vramwise::engines::vllm
