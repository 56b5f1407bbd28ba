#include "catalog/catalog.h"

#include <algorithm>
#include <list>
#include <optional>

#include "base/sort.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "json/parse.h"

namespace vramwise::catalog {
namespace {

using embedded::view;

using Shared = std::shared_ptr<const json::Value>;

// Lists in an overlay may be written by run lengths; one of this many items is a mistake.
constexpr int64_t kMaxExpandedItems = int64_t{1} << 20;

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

int compare_ignoring_case(std::string_view a, std::string_view b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto x = static_cast<unsigned char>(lower(a[i]));
    const auto y = static_cast<unsigned char>(lower(b[i]));
    if (x != y) return x < y ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

const embedded::Table& table(Kind kind) { return embedded::kTables[size_t(kind)]; }

// --- overlay -----------------------------------------------------------------------------------

struct OverlayEntry {
  Kind kind = Kind::gpu;
  std::string id;
  std::vector<std::string> aliases;
  Shared value;
};

// Entries added with --catalog. The only mutable state of the core: filled by the host before the
// first request and never changed afterwards; the embedding process is single threaded. A list, so
// that the views handed out by ids() stay valid.
struct Overlay {
  std::list<OverlayEntry> entries;
};

Overlay& overlay() {
  static Overlay instance;
  return instance;
}

// The latest entry added under this name, and the name as its file spells it.
const OverlayEntry* find_overlay(Kind kind, std::string_view name, std::string_view& spelled) {
  const std::list<OverlayEntry>& entries = overlay().entries;
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    if (it->kind != kind) continue;
    if (compare_ignoring_case(it->id, name) == 0) {
      spelled = it->id;
      return &*it;
    }
    for (const std::string& alias : it->aliases) {
      if (compare_ignoring_case(alias, name) == 0) {
        spelled = alias;
        return &*it;
      }
    }
  }
  return nullptr;
}

// --- coded values (tools/embed_catalog.py describes the code) ------------------------------------

struct Expansion {
  int64_t items = 0;  // list items made so far
  bool too_large = false;
};

json::Value expand(json::Value value, Expansion& state);

json::Value shared_string(int64_t number) {
  if (number < 0 || number >= int64_t(embedded::kStringCount)) return {};
  return view(embedded::kStrings[number]);
}

json::Value expand_runs(const json::Value& coded, Expansion& state) {
  json::Array once;
  for (const json::Value& run : coded.find("$rle")->as_array()) {
    const json::Array& pair = run.as_array();
    if (pair.size() != 2 || !pair[1].is_integer()) continue;
    const json::Value item = expand(pair[0], state);
    for (int64_t n = pair[1].as_integer(); n > 0 && !state.too_large; --n) {
      once.push_back(item);
      state.too_large = ++state.items > kMaxExpandedItems;
    }
  }
  const json::Value* times = coded.find("$times");
  json::Array all = once;
  for (int64_t n = times != nullptr ? times->as_integer() : 1; n > 1 && !state.too_large; --n) {
    state.items += int64_t(once.size()) + 1;
    state.too_large = state.items > kMaxExpandedItems;
    if (!state.too_large) all.insert(all.end(), once.begin(), once.end());
  }
  return all;
}

json::Value expand_fact(const json::Array& coded, Expansion& state) {
  constexpr std::string_view kKeys[] = {"value", "unit", "source", "checked", "confidence"};
  json::Value fact = json::Value::object();
  for (size_t i = 0; i < std::min<size_t>(coded.size(), 5); ++i) {
    if (coded[i].is_null()) continue;
    fact.set(kKeys[i], i < 2 ? expand(coded[i], state) : shared_string(coded[i].as_integer()));
  }
  for (size_t i = 5; i + 1 < coded.size(); i += 2) {
    fact.set(coded[i].as_string(), expand(coded[i + 1], state));
  }
  return fact;
}

json::Value expand(json::Value value, Expansion& state) {
  if (value.is_array()) {
    for (json::Value& item : value.as_array()) item = expand(std::move(item), state);
    return value;
  }
  if (!value.is_object()) return value;
  json::Object& members = value.as_object();
  if (!members.empty() && starts_with(members.front().key, "$")) {
    if (value.find("$rle") != nullptr) return expand_runs(value, state);
    if (const json::Value* fact = value.find("$fact")) return expand_fact(fact->as_array(), state);
    if (const json::Value* number = value.find("$s")) return shared_string(number->as_integer());
  }
  for (json::Member& member : members) member.value = expand(std::move(member.value), state);
  return value;
}

// --- embedded ------------------------------------------------------------------------------------

// Number of the name, or nothing.
std::optional<uint32_t> find_embedded(Kind kind, std::string_view name) {
  const embedded::Table& t = table(kind);
  uint32_t low = 0, high = t.name_count;  // the name is at `low` or behind, and before `high`
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const int order = compare_ignoring_case(embedded::name(t, middle), name);
    if (order == 0) return middle;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return std::nullopt;
}

std::string_view id_of(const embedded::Table& t, uint32_t entry) {
  return embedded::name(t, t.ids[entry]);
}

Result<json::Value> read_embedded(Kind kind, uint32_t entry) {
  const embedded::Table& t = table(kind);
  const std::string_view id = id_of(t, entry);
  TRY_ASSIGN(json::Value coded,
             json::parse(view(t.json[entry]), "catalog entry " + std::string(id)));
  json::Value value = json::Value::object();
  value.set("id", id);
  json::Value aliases = json::Value::array();
  for (uint32_t i = 0; i < t.name_count; ++i) {
    if (t.entries[i] == entry && i != t.ids[entry]) aliases.push(embedded::name(t, i));
  }
  if (!aliases.as_array().empty()) value.set("aliases", std::move(aliases));
  Expansion state;
  json::Value expanded = expand(std::move(coded), state);
  for (json::Member& member : expanded.as_object()) {
    value.as_object().push_back(std::move(member));
  }
  return value;
}

// Profiles and option tables are asked for by every plan of a search, so what was parsed once is
// kept, by each thread for itself. The embedded data never changes: the answer is the same with and
// without. Models and GPUs are not kept; each is asked for once or twice.
Result<Shared> read_kept(Kind kind, uint32_t entry) {
  struct Kept {
    Kind kind;
    uint32_t entry;
    Shared value;
  };
  thread_local std::vector<Kept> kept;
  const bool keep = kind == Kind::engine || kind == Kind::options;
  for (const Kept& k : kept) {
    if (keep && k.kind == kind && k.entry == entry) return k.value;
  }
  TRY_ASSIGN(json::Value value, read_embedded(kind, entry));
  Shared shared = std::make_shared<const json::Value>(std::move(value));
  if (keep) kept.push_back({kind, entry, shared});
  return shared;
}

// A name that may be meant, and what it names: entries of an overlay count on from the embedded.
struct Candidate {
  std::string_view name;
  size_t entry;
};

std::vector<Candidate> candidates(Kind kind) {
  std::vector<Candidate> all;
  const embedded::Table& t = table(kind);
  for (uint32_t i = 0; i < t.name_count; ++i) {
    all.push_back({embedded::name(t, i), t.entries[i]});
  }
  size_t entry = t.entry_count;
  for (const OverlayEntry& e : overlay().entries) {
    if (e.kind == kind) {
      all.push_back({e.id, entry});
      for (const std::string& alias : e.aliases) all.push_back({alias, entry});
    }
    ++entry;
  }
  return all;
}

std::string_view spoken(Kind kind) {
  switch (kind) {
    case Kind::gpu: return "GPU";
    case Kind::model: return "model";
    case Kind::weights: return "weight format";
    case Kind::engine: return "engine";
    case Kind::instance: return "instance";
    case Kind::options: return "option table";
    case Kind::speed: return "set of speeds";
    case Kind::workload: return "workload";
  }
  return "entry";
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::gpu: return "gpu";
    case Kind::model: return "model";
    case Kind::weights: return "weights";
    case Kind::engine: return "engine";
    case Kind::instance: return "instance";
    case Kind::options: return "options";
    case Kind::speed: return "speed";
    case Kind::workload: return "workload";
  }
  return "gpu";
}

Error unknown(Kind kind, std::string_view name) {
  Error error(ErrorCode::not_found,
              "unknown " + std::string(spoken(kind)) + " \"" + std::string(name) + "\"");
  const std::vector<std::string> near = nearest(kind, name);
  if (!near.empty()) error.hints.push_back("a similar name exists: " + join(near, ", "));
  return error;
}

Result<Entry> find(Kind kind, std::string_view id_or_alias) {
  std::string_view spelled;
  if (const OverlayEntry* added = find_overlay(kind, id_or_alias, spelled)) {
    return Entry{added->id, std::string(spelled), *added->value};
  }
  const std::optional<uint32_t> at = find_embedded(kind, id_or_alias);
  if (!at) return fail(unknown(kind, id_or_alias));
  const embedded::Table& t = table(kind);
  TRY_ASSIGN(json::Value value, read_embedded(kind, t.entries[*at]));
  return Entry{std::string(id_of(t, t.entries[*at])), std::string(embedded::name(t, *at)),
               std::move(value)};
}

Result<Shared> find_shared(Kind kind, std::string_view id_or_alias) {
  std::string_view spelled;
  if (const OverlayEntry* added = find_overlay(kind, id_or_alias, spelled)) return added->value;
  const std::optional<uint32_t> at = find_embedded(kind, id_or_alias);
  if (!at) return fail(unknown(kind, id_or_alias));
  return read_kept(kind, table(kind).entries[*at]);
}

bool contains(Kind kind, std::string_view id_or_alias) {
  std::string_view spelled;
  return find_overlay(kind, id_or_alias, spelled) != nullptr ||
         find_embedded(kind, id_or_alias).has_value();
}

std::vector<std::string_view> ids(Kind kind) {
  std::vector<std::string_view> all;
  const embedded::Table& t = table(kind);
  for (uint32_t i = 0; i < t.entry_count; ++i) all.push_back(id_of(t, i));
  for (const OverlayEntry& e : overlay().entries) {
    if (e.kind == kind) all.push_back(e.id);
  }
  sort_stable(all, [](std::string_view a, std::string_view b) {
    const int order = compare_ignoring_case(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  // An overlay entry that replaces an embedded one is the same id.
  all.erase(std::unique(all.begin(), all.end(),
                        [](std::string_view a, std::string_view b) {
                          return compare_ignoring_case(a, b) == 0;
                        }),
            all.end());
  return all;
}

std::vector<std::string> nearest(Kind kind, std::string_view name, size_t count) {
  const std::vector<Candidate> all = candidates(kind);
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const Candidate& c : all) names.push_back(c.name);
  // Several spellings of one thing would crowd others out, so each thing is named once.
  std::vector<std::string> kept;
  std::vector<size_t> seen;
  const auto keep = [&](const Candidate& c) {
    if (kept.size() == count) return;
    if (std::find(seen.begin(), seen.end(), c.entry) != seen.end()) return;
    seen.push_back(c.entry);
    kept.emplace_back(c.name);
  };
  // What only lacks its end comes first: "M1" is "M1 8GB" or "M1 16GB", and no "A10".
  for (const Candidate& c : all) {
    const bool longer = c.name.size() > name.size() && !name.empty();
    if (!longer || (c.name[name.size()] != ' ' && c.name[name.size()] != '-')) continue;
    if (compare_ignoring_case(c.name.substr(0, name.size()), name) == 0) keep(c);
  }
  for (const std::string& found : nearest_names(name, names, count * 8)) {
    keep(
        *std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.name == found; }));
  }
  return kept;
}

Result<std::string> add_overlay(Kind kind, std::string_view text, std::string_view source) {
  TRY_ASSIGN(json::Value value, json::parse(text, source));
  const json::Value* id = value.find("id");
  if (id == nullptr || !id->is_string() || id->as_string().empty()) {
    return fail(Error(ErrorCode::inconsistent, "a catalog entry wants an object with an \"id\"")
                    .at(std::string(source)));
  }
  OverlayEntry entry{kind, id->as_string(), {}, {}};
  if (const json::Value* aliases = value.find("aliases")) {
    for (const json::Value& alias : aliases->as_array()) {
      if (alias.is_string()) entry.aliases.push_back(alias.as_string());
    }
  }
  Expansion state;
  entry.value = std::make_shared<const json::Value>(expand(std::move(value), state));
  if (state.too_large) {
    return fail(Error(ErrorCode::too_large, "a list by run lengths has too many items")
                    .at(std::string(source)));
  }
  overlay().entries.push_back(std::move(entry));
  return overlay().entries.back().id;
}

}  // namespace vramwise::catalog
