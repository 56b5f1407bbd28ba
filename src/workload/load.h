// A load: how long requests are and when they come. Drawn request by request, so that the memory of
// a run does not grow with its length.
#pragma once

#include <cstddef>
#include <deque>
#include <queue>
#include <string_view>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "json/reader.h"
#include "workload/lengths.h"
#include "workload/random.h"
#include "workload/source.h"
#include "workload/trace.h"

namespace vramwise::workload {

// Time between an answer and the next question of the same person.
struct Think {
  enum class Kind { none, constant, exponential, lognormal } kind = Kind::none;
  double mean = 0;   // seconds; the median of a lognormal
  double sigma = 0;  // of a lognormal
  double draw(Random& random) const;
  double average() const;
};

struct Arrivals {
  enum class Kind {
    poisson,   // `rate`; cv other than 1: gamma-distributed gaps
    trace,     // as recorded, `speedup` times as fast
    closed,    // `users`, each with one request at a time
    sessions,  // conversations start at `rate`; a turn repeats all before it
    schedule,  // a rate that changes along `points`
  } kind = Kind::poisson;
  double rate = 0;  // a second
  double cv = 1;    // coefficient of variation of the gaps
  double speedup = 1;
  bool spread = true;        // even out coarse clocks
  double block_seconds = 0;  // of a trace: pieces that repetitions draw from it; 0: as recorded
  int64_t users = 0;
  Think think;
  double turns = 1;                               // mean per session
  std::vector<std::pair<double, double>> points;  // second, rate

  bool is_open() const { return kind != Kind::closed; }
  // The "arrivals" of a request.
  static Result<Arrivals> read(const json::Reader& from);
};
std::string_view to_string(Arrivals::Kind kind);

// One of several servers that the sessions of a trace are dealt to, in turn.
struct Share {
  int64_t part = 0;
  int64_t of = 1;
};

class LoadSource final : public Source {
 public:
  // `count` requests (sessions: first turns). The references outlive the source. `trace` is there
  // for arrivals of kind trace, of which `share` takes its sessions.
  LoadSource(const Lengths& lengths, const Arrivals& arrivals, const Trace* trace, int64_t count,
             uint64_t seed, uint64_t replication, Share share = {});

  double next_time() const override;
  Arrival take() override;
  void left(const Arrival& request, double now) override;
  bool draining() const override { return fresh_ >= count_; }
  int64_t longest_output() const override { return longest_output_; }

 private:
  struct Pending {
    double time;
    int64_t order;  // ties go by this
    Arrival request;
    bool operator>(const Pending& o) const {
      return time != o.time ? time > o.time : order > o.order;
    }
  };
  struct Session {
    int64_t turns_left = 0;
    int64_t number = 0;
  };
  void draw_next();  // the next of an open stream
  double gap();
  void dress(Arrival& request);  // text it shares
  Arrival fresh();
  void push(Arrival request);

  const Lengths& lengths_;
  const Arrivals& arrivals_;
  const Trace* trace_;
  int64_t count_;
  Share share_;
  bool mine(int64_t row) const;
  Random arrival_random_, length_random_, think_random_, session_random_;
  int64_t fresh_ = 0;  // requests drawn so far
  int64_t taken_ = 0;
  int64_t order_ = 0;
  int64_t longest_output_;
  double clock_ = 0;
  double next_open_ = kNever;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  std::vector<Session> sessions_;
  std::vector<int32_t> free_sessions_;
  // Turns of recorded sessions that wait for the turn before them.
  std::vector<std::deque<int64_t>> held_back_;
  std::vector<bool> busy_;
};

}  // namespace vramwise::workload
