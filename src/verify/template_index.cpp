#include "verify/template_index.h"

#include <algorithm>
#include <deque>
#include <string>

#include "base/text.h"
#include "verify/pattern.h"

namespace vramwise::verify {
namespace {

// An anchor with quotes, as a log inside of JSON has it: such a line is found by it, then
// unwrapped and read by the plain one.
std::string_view escaped(std::string_view anchor) {
  static std::deque<std::string> kept;
  std::string text;
  for (const char c : anchor) {
    if (c == '"') text += '\\';
    text += c;
  }
  return kept.emplace_back(std::move(text));
}

std::vector<std::string_view> collect() {
  std::vector<std::string_view> words;
  for (const Table& table : tables()) {
    for (const Template& row : table.rows) {
      const std::string_view anchor = anchor_of(row.pattern);
      if (std::find(words.begin(), words.end(), anchor) != words.end()) continue;
      words.push_back(anchor);
      if (contains(anchor, "\"")) words.push_back(escaped(anchor));
    }
  }
  return words;
}

}  // namespace

TemplateIndex::TemplateIndex() : words(collect()), rows(words.size()), anchors(words) {
  for (size_t w = 0; w < words.size(); ++w) {
    for (const bool whole : {true, false}) {
      for (const Table& table : tables()) {
        for (const Template& row : table.rows) {
          const std::string_view anchor = anchor_of(row.pattern);
          const bool equal = anchor == words[w];
          if (whole ? equal : (!equal && starts_with(words[w], anchor))) {
            rows[w].push_back({&row, table.engine});
          }
        }
      }
    }
    dull.push_back(!rows[w].empty() &&
                   std::all_of(rows[w].begin(), rows[w].end(), [](const KnownLine& row) {
                     return row.row->tells == Tells::decoy;
                   }));
  }
}

const TemplateIndex& template_index() {
  static const TemplateIndex kIndex;
  return kIndex;
}

}  // namespace vramwise::verify
