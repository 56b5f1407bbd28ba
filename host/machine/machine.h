// What the machine at hand has: cards with their memory and who holds it, host memory with its
// limits. Read by `doctor`, by `--gpu local` and, again and again, by `watch` and `loadtest`.
//
// Sources, in this order: NVML (the NVIDIA driver's own library), the program nvidia-smi, the
// amdgpu driver's files below /sys and rocm-smi, Metal's limits on Apple machines; /proc and the
// control groups for the host. Nothing here allocates memory on a card.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "json/value.h"

namespace vramwise::host {

struct CardProcess {
  int64_t pid = 0;
  std::string name;           // empty when it cannot be read (another container)
  std::optional<Bytes> used;  // absent: the driver does not tell
};

// A card, or one slice of a card that is divided (MIG).
struct Card {
  int index = 0;            // the driver's number; a slice has its card's
  std::string name;         // as the driver says: "NVIDIA GeForce RTX 4090"
  std::string id;           // UUID or bus address: what CUDA_VISIBLE_DEVICES takes
  std::string vendor;       // as in the catalog: nvidia, amd, apple
  std::string gpu;          // the catalog's id; empty when the catalog does not know it
  std::string slice;        // "1g.10gb"; empty for a whole card
  bool divided = false;     // MIG is on: the slices are used, never the whole
  bool unified = false;     // its memory is the host's
  Bytes driver_total;       // what nvidia-smi or its like prints
  Bytes total;              // what the runtime lets a process have: the plan's total
  std::string total_basis;  // cuda, reserved, catalog, rule, driver
  Bytes used;               // of `total`, by everybody
  Bytes free;
  std::optional<int> busy_percent;
  std::vector<CardProcess> processes;
};

// Something a person should know about the machine.
struct Finding {
  enum class Weight { note, problem } weight = Weight::note;
  std::string id;    // stable: "driver_mismatch"
  std::string text;  // what is so
  std::string next;  // what to do about it; may be empty
};

struct HostMemory {
  Bytes total;  // of the machine
  Bytes available;
  std::optional<Bytes> limit;  // of this control group or container
  Bytes limit_used;            // by it
  std::string limit_source;    // file that says so
  int64_t processors = 0;      // this process may use
  std::optional<Bytes> shared_memory;
  // What a process here can count on at most.
  Bytes usable() const { return limit && *limit < total ? *limit : total; }
};

struct Machine {
  std::string source;  // nvml, nvidia-smi, amdgpu, metal; empty: no card
  std::string driver;  // version
  std::string cuda;    // newest CUDA version the driver serves: "12.8"
  std::vector<Card> cards;
  HostMemory host;
  std::vector<Finding> findings;
};

// Looks at everything. Never fails: what cannot be read becomes a finding.
Machine detect_machine();

// "doctor" of an answer document.
json::Value to_json(const Machine& machine);

}  // namespace vramwise::host
