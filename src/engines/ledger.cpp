#include "engines/ledger.h"

#include <utility>

namespace vramwise::engines {

std::string_view to_string(Component component) {
  switch (component) {
    case Component::weights: return "weights";
    case Component::kv_cache: return "kv_cache";
    case Component::activations: return "activations";
    case Component::runtime: return "runtime";
  }
  return "";
}

std::string_view to_string(Basis basis) {
  switch (basis) {
    case Basis::exact: return "exact";
    case Basis::derived: return "derived";
    case Basis::modelled: return "modelled";
    case Basis::measured: return "measured";
  }
  return "";
}

void Ledger::add(LedgerRow row) {
  if (row.bytes.low.count() == 0 && row.bytes.high.count() == 0) return;
  rows.push_back(std::move(row));
}

ByteRange Ledger::total(int device) const {
  ByteRange sum;
  for (const LedgerRow& row : rows) {
    if (row.device == device) sum += row.bytes;
  }
  return sum;
}

ByteRange Ledger::total(int device, Component component) const {
  ByteRange sum;
  for (const LedgerRow& row : rows) {
    if (row.device == device && row.component == component) sum += row.bytes;
  }
  return sum;
}

}  // namespace vramwise::engines
