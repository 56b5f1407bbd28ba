// What a GPU costs by the hour, from the catalog of cloud instances. Prices carry their date.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramwise::plan {

struct Price {
  double usd_per_hour = 0;  // of the whole choice
  std::string offer;        // "aws g6.xlarge"
  std::string date;         // as the source states it
};

// What renting cards costs, by the machine.
struct Offer {
  std::string gpu;  // catalog id
  int gpus = 0;     // cards of the machine
  double usd_per_hour = 0;
  std::string name;
  std::string date;  // may be empty in a list of one's own
};

// All offers of the catalog, read once per search.
class PriceList {
 public:
  PriceList();
  // Only these: a price list of one's own takes the place of the catalog's.
  explicit PriceList(std::vector<Offer> offers) : offers_(std::move(offers)) {}
  // The cheapest way to rent `count` cards of a type for an hour: an instance with at least that
  // many, or several of one kind. Empty when the catalog has no offer.
  std::optional<Price> cheapest(std::string_view gpu, int count) const;
  // The dearest on the same terms.
  std::optional<Price> dearest(std::string_view gpu, int count) const;

 private:
  std::optional<Price> extreme(std::string_view gpu, int count, bool dear) const;
  std::vector<Offer> offers_;
};

}  // namespace vramwise::plan
