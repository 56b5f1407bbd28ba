// A list of modules as quantisation configs write it: "lm_head", "model.layers.0*",
// "re:.*self_attn.*". Long lists (a name for every layer) are looked up, not scanned.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "json/reader.h"

namespace vramwise::weights {

class ModuleList {
 public:
  // A plain entry names a module by whole components, anywhere in the path: "gate" is
  // "model.layers.3.mlp.gate" and everything below it, never "gate_proj". An entry with * or ? is a
  // shell pattern for a module or one above it. "re:" starts a regular expression that must match
  // from the first character (compressed-tensors).
  Result<void> add(std::string_view entry);
  Result<void> add_expression(std::string_view expression);
  // A list of strings. Errors: invalid_input with the place, too_large beyond kMaxPatterns.
  Result<void> add_all(const json::Reader& list);

  bool empty() const {
    return names_.empty() && prefixes_.empty() && globs_.empty() && expressions_.empty();
  }
  // Entries that are tried one by one.
  size_t patterns() const { return globs_.size() + expressions_.size(); }
  // `module` is a tensor's name without ".weight".
  bool matches(std::string_view module) const;
  // Whether the list names this very module, without patterns.
  bool names(std::string_view module) const;

  // Patterns that must be tried one by one; real lists hold a handful.
  static constexpr size_t kMaxPatterns = 1024;

 private:
  bool has_prefix_of(std::string_view module) const;

  std::unordered_set<std::string> names_;
  size_t longest_name_ = 0;                      // in components
  std::set<std::string, std::less<>> prefixes_;  // of entries "…*"
  std::vector<std::string> globs_;
  std::vector<Pattern> expressions_;
};

}  // namespace vramwise::weights
