#include "workload/meter.h"

#include <algorithm>

namespace vramwise::workload {
namespace {

constexpr int kCells = 2000;

}  // namespace

void Timeline::merge_neighbours() {
  for (size_t i = 0; 2 * i < buckets_.size(); ++i) {
    Bucket sum = buckets_[2 * i];
    if (2 * i + 1 < buckets_.size()) {
      const Bucket& next = buckets_[2 * i + 1];
      if (sum.seconds <= 0) {
        sum = next;
      } else if (next.seconds > 0) {
        sum.seconds += next.seconds;
        sum.weighted += next.weighted;
        sum.waiting += next.waiting;
        sum.least = std::min(sum.least, next.least);
        sum.most = std::max(sum.most, next.most);
      }
    }
    buckets_[i] = sum;
  }
  buckets_.resize((buckets_.size() + 1) / 2);
  width_ *= 2;
}

void Timeline::open_bucket(double start, double middle) {
  if (origin_ < 0) {
    origin_ = start;
    buckets_.reserve(kBuckets);
  }
  while (middle - origin_ >= width_ * double(kBuckets)) merge_neighbours();
  // Buckets that nothing falls into stay empty.
  const size_t place = std::min(size_t((middle - origin_) / width_), kBuckets - 1);
  if (place >= buckets_.size()) buckets_.resize(place + 1);
  bucket_end_ = origin_ + width_ * double(buckets_.size());
}

Meter::Meter(int64_t blocks, int64_t max_sequences, int64_t warm_requests, int64_t warm_steps,
             SloTarget slo)
    : occupancy_(double(blocks), kCells),
      running_(double(max_sequences) + 1, int(std::min<int64_t>(max_sequences + 1, 65536))),
      slo_(slo),
      warm_requests_(warm_requests),
      warm_steps_(warm_steps) {}

void Meter::left(const Fate& fate, double now) {
  const Arrival& r = fate.request;
  if (measuring_) {
    ++finished_;
    if (!fate.rejected) {
      computed_ += fate.computed_tokens;
      recomputed_ += std::max<int64_t>(
          0, fate.computed_tokens + fate.hit_tokens - (int64_t{r.prompt} + r.output - 1));
    }
  }
  (void)now;
  // A request belongs to the window in which it arrived: long ones finish in the drain.
  if (measure_start_ < 0 || r.time < measure_start_ || r.time > measure_end_) return;
  ++requests_;
  if (fate.rejected) {
    ++rejected_;
    return;
  }
  hits_ += fate.hit_tokens;
  prompts_ += r.prompt;
  if (fate.waited) {
    ++waited_;
    ++causes_[size_t(fate.cause)];
  }
  const double ttft = fate.first - r.time;
  ttft_.add(ttft, 1);
  queue_.add(fate.admit - r.time, 1);
  double tpot = 0;
  if (r.output > 1) {
    tpot = (fate.finish - fate.first) / double(r.output - 1);
    tpot_.add(tpot, 1);
  }
  if (ttft <= slo_.ttft && tpot <= slo_.tpot) ++within_slo_;
  if (fate.first >= measure_start_ && fate.first <= measure_end_) ++first_tokens_;
}

void Meter::merge(const Meter& other) {
  occupancy_.merge(other.occupancy_);
  running_.merge(other.running_);
  held_.merge(other.held_);
  gaps_.merge(other.gaps_);
  ttft_.merge(other.ttft_);
  tpot_.merge(other.tpot_);
  queue_.merge(other.queue_);
  seconds_ += other.seconds_;
  weighted_waiting_ += other.weighted_waiting_;
  requests_ += other.requests_;
  waited_ += other.waited_;
  within_slo_ += other.within_slo_;
  rejected_ += other.rejected_;
  preemptions_ += other.preemptions_;
  for (size_t i = 0; i < 4; ++i) causes_[i] += other.causes_[i];
  finished_ += other.finished_;
  first_tokens_ += other.first_tokens_;
  decode_tokens_ += other.decode_tokens_;
  prefill_tokens_ += other.prefill_tokens_;
  recomputed_ += other.recomputed_;
  computed_ += other.computed_;
  hits_ += other.hits_;
  prompts_ += other.prompts_;
}

}  // namespace vramwise::workload
