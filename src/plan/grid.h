// Plans over a grid of sequence lengths and users: what the pictures of a plan are drawn from. Each
// cell is what make_plan says for that workload.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace vramwise::plan {

// Largest sizes of a grid.
inline constexpr size_t kMostGridAxis = 256;
inline constexpr size_t kMostGridCells = 4096;
inline constexpr size_t kMostGridGpus = 64;

struct GridQuestion {
  std::vector<int64_t> sequence_tokens;  // columns, in any order
  std::vector<int64_t> concurrency;      // rows
  std::vector<std::string> gpus;         // of which the first that holds a cell is looked for
};

struct GridCell {
  Verdict verdict;
  int device = 0;  // whose need is told: the fullest, or engines::kHost
  // What this workload needs there, by component (in the order of engines::kComponents), and in
  // all.
  std::array<ByteRange, engines::kComponents.size()> need;
  ByteRange total;
  int gpu = -1;  // index of the first of `gpus` on which it fits; -1: none, or none given
};

struct Grid {
  std::vector<std::vector<GridCell>> cells;  // [row][column]
  std::vector<catalog::Gpu> gpus;            // as the catalog knows them
};

// The cards of each usual size of memory that the engine runs on, smallest first.
std::vector<catalog::Gpu> usual_cards(const engines::Engine& engine);
std::vector<std::string> usual_gpus(const engines::Engine& engine);

// Cards of `gpus` take the place of the question's, as many of them, with nothing in use. On one
// card a longer sequence or one more user never needs less, so that a card which does not hold a
// cell is not asked about larger ones. Errors: not_found (GPU), too_large (sizes above), and
// whatever make_plan finds.
Result<Grid> make_grid(const Resolved& resolved, const GridQuestion& question);

}  // namespace vramwise::plan
