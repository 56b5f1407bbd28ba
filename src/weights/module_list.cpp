#include "weights/module_list.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace vramwise::weights {

Result<void> ModuleList::add(std::string_view entry) {
  if (starts_with(entry, "re:")) return add_expression(entry.substr(3));
  while (ends_with(entry, ".")) entry.remove_suffix(1);
  if (entry.empty()) return {};
  const size_t wild = entry.find_first_of("*?");
  if (wild == std::string_view::npos) {
    longest_name_ =
        std::max(longest_name_, size_t(std::count(entry.begin(), entry.end(), '.')) + 1);
    names_.emplace(entry);
  } else if (wild == entry.size() - 1 && entry[wild] == '*') {
    prefixes_.emplace(entry.substr(0, wild));
  } else {
    if (globs_.size() >= kMaxPatterns) return fail(ErrorCode::too_large, "too many patterns");
    globs_.emplace_back(entry);
    globs_.push_back(std::string(entry) + ".*");
  }
  return {};
}

Result<void> ModuleList::add_expression(std::string_view expression) {
  if (expressions_.size() >= kMaxPatterns) return fail(ErrorCode::too_large, "too many patterns");
  TRY_ASSIGN(Pattern pattern, Pattern::compile(expression));
  expressions_.push_back(std::move(pattern));
  return {};
}

Result<void> ModuleList::add_all(const json::Reader& list) {
  TRY_ASSIGN(const std::vector<json::Reader> items, list.items());
  for (const json::Reader& item : items) {
    TRY_ASSIGN(const std::string text, item.string());
    Result<void> added = add(text);
    if (!added) return fail(std::move(added.error()).at(item.where()));
  }
  return {};
}

bool ModuleList::names(std::string_view module) const {
  return names_.find(std::string(module)) != names_.end();
}

// Walks down the sorted prefixes: when the nearest one at or below is no prefix of the name, only
// prefixes of what both have in common can be.
bool ModuleList::has_prefix_of(std::string_view module) const {
  std::string_view key = module;
  for (;;) {
    const auto above = prefixes_.upper_bound(key);
    if (above == prefixes_.begin()) return false;
    const std::string& nearest = *std::prev(above);
    if (starts_with(module, nearest)) return true;
    size_t common = 0;
    while (common < nearest.size() && common < key.size() && nearest[common] == key[common]) {
      ++common;
    }
    key = key.substr(0, common);
  }
}

bool ModuleList::matches(std::string_view module) const {
  if (!names_.empty()) {
    // Every run of whole components, up to the longest entry.
    for (size_t start = 0; start < module.size();) {
      size_t end = start;
      for (size_t n = 0; n < longest_name_ && end < module.size(); ++n) {
        end = std::min(module.find('.', end + (n > 0 ? 1 : 0)), module.size());
        if (names(module.substr(start, end - start))) return true;
      }
      const size_t dot = module.find('.', start);
      if (dot == std::string_view::npos) break;
      start = dot + 1;
    }
  }
  if (!prefixes_.empty() && has_prefix_of(module)) return true;
  for (const std::string& glob : globs_) {
    if (glob_match(glob, module)) return true;
  }
  for (const Pattern& expression : expressions_) {
    if (expression.match_start(module)) return true;
  }
  return false;
}

}  // namespace vramwise::weights
