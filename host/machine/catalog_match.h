// From what a driver calls a card to the catalog's id.
#pragma once

#include <string>

#include "base/units.h"

namespace vramwise::host {

struct CatalogMatch {
  std::string gpu;    // empty: the catalog has nothing of that name
  Bytes total;        // what a process sees by the catalog, for the size that was read
  bool same = false;  // the memory is the catalog's too (a modded card has more)
};

// `driver_total` zero: unknown. Among cards of one name the memory decides (H20 with 96 or 141 GB).
CatalogMatch match_catalog(const std::string& name, const std::string& vendor, Bytes driver_total);

}  // namespace vramwise::host
