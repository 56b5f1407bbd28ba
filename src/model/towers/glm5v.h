// The vision tower of GLM-5.3-Flash: blocks with norms of queries and keys, no position table.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_glm5v(Builder& b, const Fields& vision);

}  // namespace vramwise::model
