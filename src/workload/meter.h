// What is measured while an engine runs: time-weighted occupancy, running sequences, gaps between
// tokens, and per request waiting and latency. Warm-up and drain are left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "workload/histogram.h"
#include "workload/source.h"

namespace vramwise::workload {

// Occupancy along the run in a fixed number of buckets: when the run outgrows them, neighbours are
// merged, so memory does not depend on how long it is.
class Timeline {
 public:
  struct Bucket {
    double seconds = 0;
    double weighted = 0;  // blocks x seconds
    double waiting = 0;   // queued requests x seconds
    int64_t least = std::numeric_limits<int64_t>::max();
    int64_t most = 0;
  };
  // Steps that together last `duration`, blocks rising from `from` to `to`. Times only rise.
  void add(double start, double duration, int64_t from, int64_t to, int64_t waiting) {
    const double middle = start + duration / 2;
    if (middle >= bucket_end_) open_bucket(start, middle);
    Bucket& b = buckets_.back();
    b.least = std::min(b.least, from);
    b.most = std::max(b.most, to);
    b.seconds += duration;
    b.weighted += duration * double(from + to) * 0.5;
    b.waiting += duration * double(waiting);
  }
  double bucket_seconds() const { return width_; }
  double origin() const { return origin_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  static constexpr size_t kBuckets = 512;
  void open_bucket(double start, double middle);
  void merge_neighbours();
  double origin_ = -1;
  double width_ = 1e-3;
  double bucket_end_ = -1;  // of the last bucket
  std::vector<Bucket> buckets_;
};

struct SloTarget {
  double ttft = kNever;    // first token after arrival, at most
  double tpot = kNever;    // mean time of each further token, at most
  double quantile = 0.95;  // share of the requests that must meet both
};

// A piece of the run in which n sequences decode, as the engines report it.
struct Piece {
  double start = 0;
  double duration = 0;
  int64_t steps = 1;
  double first_step = 0;  // length of its first and of its last step
  double last_step = 0;
  int64_t used_from = 0;  // blocks in use after scheduling, first and last step
  int64_t used_to = 0;
  int64_t running = 0;
  int64_t decodes = 0;
  int64_t accepted = 0;  // drafts, in one step
  int64_t waiting = 0;
  int64_t held_from = 0;  // tokens in the cache, first and last step
  int64_t held_to = 0;
  int64_t prefill_tokens = 0;
};

class Meter {
 public:
  // `warm_requests` have to arrive and `warm_steps` to pass before anything counts; negative: the
  // whole run counts, drain included. `blocks` is the pool.
  Meter(int64_t blocks, int64_t max_sequences, int64_t warm_requests, int64_t warm_steps,
        SloTarget slo);

  // Steps that are all alike, everybody decoding: what is held rises along them.
  void stretch(const Piece& p) {
    if (!measuring_) return;
    occupancy_.ramp(double(p.used_from), double(p.used_to), p.duration);
    held_.ramp(double(p.held_from) / kTokenUnit, double(p.held_to) / kTokenUnit, p.duration);
    gaps_.ramp(p.first_step, p.last_step, double(p.decodes) * double(p.steps));
    count(p);
  }
  // One step (or none: idle time).
  void step(const Piece& p) {
    if (!measuring_) return;
    occupancy_.add(double(p.used_to), p.duration);
    held_.add(double(p.held_from) / kTokenUnit, p.duration);
    gaps_.add(p.duration, double(p.decodes));
    count(p);
  }
  // Nobody is there until the next arrival: time that counts like any other.
  void idle(double start, double seconds) {
    Piece nobody;
    nobody.start = start;
    nobody.duration = seconds;
    nobody.steps = 0;
    step(nobody);
  }
  // A gap longer than one step: eviction and resumption between two tokens.
  void gap(double seconds) {
    if (measuring_) gaps_.add(seconds, 1);
  }
  void eviction() {
    if (measuring_) ++preemptions_;
  }
  // Before a step or stretch: has the load become steady, is it over?
  void look(int64_t arrived, int64_t steps, bool draining, double now) {
    if (warm_requests_ < 0) {
      measuring_ = true;
      if (measure_start_ < 0) measure_start_ = 0;
    } else if (draining) {
      if (measuring_) measure_end_ = now;
      measuring_ = false;
    } else if (!measuring_ && arrived >= warm_requests_ && steps >= warm_steps_) {
      measuring_ = true;
      if (measure_start_ < 0) measure_start_ = now;
    }
  }
  void left(const Fate& fate, double now);
  void merge(const Meter& other);

  bool measuring() const { return measuring_; }
  double seconds() const { return seconds_; }
  const LinearHistogram& occupancy() const { return occupancy_; }
  const LinearHistogram& running() const { return running_; }
  // Tokens that the share p of the time does not exceed, to a percent whatever the pool.
  double held(double p) const { return held_.quantile(p) * kTokenUnit; }
  const LogHistogram& gaps() const { return gaps_; }
  const LogHistogram& ttft() const { return ttft_; }
  const LogHistogram& tpot() const { return tpot_; }
  const LogHistogram& queue() const { return queue_; }
  const Timeline& timeline() const { return timeline_; }
  // Of the requests that arrived in the measured window and left.
  int64_t requests() const { return requests_; }
  int64_t waited() const { return waited_; }
  int64_t waited_for(Cause cause) const { return causes_[size_t(cause)]; }
  int64_t within_slo() const { return within_slo_; }
  int64_t rejected() const { return rejected_; }
  int64_t preemptions() const { return preemptions_; }
  // Of the measured time, whoever they belong to.
  int64_t finished() const { return finished_; }
  int64_t output_tokens() const { return first_tokens_ + decode_tokens_; }
  int64_t prefill_tokens() const { return prefill_tokens_; }
  int64_t recomputed_tokens() const { return recomputed_; }
  int64_t computed_tokens() const { return computed_; }
  int64_t hit_tokens() const { return hits_; }
  int64_t prompt_tokens() const { return prompts_; }
  double mean_waiting() const { return seconds_ > 0 ? weighted_waiting_ / seconds_ : 0; }
  double mean_running() const { return running_.mean(); }

 private:
  void count(const Piece& p) {
    running_.add(double(p.running), p.duration);
    timeline_.add(p.start, p.duration, p.used_from, p.used_to, p.waiting);
    seconds_ += p.duration;
    weighted_waiting_ += double(p.waiting) * p.duration;
    decode_tokens_ += p.decodes * p.steps + p.accepted;
    prefill_tokens_ += p.prefill_tokens;
  }
  // Brings tokens into the range of the cells: up to 2^36.
  static constexpr double kTokenUnit = 4096;
  LinearHistogram occupancy_, running_;
  LogHistogram held_, gaps_, ttft_, tpot_, queue_;
  Timeline timeline_;
  SloTarget slo_;
  int64_t warm_requests_, warm_steps_;
  bool measuring_ = false;
  double measure_start_ = -1, measure_end_ = kNever;
  double seconds_ = 0, weighted_waiting_ = 0;
  int64_t requests_ = 0, waited_ = 0, within_slo_ = 0, rejected_ = 0, preemptions_ = 0;
  int64_t causes_[4] = {};
  int64_t finished_ = 0, first_tokens_ = 0, decode_tokens_ = 0, prefill_tokens_ = 0;
  int64_t recomputed_ = 0, computed_ = 0, hits_ = 0, prompts_ = 0;
};

}  // namespace vramwise::workload
