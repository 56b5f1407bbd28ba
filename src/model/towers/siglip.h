// SigLIP, the vision tower of Gemma 3 and LFM2-VL.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

struct SiglipSpec {
  std::string scope;
  // SigLIP 2 (NaFlex) flattens its patches and says how many positions it has.
  bool flattened_patches = false;
};
// Adds the tower; answers its width.
int64_t add_siglip(Builder& b, const Fields& vision, const SiglipSpec& spec);

}  // namespace vramwise::model
