// The templates of all engines behind one scanner.
#pragma once

#include <string_view>
#include <vector>

#include "verify/anchors.h"
#include "verify/templates.h"

namespace vramwise::verify {

struct KnownLine {
  const Template* row = nullptr;
  std::string_view engine;
};

struct TemplateIndex {
  std::vector<std::string_view> words;
  std::vector<std::vector<KnownLine>>
      rows;                // by word: its templates and those of its own beginnings
  std::vector<bool> dull;  // by word: only decoys, which a busy server prints for hours
  Anchors anchors;

  TemplateIndex();
};

// Built once.
const TemplateIndex& template_index();

}  // namespace vramwise::verify
