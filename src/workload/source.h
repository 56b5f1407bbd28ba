// Where requests come from and where their fates go: the two sides of every engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace vramwise::workload {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
// Lengths beyond these are refused by the readers.
inline constexpr int64_t kMaxPrompt = int64_t{1} << 24;
inline constexpr int64_t kMaxOutput = int64_t{1} << 20;

struct Arrival {
  double time = 0;
  int32_t prompt = 1;
  int32_t output = 1;
  // Tokens of the prompt that a prefix cache already holds, where only their number is known: not
  // computed again, but counted in full, because who else holds them is not known.
  int32_t cached = 0;
  int64_t id = 0;             // position in the order of arrival
  int32_t tag = 0;            // user or session, for the source itself
  int64_t stream = -1;        // text shared with others, for prefix caching; -1: none
  int64_t stream_tokens = 0;  // tokens from the start that equal the stream's
  // Instead of one stream: ids of consecutive pieces of `chain_tokens` tokens, each standing for
  // all the text up to its end (Mooncake's hash_ids). Belongs to the source.
  const int32_t* chain = nullptr;
  int32_t chain_length = 0;
  int32_t chain_tokens = 512;
};

// Requests in order of arrival. New ones may follow from finished ones (closed loops, sessions).
class Source {
 public:
  virtual ~Source() = default;
  // When the next request arrives, as far as known now; kNever while none is on its way.
  virtual double next_time() const = 0;
  virtual Arrival take() = 0;
  // A request has left (finished, or refused as impossible).
  virtual void left(const Arrival&, double /*now*/) {}
  // The load is over: what still runs is the drain.
  virtual bool draining() const = 0;
  // No answer is longer.
  virtual int64_t longest_output() const = 0;
};

// What last held the head of the queue back.
enum class Cause : uint8_t { none, memory, sequences, budget };

struct Fate {
  Arrival request;
  bool rejected = false;  // larger than the whole pool
  double admit = -1;      // start of the step that first ran it
  double first = -1;      // end of the step that made its first token
  double finish = -1;
  int32_t preemptions = 0;
  int64_t hit_tokens = 0;       // found in the prefix cache at first admission
  int64_t computed_tokens = 0;  // all tokens computed, recomputation included
  bool waited = false;          // passed over by the first step that could have taken it
  Cause cause = Cause::none;
};

class FateSink {
 public:
  virtual ~FateSink() = default;
  virtual void left(const Fate&) = 0;
  // Every step: its start, requests with their tokens in the order scheduled, blocks in use.
  virtual bool wants_steps() const { return false; }
  virtual void step(double /*start*/, const std::vector<std::pair<int64_t, int64_t>>& /*scheduled*/,
                    int64_t /*blocks*/) {}
};

// Totals of one run.
struct Totals {
  int64_t steps = 0;
  int64_t moves = 0;  // of the event-jumping engine; equal to steps for the others
  int64_t requests = 0;
  int64_t rejected = 0;
  int64_t peak_blocks = 0;
  int64_t peak_running = 0;
  int64_t peak_waiting = 0;
  int64_t preemptions = 0;
  int64_t scheduled_tokens = 0;
  int64_t block_steps = 0;  // blocks in use, summed over steps
  double end = 0;           // last finish
  double now = 0;           // where the clock stands
  bool stopped = false;     // by the budget or the caller, before the load was over

  // Another run beside this one, or after it.
  void add(const Totals& other) {
    steps += other.steps;
    moves += other.moves;
    requests += other.requests;
    rejected += other.rejected;
    peak_blocks = std::max(peak_blocks, other.peak_blocks);
    peak_running = std::max(peak_running, other.peak_running);
    peak_waiting = std::max(peak_waiting, other.peak_waiting);
    preemptions += other.preemptions;
    scheduled_tokens += other.scheduled_tokens;
    block_steps += other.block_steps;
    end = std::max(end, other.end);
    now += other.now;
    stopped = stopped || other.stopped;
  }
};

// When to stop early. Nothing here reads a clock: the host decides in `keep_going`.
struct Limits {
  int64_t moves = std::numeric_limits<int64_t>::max();
  // Called at the start and every few thousand moves, with the requests that have left; false stops
  // the run.
  bool (*keep_going)(void* context, int64_t requests_left) = nullptr;
  void* context = nullptr;
};

}  // namespace vramwise::workload
