// What the rows of catalog/engines/vllm.json are chosen by: the card, the links, the model and what
// was asked for, the model runner among it.
#pragma once

#include <string>

#include "engines/engine.h"
#include "engines/facts.h"
#include "engines/vllm/settings.h"

namespace vramwise::engines::vllm {

// `card` keeps the text that the answer's `card` points at.
Circumstances circumstances_of(const Question& q, const Given& given, std::string& card);

}  // namespace vramwise::engines::vllm
