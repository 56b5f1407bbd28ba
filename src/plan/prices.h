// What a GPU costs by the hour, from the catalog of cloud instances. Prices carry their date.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::plan {

struct Price {
  double usd_per_hour = 0;  // of the whole choice
  std::string offer;        // "aws g6.xlarge"
  std::string date;         // as the source states it
};

// All offers of the catalog, read once per search.
class PriceList {
 public:
  PriceList();
  // The cheapest way to rent `count` cards of a type for an hour: an instance with at least that
  // many, or several of one kind. Empty when the catalog has no offer.
  std::optional<Price> cheapest(std::string_view gpu, int count) const;
  // The dearest on the same terms.
  std::optional<Price> dearest(std::string_view gpu, int count) const;

 private:
  std::optional<Price> extreme(std::string_view gpu, int count, bool dear) const;
  struct Offer {
    std::string gpu;
    int gpus = 0;
    double usd_per_hour = 0;
    std::string name;
    std::string date;
  };
  std::vector<Offer> offers_;
};

}  // namespace vramwise::plan
