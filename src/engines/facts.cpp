#include "engines/facts.h"

#include <tuple>

#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/spread.h"

namespace vramwise::engines {
namespace {

const json::Value kNull;

// Patch level of a version of two numbers: behind every release of that line.
constexpr int kLastPatch = 1'000'000;

std::tuple<int, int, int> order(const Version& v) {
  return {v.major, v.minor, v.two_numbers ? kLastPatch : v.patch};
}

bool holds(std::string_view key, const json::Value& wanted, const Circumstances& now) {
  const int64_t n = wanted.as_integer();
  if (key == "ranks_min") return now.ranks >= n;
  if (key == "ranks_max") return now.ranks <= n;
  if (key == "capability_min") return now.capability >= n;
  if (key == "capability_max") return now.capability <= n;
  if (key == "unified") return now.unified == wanted.as_boolean();
  if (key == "linked") return now.linked == wanted.as_boolean();
  if (key == "switched") return now.switched == wanted.as_boolean();
  if (key == "nvidia") return now.nvidia == wanted.as_boolean();
  if (key == "eager") return now.eager == wanted.as_boolean();
  if (key == "staged") return now.staged == wanted.as_boolean();
  if (key == "encoder") return now.encoder == wanted.as_boolean();
  if (key == "first_engine") return now.first_engine == wanted.as_boolean();
  if (key == "runner") return now.runner == n;
  if (key == "marlin") return now.marlin == wanted.as_boolean();
  if (key == "flashinfer_sampler") return now.flashinfer_sampler == wanted.as_boolean();
  if (key == "own_all_reduce") return now.own_all_reduce == wanted.as_boolean();
  if (key == "total_gib_min") return now.total >= GiB(n);
  if (key == "total_gib_below") return now.total < GiB(n);
  if (key == "entry") return now.entry == wanted.as_string();
  if (key == "card") return now.card == wanted.as_string();
  if (key == "card_without") return !contains(now.card, wanted.as_string());
  return false;  // a condition that nobody knows never holds
}

bool matches(const json::Value& row, const Circumstances& now) {
  const json::Value* when = row.find("when");
  if (when == nullptr) return true;
  for (const json::Member& condition : when->as_object()) {
    if (!holds(condition.key, condition.value, now)) return false;
  }
  return true;
}

}  // namespace

Circumstances circumstances(const Hardware& hardware) {
  Circumstances now;
  if (hardware.devices.empty()) return now;
  const Device& device = hardware.devices.front();
  now.capability = device.gpu.compute_capability;
  now.unified = device.gpu.unified_memory;
  now.nvidia = hardware.backend == Backend::cuda;
  now.total = device.total;
  return now;
}

Result<Facts> Facts::load(std::string_view engine, const Version& version) {
  TRY_ASSIGN(auto profile, catalog::find_shared(catalog::Kind::engine, engine));
  return from_json(std::move(profile), version);
}

Result<Facts> Facts::from_json(std::shared_ptr<const json::Value> profile, const Version& version) {
  Facts facts;
  const json::Value* id = profile->find("id");
  if (id != nullptr && id->is_string()) facts.engine_ = id->as_string();
  if (version.given && !version.unnumbered) {
    facts.version_ = version;
  } else {
    const json::Value* newest = profile->find("newest");
    if (newest == nullptr || !newest->is_string()) {
      return fail(ErrorCode::internal,
                  "engine profile '" + facts.engine_ + "' names no newest version");
    }
    TRY_ASSIGN(facts.version_, Version::parse(newest->as_string()));
  }
  facts.profile_ = std::move(profile);
  return facts;
}

bool Facts::has(std::string_view name) const {
  const json::Value* facts = profile_->find("facts");
  return facts != nullptr && facts->find(name) != nullptr;
}

const json::Value* Facts::entry(std::string_view name) {
  const json::Value* facts = profile_->find("facts");
  const json::Value* list = facts == nullptr ? nullptr : facts->find(name);
  if (list == nullptr || !list->is_array()) {
    fault(name, "is missing");
    return nullptr;
  }
  const json::Value* found = nullptr;
  for (const json::Value& item : list->as_array()) {
    const json::Value* since = item.find("since");
    if (since == nullptr) {
      found = &item;
      continue;
    }
    const auto from = Version::parse(since->as_string());
    if (!from) {
      fault(name, "has a bad version");
      return nullptr;
    }
    if (order(version_) >= std::tuple(from->major, from->minor, from->patch)) found = &item;
  }
  if (found == nullptr) fault(name, "has no entry for this version");
  return found;
}

void Facts::fault(std::string_view name, std::string_view what) {
  if (!fault_.empty()) return;
  fault_ =
      "fact '" + std::string(name) + "' of engine profile '" + engine_ + "' " + std::string(what);
}

double Facts::number(std::string_view name) {
  const json::Value* found = entry(name);
  return found == nullptr ? 0 : number(*found, "value");
}

int64_t Facts::integer(std::string_view name) {
  const json::Value* found = entry(name);
  return found == nullptr ? 0 : integer(*found, "value");
}

bool Facts::flag(std::string_view name) {
  const json::Value* found = entry(name);
  if (found == nullptr) return false;
  const json::Value* value = found->find("value");
  if (value == nullptr || !value->is_boolean()) {
    fault(name, "is not true or false");
    return false;
  }
  return value->as_boolean();
}

std::string Facts::text(std::string_view name) {
  const json::Value* found = entry(name);
  if (found == nullptr) return {};
  const json::Value* value = found->find("value");
  if (value == nullptr || !value->is_string()) {
    fault(name, "is not text");
    return {};
  }
  return value->as_string();
}

std::vector<std::string> Facts::list(std::string_view name) {
  std::vector<std::string> names;
  const json::Value* found = entry(name);
  const json::Value* value = found == nullptr ? nullptr : found->find("value");
  if (value == nullptr || !value->is_array()) {
    fault(name, "is not a list");
    return names;
  }
  for (const json::Value& item : value->as_array()) names.push_back(item.as_string());
  return names;
}

const json::Value& Facts::row(std::string_view name, const Circumstances& now) {
  const json::Value* found = entry(name);
  const json::Value* rows = found == nullptr ? nullptr : found->find("rows");
  if (rows == nullptr || !rows->is_array()) {
    fault(name, "has no rows");
    return kNull;
  }
  for (const json::Value& row : rows->as_array()) {
    if (matches(row, now)) return row;
  }
  fault(name, "has no row for these circumstances");
  return kNull;
}

int64_t Facts::integer(const json::Value& row, std::string_view field) {
  const json::Value* value = row.find(field);
  if (value == nullptr || !value->is_integer()) {
    fault(field, "is not an integer");
    return 0;
  }
  return value->as_integer();
}

double Facts::number(const json::Value& row, std::string_view field) {
  const json::Value* value = row.find(field);
  if (value == nullptr || !value->is_number()) {
    fault(field, "is not a number");
    return 0;
  }
  return value->as_double();
}

ByteRange Facts::measured(std::string_view name) {
  const json::Value* lists = profile_->find("measured");
  const json::Value* list = lists == nullptr ? nullptr : lists->find(name);
  std::vector<Bytes> found;
  if (list != nullptr && list->is_array()) {
    for (const json::Value& item : list->as_array()) {
      if (item.is_array() && !item.as_array().empty() && item.as_array()[0].is_integer()) {
        found.push_back(MiB(item.as_array()[0].as_integer()));
      }
    }
  }
  if (found.size() < 2) {
    fault(name, "is no list of measured values");
    return {};
  }
  return range_of_measured(std::move(found));
}

ByteRange Facts::mib(const json::Value& row, std::string_view field) {
  const json::Value* list = row.find("measured");
  if (list != nullptr && list->is_string()) return measured(list->as_string());
  const json::Value* value = row.find(field);
  if (value == nullptr || !value->is_array() || value->as_array().size() != 3) {
    fault(field, "is not [low, likely, high]");
    return {};
  }
  const json::Array& parts = value->as_array();
  return {MiB(parts[0].as_integer()), MiB(parts[1].as_integer()), MiB(parts[2].as_integer())};
}

Result<bool> Facts::check() const {
  if (!fault_.empty()) return fail(ErrorCode::internal, fault_);
  return true;
}

}  // namespace vramwise::engines
