#include "engines/lever_list.h"

#include <utility>

namespace vramwise::engines {

LeverCandidate& add_lever(std::vector<LeverCandidate>& list, std::string id, int order,
                          std::string change, std::string option, std::string cost) {
  LeverCandidate c;
  c.id = std::move(id);
  c.order = order;
  c.change = std::move(change);
  c.option = std::move(option);
  c.cost = std::move(cost);
  list.push_back(std::move(c));
  return list.back();
}

void add_format_lever(std::vector<LeverCandidate>& list, int order, std::string change,
                      std::string format) {
  add_lever(list, "weights", order, std::move(change), "(another checkpoint)",
            "some loss of quality")
      .weights_format = std::move(format);
}

}  // namespace vramwise::engines
