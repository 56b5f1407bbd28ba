// The GGUF models among the files of a folder or repository: quantisations by their label, split
// ones as one, projectors and importance matrices left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramwise::formats {

struct GgufChoice {
  std::string label;               // "Q4_K_M", "UD-Q4_K_XL"; "" when the name says none
  std::vector<std::string> parts;  // in order; one for an unsplit model
  bool complete = true;            // every part is there
};

// Sorted by label and name.
std::vector<GgufChoice> gguf_choices(const std::vector<std::string>& names);

// What publishers write at the end of a file's name, in upper case; "" when there is nothing like
// it.
std::string gguf_label(std::string_view file_name);

// A file beside the model: projector (mmproj), importance matrix, adapter.
bool is_gguf_companion(std::string_view file_name);

}  // namespace vramwise::formats
