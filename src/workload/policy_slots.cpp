// llama.cpp's server: a slot is a user. Each pass takes one token of every slot that generates,
// then prompts in the order of their slots until the batch is full. Nobody is evicted; who finds no
// slot waits. A slot keeps its text when its request is done: the next one to share enough of it
// gets that slot and computes the rest only.
//
// Source: llama.cpp tools/server/server-context.cpp (get_available_slot, try_clear_idle_slots).
// Valid for: with a unified cache a pass that finds no cells first clears idle slots, then leaves
// the youngest out until cells are free (the program halves the batch and fails the request at one
// token; counted here as an eviction).
#include "workload/policies.h"
#include "workload/step_base.h"

namespace vramwise::workload {
namespace {

// Share of a prompt that a slot must hold to be preferred over the one that idles longest
// (--slot-prompt-similarity).
constexpr double kSimilar = 0.1;

// Tokens from the start that a request and the text of an earlier one have in common, as far as
// their streams say.
int64_t common_start(const Arrival& request, const Arrival& earlier) {
  if (request.chain != nullptr && earlier.chain != nullptr &&
      request.chain_tokens == earlier.chain_tokens) {
    const int32_t most = std::min(request.chain_length, earlier.chain_length);
    int32_t same = 0;
    while (same < most && request.chain[same] == earlier.chain[same]) ++same;
    return int64_t{same} * request.chain_tokens;
  }
  if (request.stream < 0 || request.stream != earlier.stream) return 0;
  return std::min(request.stream_tokens, earlier.stream_tokens);
}

class Slots final : public StepBase {
 public:
  Slots(const Scheduler& scheduler, const StepTime& time, Source& source, Meter* meter,
        FateSink* sink)
      : StepBase(scheduler, time, source, meter, sink) {}

 protected:
  bool impossible(const Arrival& r) const override {
    const int64_t cells = s_.unified ? s_.blocks : s_.blocks / s_.max_sequences;
    return blocks_for(reach(r)) > cells;
  }
  // Texts of idle slots are there to be found and in nobody's way.
  int64_t used() const override { return s_.blocks - free_ - kept_; }
  void release(Job& job) override {
    Slot& slot = slots_[size_t(job.slot)];
    slot.busy = false;
    slot.last_use = ++uses_;
    if (s_.prefix_caching && job.generated == job.request.output) {
      slot.text = job.request;
      slot.tokens = job.computed;
      slot.blocks = job.held;
      kept_ += job.held;
      job.held = 0;
    } else {
      slot.tokens = slot.blocks = 0;
      give_back(job);
    }
  }
  void schedule() override {
    while (!waiting_.empty() && int64_t(running_.size()) < s_.max_sequences) {
      Job* job = waiting_.front();
      // A first token needs a first cell.
      if (s_.unified && free_ + kept_ <= 0) {
        last_cause_ = Cause::memory;
        break;
      }
      occupy(*job);
      if (job->admit < 0) job->hits = job->computed;
      admit(*job);
      waiting_.pop_front();
      running_.push_back(job);
    }
    if (!waiting_.empty() && int64_t(running_.size()) >= s_.max_sequences) {
      last_cause_ = Cause::sequences;
    }
    int64_t budget = s_.batch_tokens;
    for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
      if (running_[i]->decoding) add(i, std::min(decode_tokens(), budget), budget);
    }
    for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
      const Job& job = *running_[i];
      if (!job.decoding) add(i, std::min(job.known() - job.computed, budget), budget);
    }
  }

 private:
  struct Slot {
    bool busy = false;
    int64_t last_use = 0;
    Arrival text;  // of the request that was here last
    int64_t tokens = 0;
    int64_t blocks = 0;
  };

  // Tokens of the request that the slot's text begins with. The last one is computed in any case.
  int64_t reusable(const Slot& slot, const Job& job) const {
    if (slot.tokens == 0) return 0;
    return std::min({common_start(job.request, slot.text), slot.tokens, job.known() - 1});
  }
  void occupy(Job& job) {
    size_t best = slots_.size();
    size_t oldest = slots_.size();
    int64_t most = int64_t(kSimilar * double(job.known()));
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].busy) continue;
      if (oldest == slots_.size() || slots_[i].last_use < slots_[oldest].last_use) oldest = i;
      const int64_t same = reusable(slots_[i], job);
      if (same > most) {
        most = same;
        best = i;
      }
    }
    if (best == slots_.size()) {
      // A slot that was never used is the one that idles longest.
      if (int64_t(slots_.size()) < s_.max_sequences) {
        slots_.emplace_back();
        oldest = slots_.size() - 1;
      }
      best = oldest;
    }
    Slot& slot = slots_[best];
    const int64_t same = reusable(slot, job);
    job.slot = int32_t(best);
    job.computed = std::max(same, job.cached());
    job.held = blocks_for(same);
    kept_ -= slot.blocks;
    free_ += slot.blocks - job.held;
    slot = Slot{.busy = true, .last_use = ++uses_};
  }
  // The idle slot that was used longest ago gives its cells; false when none has any.
  bool clear_idle() {
    Slot* oldest = nullptr;
    for (Slot& slot : slots_) {
      if (slot.busy || slot.blocks == 0) continue;
      if (oldest == nullptr || slot.last_use < oldest->last_use) oldest = &slot;
    }
    if (oldest == nullptr) return false;
    kept_ -= oldest->blocks;
    free_ += oldest->blocks;
    oldest->tokens = oldest->blocks = 0;
    return true;
  }

  void add(size_t place, int64_t tokens, int64_t& budget) {
    Job* job = running_[place];
    const int64_t need = std::max<int64_t>(0, blocks_for(job->computed + tokens) - job->held);
    while (need > free_ && clear_idle()) {
    }
    while (s_.unified && need > free_) {
      Job* victim = running_.back();
      if (victim == job) break;
      // Someone already in this pass keeps its cells.
      bool in_pass = false;
      for (const Scheduled& s : scheduled_) in_pass = in_pass || s.job == victim;
      if (in_pass) break;
      running_.pop_back();
      evict(victim);
    }
    if (s_.unified && need > free_) {
      if (running_.back() == job && scheduled_.size() + 1 == running_.size() &&
          running_.size() > 1) {
        running_.pop_back();
        evict(job);
      }
      return;
    }
    take(*job, need);
    budget -= tokens;
    scheduled_.push_back({job, tokens});
  }

  std::vector<Slot> slots_;
  int64_t uses_ = 0;
  int64_t kept_ = 0;  // blocks of idle slots' texts
};

}  // namespace

std::unique_ptr<Engine> slots(const Scheduler& scheduler, const StepTime& time, Source& source,
                              Meter* meter, FateSink* sink) {
  return std::make_unique<Slots>(scheduler, time, source, meter, sink);
}

}  // namespace vramwise::workload
