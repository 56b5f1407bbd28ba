#include "workload/list_source.h"

#include <algorithm>

#include "base/sort.h"

namespace vramwise::workload {

ListSource::ListSource(std::vector<Arrival> requests) : requests_(std::move(requests)) {
  sort_stable(requests_, [](const Arrival& a, const Arrival& b) {
    return a.time != b.time ? a.time < b.time : a.id < b.id;
  });
  for (const Arrival& r : requests_) longest_output_ = std::max<int64_t>(longest_output_, r.output);
}

}  // namespace vramwise::workload
