// The ask behind pictures: one plan for every pair of sequence length and users.
#include "plan/grid.h"
#include "api/answer.h"
#include "api/asks.h"
#include "api/line.h"

namespace vramwise::api {
namespace {

using json::Value;

Result<std::vector<int64_t>> read_axis(const json::Reader& grid, std::string_view key,
                                       int64_t most) {
  std::vector<int64_t> axis;
  TRY_ASSIGN(const json::Reader list, grid.require({key}));
  TRY_ASSIGN(const auto items, list.items());
  for (const json::Reader& item : items) {
    // Read no further than needed to see that there are too many.
    if (axis.size() > plan::kMostGridAxis) break;
    TRY_ASSIGN(const int64_t value, item.integer(1, most));
    axis.push_back(value);
  }
  return axis;
}

Value axis_block(const std::vector<int64_t>& axis) {
  Value list = Value::array();
  for (const int64_t value : axis) list.push(value);
  return list;
}

Value range_block(const ByteRange& range) {
  Value list = Value::array();
  for (const Bytes size : {range.low, range.likely, range.high}) list.push(size);
  return list;
}

Value cell_block(const plan::GridCell& cell, const plan::Grid& grid) {
  Value item = Value::object();
  item.set("outcome", plan::to_string(cell.verdict.outcome));
  item.set("starts", cell.verdict.starts);
  if (!cell.verdict.binding.empty()) item.set("binding", cell.verdict.binding);
  if (cell.verdict.shortfall.count() > 0) item.set("shortfall_bytes", cell.verdict.shortfall);
  item.set("device", cell.device == engines::kHost ? Value("host") : Value(cell.device));
  Value need = Value::object();
  for (size_t i = 0; i < cell.need.size(); ++i) {
    need.set(std::string(to_string(engines::kComponents[i])) + "_bytes", range_block(cell.need[i]));
  }
  need.set("total_bytes", range_block(cell.total));
  item.set("need", std::move(need));
  if (cell.gpu >= 0) item.set("gpu", grid.gpus[size_t(cell.gpu)].id);
  return item;
}

}  // namespace

Result<Value> ask_grid(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const json::Reader from, request.require({"grid"}));
  if (!from.is_object()) {
    return fail(from.error(ErrorCode::invalid_input, "'grid' must be an object")
                    .hint(R"(write "grid":{"sequence_tokens":[4096,8192],"concurrency":[1,8]})"));
  }
  plan::GridQuestion question;
  TRY_ASSIGN(question.sequence_tokens,
             read_axis(from, "sequence_tokens", plan::kMostSequenceTokens));
  TRY_ASSIGN(question.concurrency, read_axis(from, "concurrency", plan::kMostConcurrency));
  TRY_ASSIGN(const plan::Request asked, plan::read_request(request));
  TRY_ASSIGN(const plan::Resolved resolved, plan::resolve(asked));
  if (const auto gpus = from.find("gpus")) {
    TRY_ASSIGN(const auto items, gpus->items());
    for (const json::Reader& item : items) {
      TRY_ASSIGN(std::string gpu, item.string());
      question.gpus.push_back(std::move(gpu));
    }
  } else {
    question.gpus = plan::usual_gpus(*resolved.engine);
  }
  TRY_ASSIGN(const plan::Grid grid, plan::make_grid(resolved, question));

  Value block = Value::object();
  block.set("sequence_tokens", axis_block(question.sequence_tokens));
  block.set("concurrency", axis_block(question.concurrency));
  Value gpus = Value::array();
  for (const catalog::Gpu& gpu : grid.gpus) {
    Value item = Value::object();
    item.set("gpu", gpu.id);
    item.set("name", gpu.name);
    item.set("total_bytes", gpu.total);
    gpus.push(std::move(item));
  }
  block.set("gpus", std::move(gpus));
  Value rows = Value::array();
  for (const std::vector<plan::GridCell>& cells : grid.cells) {
    Value row = Value::array();
    for (const plan::GridCell& cell : cells) row.push(cell_block(cell, grid));
    rows.push(std::move(row));
  }
  block.set("cells", std::move(rows));
  Value answer = answer_head(id);
  answer.set("grid", std::move(block));
  return answer;
}

}  // namespace vramwise::api
