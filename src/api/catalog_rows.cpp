#include "api/catalog_rows.h"

#include <algorithm>
#include <string_view>

#include "catalog/gpu.h"
#include "plan/prices.h"

namespace vramwise::api {
namespace {

using json::Value;

void copy(const Value& entry, std::string_view key, Value& row) {
  if (const Value* value = entry.find(key)) row.set(std::string(key), *value);
}

Result<Value> gpu_row(std::string_view id, const plan::PriceList& prices) {
  TRY_ASSIGN(const catalog::Gpu gpu, catalog::find_gpu(id));
  Value row = Value::object();
  row.set("id", id);
  row.set("name", gpu.name);
  row.set("total_bytes", gpu.total.count());
  if (gpu.bandwidth_gbs > 0) row.set("bandwidth_gbs", gpu.bandwidth_gbs);
  if (const auto price = prices.cheapest(id, 1)) {
    row.set("usd_per_hour", price->usd_per_hour);
    row.set("offer", price->offer);
  }
  return row;
}

Result<Value> other_row(catalog::Kind kind, std::string_view id) {
  Value row = Value::object();
  row.set("id", id);
  if (kind == catalog::Kind::model || kind == catalog::Kind::speed) return row;
  TRY_ASSIGN(const catalog::Entry entry, catalog::find(kind, id));
  for (const std::string_view key : {"name", "oldest", "newest", "gpu", "gpu_count"}) {
    copy(entry.value, key, row);
  }
  // The last price is the newest one.
  const Value* prices = entry.value.find("prices");
  if (prices != nullptr && prices->is_array() && !prices->as_array().empty()) {
    copy(prices->as_array().back(), "usd_per_hour", row);
    copy(prices->as_array().back(), "date", row);
  }
  return row;
}

}  // namespace

Result<Value> catalog_rows(catalog::Kind kind) {
  Value rows = Value::array();
  const bool gpus = kind == catalog::Kind::gpu;
  const plan::PriceList prices =
      gpus ? plan::PriceList() : plan::PriceList(std::vector<plan::Offer>());
  for (const std::string_view id : catalog::ids(kind)) {
    TRY_ASSIGN(Value row, gpus ? gpu_row(id, prices) : other_row(kind, id));
    rows.push(std::move(row));
  }
  return rows;
}

}  // namespace vramwise::api
