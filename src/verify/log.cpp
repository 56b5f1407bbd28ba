#include "verify/log.h"

namespace vramwise::verify {

double Failure::number(std::string_view field, double otherwise) const {
  for (const Reading& r : captures) {
    if (r.field == field) return r.last;
  }
  return otherwise;
}

bool Failure::has(std::string_view field) const {
  for (const Reading& r : captures) {
    if (r.field == field) return true;
  }
  return false;
}

std::vector<const Reading*> Log::all(std::string_view field, std::string_view device) const {
  std::vector<const Reading*> found;
  for (const Reading& r : readings) {
    if (r.field == field && (device.empty() || r.device == device)) found.push_back(&r);
  }
  return found;
}

const Reading* Log::one(std::string_view field) const {
  const Reading* best = nullptr;
  for (const Reading* r : all(field)) {
    if (best == nullptr || r->last < best->last) best = r;
  }
  return best;
}

const Reading* Log::fullest(std::string_view field) const {
  const Reading* best = nullptr;
  for (const Reading* r : all(field)) {
    if (best == nullptr || r->last > best->last) best = r;
  }
  return best;
}

}  // namespace vramwise::verify
