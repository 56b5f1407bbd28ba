// A memory budget as rows. Totals are sums of rows, always.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace vramwise::engines {

enum class Component { weights, kv_cache, activations, runtime };
inline constexpr std::array kComponents = {Component::weights, Component::kv_cache,
                                           Component::activations, Component::runtime};
std::string_view to_string(Component component);

// How a number was come by.
enum class Basis {
  exact,     // from the file or plain arithmetic
  derived,   // by the engine's own rule
  modelled,  // by a rule fitted to measured runs: carries a bar
  measured,  // on this user's machine
};
std::string_view to_string(Basis basis);

// The arithmetic behind a row. `words` is a literal like "blocks x block_bytes"; the operands give
// the numbers. Rendered only when somebody asks (report/).
struct Operand {
  std::string_view name;
  double value = 0;
};
struct Formula {
  std::string_view words;
  std::vector<Operand> operands;
};

// device index of rows that live in host memory
inline constexpr int kHost = -1;

struct LedgerRow {
  int device = 0;
  Component component = Component::weights;
  std::string item;  // "experts", "embedding", "cache pool", "sampler"
  ByteRange bytes;
  Basis basis = Basis::exact;
  Formula formula;
  std::string_view source;  // public: "vllm v1/worker/gpu_worker.py", "model's tensor table"
};

struct Ledger {
  std::vector<LedgerRow> rows;

  void add(LedgerRow row);  // rows of zero bytes are dropped
  ByteRange total(int device) const;
  ByteRange total(int device, Component component) const;
};

}  // namespace vramwise::engines
