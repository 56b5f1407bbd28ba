// A law that costs much to check holds for every model of the catalog: the first model of each
// architecture is asked at every setting, the others of it at every STRIDE-th setting by turns. So
// each architecture meets each setting, and the time grows with the number of architectures, not
// with the number of models times settings.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace vramwise {

class Turns {
 public:
  explicit Turns(size_t stride) : stride_(stride) {}
  void next_model(const std::string& architecture) {
    first_ = seen_.insert(architecture).second;
    ++turn_;
  }
  bool asks(size_t setting) const { return first_ || (turn_ + setting) % stride_ == 0; }

 private:
  size_t stride_, turn_ = 0;
  bool first_ = false;
  std::set<std::string> seen_;
};

}  // namespace vramwise
