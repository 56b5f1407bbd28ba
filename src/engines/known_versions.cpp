#include "engines/known_versions.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/text.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace vramwise::engines {
namespace {

// Negative, zero, positive: `a` before, in, after the line that `b` names. A text of two numbers
// names a whole line, one of three a single release.
int place_of(const Version& a, const Version& b) {
  if (a.build != 0 || b.build != 0) return a.build - b.build;
  if (a.major != b.major) return a.major - b.major;
  if (a.minor != b.minor) return a.minor - b.minor;
  return a.two_numbers || b.two_numbers ? 0 : a.patch - b.patch;
}

Result<Version> version_of(const json::Value& entry, std::string_view key) {
  const json::Value* value = entry.find(key);
  if (value == nullptr || !value->is_string()) return Version();
  return Version::parse(value->as_string());
}

}  // namespace

Result<void> note_version(const Version& version, std::string_view engine, Notes& notes) {
  if (!version.given) return {};
  TRY_ASSIGN(const std::shared_ptr<const json::Value> entry,
             catalog::find_shared(catalog::Kind::engine, engine));
  TRY_ASSIGN(const Version oldest, version_of(*entry, "oldest"));
  TRY_ASSIGN(const Version newest, version_of(*entry, "newest"));
  const json::Value* named = entry->find("name");
  const std::string name(named != nullptr && named->is_string() ? named->as_string()
                                                                : std::string(engine));
  if (newest.given && newest.build == 0 && version.build != 0) {
    // Its parts are all zero: it would be planned as the oldest line there is.
    return fail(Error(ErrorCode::invalid_input,
                      "'" + version.text + "' is a build of llama.cpp, not a release of " + name)
                    .at("engine.version")
                    .hint("write it as " + name + " prints it: " + newest.text +
                          "; without one the newest that is known here is taken"));
  }
  // llama.cpp is versioned by builds; what else it may be called is its own business.
  if (newest.given && (newest.build != 0) != (version.build != 0)) return {};
  const std::string asked = name + " " + version.text;
  if (version.unnumbered) {
    notes.warn("version_unnumbered", asked +
                                         " is a build between releases whose number tells no line; "
                                         "the rules of " +
                                         newest.text + " were taken");
    return {};
  }
  if (newest.given && place_of(version, newest) > 0) {
    notes.warn("version_newer", asked + " is newer than what is known here, up to " + newest.text +
                                    ", whose rules were taken: unvalidated");
    return {};
  }
  if (oldest.given && place_of(version, oldest) < 0) {
    notes.warn("version_older", asked + " is older than what is known here, from " + oldest.text +
                                    " on, whose rules were taken: unvalidated");
    return {};
  }
  const json::Value* checked = entry->find("checked");
  if (checked == nullptr || !checked->is_array()) return {};
  for (const json::Value& line : checked->as_array()) {
    if (!line.is_string()) continue;
    TRY_ASSIGN(const Version known, Version::parse(line.as_string()));
    if (place_of(version, known) == 0) return {};
  }
  notes.assume("version_unvalidated",
               "no server and no source of " + asked +
                   " was held against these rules; those of the line before it were taken");
  return {};
}

}  // namespace vramwise::engines
