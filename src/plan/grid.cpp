#include "plan/grid.h"

#include <algorithm>
#include <numeric>

#include "base/sort.h"
#include "base/text.h"
#include "plan/cards.h"

namespace vramwise::plan {
namespace {

// One card people know for each usual size of memory, 8 to 288 GB.
constexpr std::array<std::string_view, 11> kUsualGpus = {
    "rtx-4060", "rtx-3060-12",     "rtx-4060-ti-16", "rtx-4090", "rtx-5090", "l40s",
    "h100-sxm", "rtx-pro-6000-ws", "h200-sxm",       "b200",     "b300"};

Result<Sketch> sketch_at(Resolved& resolved, int64_t tokens, int64_t users) {
  resolved.workload.sequence_tokens = Tokens(tokens);
  resolved.workload.concurrency = Sequences(users);
  return sketch_plan(resolved, engines::Detail::verdict);
}

GridCell cell_of(const Resolved& resolved, Sketch sketch) {
  GridCell cell;
  const engines::Assessment& assessment = sketch.assessment;
  cell.device = resolved.hardware.is_cpu_only() ? engines::kHost : assessment.fullest_device;
  for (size_t i = 0; i < engines::kComponents.size(); ++i) {
    cell.need[i] = assessment.need.total(cell.device, engines::kComponents[i]);
  }
  cell.total = assessment.need.total(cell.device);
  cell.verdict = std::move(sketch.verdict);
  return cell;
}

// Positions of an axis from the smallest value to the largest.
std::vector<size_t> ascending(const std::vector<int64_t>& axis) {
  std::vector<size_t> order(axis.size());
  std::iota(order.begin(), order.end(), size_t(0));
  sort_stable(order, [&](size_t a, size_t b) { return axis[a] < axis[b]; });
  return order;
}

Result<bool> check_sizes(const GridQuestion& question) {
  const size_t columns = question.sequence_tokens.size(), rows = question.concurrency.size();
  const auto too_large = [](std::string text, std::string_view where) {
    return Error(ErrorCode::too_large, std::move(text))
        .at(std::string(where))
        .hint("ask for fewer at a time; the answer to several grids is the same");
  };
  if (columns == 0 || rows == 0) {
    return fail(Error(ErrorCode::invalid_input, "a grid wants at least one value on each axis")
                    .at(columns == 0 ? "grid.sequence_tokens" : "grid.concurrency")
                    .hint(R"(write "grid":{"sequence_tokens":[4096,8192],"concurrency":[1,8]})"));
  }
  if (columns > kMostGridAxis || rows > kMostGridAxis) {
    return fail(too_large(
        "an axis of a grid has at most " + format_integer(int64_t(kMostGridAxis)) + " values",
        columns > kMostGridAxis ? "grid.sequence_tokens" : "grid.concurrency"));
  }
  if (columns * rows > kMostGridCells) {
    return fail(too_large(
        "a grid has at most " + format_grouped(int64_t(kMostGridCells)) + " cells", "grid"));
  }
  if (question.gpus.size() > kMostGridGpus) {
    return fail(
        too_large("a grid compares at most " + format_integer(int64_t(kMostGridGpus)) + " GPUs",
                  "grid.gpus"));
  }
  return true;
}

}  // namespace

std::vector<catalog::Gpu> usual_cards(const engines::Engine& engine) {
  std::vector<catalog::Gpu> cards;
  for (const std::string_view id : kUsualGpus) {
    auto gpu = catalog::find_gpu(id);
    if (gpu && engine.runs_on(*gpu)) cards.push_back(std::move(*gpu));
  }
  return cards;
}

std::vector<std::string> usual_gpus(const engines::Engine& engine) {
  std::vector<std::string> ids;
  for (const catalog::Gpu& gpu : usual_cards(engine)) ids.push_back(gpu.id);
  return ids;
}

Result<Grid> make_grid(const Resolved& resolved, const GridQuestion& question) {
  TRY(check_sizes(question));
  Grid grid;
  std::vector<Resolved> on_gpu;
  for (const std::string& id : question.gpus) {
    auto gpu = catalog::find_gpu(id);
    if (!gpu) return fail(std::move(gpu.error()).at("grid.gpus"));
    on_gpu.push_back(
        on_cards(resolved, *gpu, std::max<size_t>(1, resolved.hardware.devices.size())));
    grid.gpus.push_back(std::move(*gpu));
  }
  grid.cells.assign(question.concurrency.size(),
                    std::vector<GridCell>(question.sequence_tokens.size()));
  Resolved own = resolved;
  const size_t none = on_gpu.size();
  // First card not ruled out by the cells below, by column.
  std::vector<size_t> first(question.sequence_tokens.size(), 0);
  for (const size_t row : ascending(question.concurrency)) {
    size_t from = 0;
    for (const size_t column : ascending(question.sequence_tokens)) {
      const int64_t tokens = question.sequence_tokens[column], users = question.concurrency[row];
      TRY_ASSIGN(Sketch sketch, sketch_at(own, tokens, users));
      GridCell& cell = grid.cells[row][column];
      cell = cell_of(own, std::move(sketch));
      from = std::max(from, first[column]);
      for (; from < none; ++from) {
        const auto there = sketch_at(on_gpu[from], tokens, users);
        if (there && there->verdict.outcome == Outcome::fits) break;
      }
      first[column] = from;
      if (from < none) cell.gpu = int(from);
    }
  }
  return grid;
}

}  // namespace vramwise::plan
