// Several programs on the cards of one node, started one after the other.
//
// The order matters: a share of vLLM is of the card's total and must be free when it starts, a
// share of SGLang or TensorRT-LLM is of what is free by then, and llama.cpp's fit takes what it
// finds. So every program is planned on what those before it have left, by its own engine's rules.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace vramwise::plan {

inline constexpr size_t kMostNodeProcesses = 64;

// A program on the node: a server, or something else that holds memory (a desktop, a notebook).
struct NodeProcess {
  std::string name;
  std::vector<size_t> devices;     // of the node, in the program's own order; empty: host only
  std::optional<Resolved> server;  // its devices are replaced by what is left of the node's
  Bytes takes;                     // of something else: on each of its devices
  Bytes host;                      // of something else: of host memory
};

struct NodeQuestion {
  engines::Hardware hardware;  // ram 0: not known, host memory is not judged
  std::vector<NodeProcess> processes;
};

// How a program fared when its turn came. One that does not start holds nothing afterwards.
struct NodeStart {
  std::optional<Plan> plan;      // servers; on the cards as it found them
  Verdict verdict;               // inside the bars of what started before it, too
  std::vector<ByteRange> found;  // free on each of its devices when it starts
  std::vector<ByteRange> takes;  // on each of its devices from then on
  std::vector<Bytes> needs;      // of that, what its own load needs
  ByteRange host;                // host memory from then on
  Bytes host_peak;               // host memory while it loads
};

// A change for the whole node that was planned again and fits.
struct NodeChange {
  std::vector<size_t> order;  // start order by index; empty: as asked
  struct Option {
    size_t process = 0;
    std::string name;  // canonical option of that process's engine
    json::Value value;
  };
  std::vector<Option> options;
};

struct NodePlan {
  std::vector<NodeStart> starts;    // in start order
  std::vector<ByteRange> taken;     // on each device, beside what was in use before
  ByteRange host;                   // held in the end
  Bytes host_peak;                  // the highest while any of them loads
  Verdict verdict;                  // of the whole: the worst, and of these the first
  size_t decides = 0;               // the process that the verdict is about
  std::vector<NodeChange> changes;  // cheapest first; empty when all fits
};

// Errors: as make_plan, with the place of the process.
Result<NodePlan> plan_node(const NodeQuestion& question);

// What would make it fit: another order, other shares of the cards. In plan/node_changes.cpp.
std::vector<NodeChange> find_node_changes(const NodeQuestion& question);

// The verdict of the whole with the changes applied, without details; an error where it cannot be
// planned.
Result<Verdict> judge_node(const NodeQuestion& question, const NodeChange& change);

// The answer in one sentence.
std::string sentence(const NodeQuestion& question, const NodePlan& plan);

}  // namespace vramwise::plan
