#include "plan/prices.h"

#include "base/checked.h"
#include "catalog/catalog.h"

namespace vramwise::plan {
namespace {

const json::Value& member(const json::Value& value, std::string_view key) {
  static const json::Value kNone;
  const json::Value* found = value.find(key);
  return found != nullptr ? *found : kNone;
}

}  // namespace

PriceList::PriceList() {
  for (const std::string_view id : catalog::ids(catalog::Kind::instance)) {
    const auto entry = catalog::find(catalog::Kind::instance, id);
    if (!entry) continue;
    Offer offer;
    offer.gpu = member(entry->value, "gpu").as_string();
    offer.gpus = int(member(entry->value, "gpu_count").as_integer());
    offer.name = member(entry->value, "provider").as_string() + " " +
                 member(entry->value, "instance").as_string();
    if (offer.gpu.empty() || offer.gpus <= 0) continue;
    // The newest dated price counts; a price without a date is not shown to anybody.
    for (const json::Value& price : member(entry->value, "prices").as_array()) {
      const std::string& date = member(price, "date").as_string();
      const double usd = member(price, "usd_per_hour").as_double();
      if (date.empty() || usd <= 0 || date < offer.date) continue;
      const json::Value& rentable = member(price, "rentable");
      if (rentable.is_boolean() && !rentable.as_boolean()) continue;
      offer.date = date;
      offer.usd_per_hour = usd;
    }
    if (offer.usd_per_hour > 0) offers_.push_back(std::move(offer));
  }
}

std::optional<Price> PriceList::cheapest(std::string_view gpu, int count) const {
  return extreme(gpu, count, false);
}

std::optional<Price> PriceList::dearest(std::string_view gpu, int count) const {
  return extreme(gpu, count, true);
}

std::optional<Price> PriceList::extreme(std::string_view gpu, int count, bool dear) const {
  std::optional<Price> best;
  for (const Offer& offer : offers_) {
    if (offer.gpu != gpu) continue;
    // Cards of one plan must sit in one machine, so a smaller instance is no help except that
    // single-card rentals are commonly sold by the card.
    if (offer.gpus < count && offer.gpus != 1) continue;
    const int64_t machines = offer.gpus == 1 ? count : 1;
    const double usd = offer.usd_per_hour * double(machines);
    // An instance with cards to spare is a bad bargain, not a price of these cards.
    if (dear && offer.gpus != 1 && offer.gpus != count) continue;
    if (!best || (dear ? usd > best->usd_per_hour : usd < best->usd_per_hour) ||
        (usd == best->usd_per_hour && offer.name < best->offer)) {
      best = Price{usd, (machines > 1 ? std::to_string(machines) + " x " : "") + offer.name,
                   offer.date};
    }
  }
  return best;
}

}  // namespace vramwise::plan
