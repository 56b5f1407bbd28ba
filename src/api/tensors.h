// Tensors of a model as rows: for `inspect` and `diff`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "json/reader.h"
#include "json/value.h"
#include "model/model.h"
#include "weights/weights.h"

namespace vramwise::api {

struct TensorRow {
  std::string name;
  std::vector<int64_t> extents;  // outermost first; in a GGUF file the contiguous one first
  std::string type;
  std::string_view group;  // "attention", "experts", …
  int64_t copies = 1;
  int64_t elements = 0;
  Bytes bytes;
};

std::vector<TensorRow> tensor_rows(const model::Model& model, const weights::Weights& weights);

// [{"role":…,"tensors":…,"elements":…,"bytes":…}], in the order of a model.
json::Value tensors_by_role(const std::vector<TensorRow>& rows);
// [{"name":…,"shape":[…],"type":…,"bytes":…}]
json::Value tensor_list(const std::vector<TensorRow>& rows);
// What the files are: format, bytes, whether they are complete. null without files.
json::Value file_block(const json::Value& header);

// {"ask":"diff","a":{"model":…},"b":{"model":…}}: what two models differ in, tensor by tensor.
Result<json::Value> ask_diff(const json::Reader& request, const json::Value& id);

}  // namespace vramwise::api
