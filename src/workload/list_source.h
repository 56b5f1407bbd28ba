// Requests given one by one, in any order; they are taken by (arrival, position).
#pragma once

#include <cstddef>
#include <vector>

#include "workload/source.h"

namespace vramwise::workload {

class ListSource final : public Source {
 public:
  explicit ListSource(std::vector<Arrival> requests);
  double next_time() const override {
    return next_ < requests_.size() ? requests_[next_].time : kNever;
  }
  Arrival take() override { return requests_[next_++]; }
  bool draining() const override { return next_ >= requests_.size(); }
  int64_t longest_output() const override { return longest_output_; }

 private:
  std::vector<Arrival> requests_;
  size_t next_ = 0;
  int64_t longest_output_ = 1;
};

}  // namespace vramwise::workload
