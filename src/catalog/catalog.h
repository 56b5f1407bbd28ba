// The embedded catalogs: GPUs, models, weight formats, engine profiles, cloud instances, option
// tables.
//
// Each thing is one JSON file under catalog/<kind>/, compiled at build time into an index sorted by
// id plus slices of JSON text, so that start-up parses only the entry asked for. `overlay` entries
// (from --catalog DIR, read by the host) win over the embedded ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::catalog {

// speed: measured rates of a GPU, and the step-time model; workload: named request lengths.
enum class Kind { gpu, model, weights, engine, instance, options, speed, workload };

std::string_view to_string(Kind kind);

struct Entry {
  std::string id;       // canonical id
  std::string matched;  // the id or alias that was asked for, as spelled in the catalog
  json::Value value;    // the entry, run lengths expanded and source ids resolved
};

// Looks an id or alias up, ignoring ASCII case. Errors: not_found with the nearest names as hints.
Result<Entry> find(Kind kind, std::string_view id_or_alias);
// The entry's value alone, shared instead of copied. Engine profiles and option tables are parsed
// once a thread: a search asks for them with every plan.
Result<std::shared_ptr<const json::Value>> find_shared(Kind kind, std::string_view id_or_alias);
// As find, without an error when there is none.
bool contains(Kind kind, std::string_view id_or_alias);

// All canonical ids, sorted.
std::vector<std::string_view> ids(Kind kind);
// Nearest ids and aliases to a name, nearest first.
std::vector<std::string> nearest(Kind kind, std::string_view name, size_t count = 3);

// The not_found error for a name, with the nearest names as a hint.
Error unknown(Kind kind, std::string_view name);

// Adds an entry on top of the embedded ones for the life of the process; `text` is one JSON object
// with at least "id". Errors: as json::parse, or inconsistent for an entry without id.
Result<std::string> add_overlay(Kind kind, std::string_view text, std::string_view source);

}  // namespace vramwise::catalog
