// SigLIP, the vision tower of Gemma 3, LFM2-VL, PaliGemma, Idefics and many more.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

struct SiglipSpec {
  std::string scope;
  // SigLIP 2 (NaFlex) flattens its patches and says how many positions it has.
  bool flattened_patches = false;
  // The class pools its patches with an attention of its own unless vision_use_head says no; no
  // language model reads what it makes, but the checkpoint and the module hold it.
  bool class_has_head = false;
};
// What the class takes for absent keys (base, patch 16 at 224 pixels).
Fields siglip_fields(const Fields& vision);
// The pooling head alone, as `part` (stored_unused where no engine makes it).
void add_siglip_head(Builder& b, int64_t hidden, int64_t width, Part part);
// Adds the tower; answers its width.
int64_t add_siglip(Builder& b, const Fields& vision, const SiglipSpec& spec);

}  // namespace vramwise::model
