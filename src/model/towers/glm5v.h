// The vision tower of GLM-5.3-Flash and GLM-OCR: blocks with norms of queries and keys, no position
// table.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// `merger`: width inside the merger where the config does not say it.
void add_glm5v(Builder& b, const Fields& vision, int64_t merger = 10240);

}  // namespace vramwise::model
