#include "engines/unknown_options.h"

#include <string>
#include <vector>

#include "base/text.h"

namespace vramwise::engines {
namespace {

// Is it one of the words of a list parted by single blanks?
bool has_word(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

void warn_unknown_options(const Options& options, const json::Value& profile,
                          std::string_view engine, Notes& notes, std::string_view ours) {
  const json::Value* list = profile.find("options");
  if (list == nullptr) return;
  const std::string& names = list->as_string();
  for (const json::Member& member : options.entries()) {
    if (!ours.empty() && member.key == ours) continue;
    const std::string_view head = std::string_view(member.key).substr(0, member.key.find('.'));
    if (has_word(names, member.key) || has_word(names, head)) continue;
    std::string text = std::string(engine) + " has no option '" + member.key + "'; it is ignored";
    const auto near = nearest_names(member.key, split(names, ' '), 1);
    if (!near.empty()) text += "; a similar option exists: " + near.front();
    notes.warn("unknown_option", std::move(text));
  }
}

}  // namespace vramwise::engines
