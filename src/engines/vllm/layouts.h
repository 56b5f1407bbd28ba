// How vLLM spreads over cards, and which option stands behind a knob.
#pragma once

#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace vramwise::engines::vllm {

std::string_view option_of(Knob knob);

// Layouts over `devices` cards that vLLM accepts for the model, best first: tensor x pipeline
// parallel, widest tensor parallel first (it divides both weights and cache, and needs no full
// pipeline), for a mixture of experts each also with experts shared out whole; then data x tensor
// parallel. Sizes already among the options are kept.
std::vector<Layout> layouts(const Question& question, int devices);

// tensor x pipeline x data parallel size; 0 when the options name none of them.
int64_t devices_asked(const Options& options);

// CUDA from compute capability 7.0 on, ROCm. Source: vLLM docs, getting_started/installation/gpu.
bool runs_on(const catalog::Gpu& gpu);

}  // namespace vramwise::engines::vllm
