#include "api/tensors.h"

#include "api/answer.h"
#include "base/sort.h"
#include "base/text.h"
#include "model/gguf/names.h"
#include "plan/resolve.h"

namespace vramwise::api {
namespace {

using json::Value;
using model::Part;
using model::Role;

constexpr std::string_view kGroups[] = {"embedding",    "attention",    "recurrent mixer",
                                        "feed-forward", "router",       "shared experts",
                                        "experts",      "n-gram table", "per-layer input",
                                        "norms",        "output head",  "MTP",
                                        "vision tower", "audio tower",  "projector",
                                        "buffers",      "not loaded",   "other"};

std::string_view group_of(Role role) {
  switch (role) {
    case Role::token_embedding:
    case Role::position_embedding:
    case Role::type_embedding: return "embedding";
    case Role::output_head:
    case Role::output_head_bias: return "output head";
    case Role::norm:
    case Role::query_norm:
    case Role::key_norm:
    case Role::recurrent_norm: return "norms";
    case Role::query:
    case Role::key:
    case Role::value:
    case Role::fused_qkv:
    case Role::attention_output:
    case Role::query_bias:
    case Role::key_bias:
    case Role::value_bias:
    case Role::fused_qkv_bias:
    case Role::attention_output_bias:
    case Role::attention_gate:
    case Role::attention_sinks:
    case Role::query_down:
    case Role::query_down_bias:
    case Role::query_up:
    case Role::kv_down:
    case Role::kv_down_bias:
    case Role::kv_up:
    case Role::indexer:
    case Role::compressor: return "attention";
    case Role::ffn_gate:
    case Role::ffn_up:
    case Role::ffn_down:
    case Role::ffn_fused_gate_up:
    case Role::ffn_gate_bias:
    case Role::ffn_up_bias:
    case Role::ffn_down_bias:
    case Role::ffn_fused_gate_up_bias: return "feed-forward";
    case Role::router:
    case Role::router_bias:
    case Role::router_correction_bias: return "router";
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_down:
    case Role::expert_fused_gate_up:
    case Role::expert_gate_bias:
    case Role::expert_up_bias:
    case Role::expert_down_bias:
    case Role::expert_fused_gate_up_bias:
    case Role::expert_latent_down:
    case Role::expert_latent_up: return "experts";
    case Role::shared_expert_gate:
    case Role::shared_expert_up:
    case Role::shared_expert_down:
    case Role::shared_expert_fused_gate_up:
    case Role::shared_expert_router: return "shared experts";
    case Role::recurrent_in:
    case Role::recurrent_in_small:
    case Role::recurrent_conv:
    case Role::recurrent_conv_bias:
    case Role::recurrent_parameter:
    case Role::recurrent_projection:
    case Role::recurrent_out: return "recurrent mixer";
    case Role::ngram_embedding: return "n-gram table";
    case Role::per_layer_embedding:
    case Role::per_layer_projection: return "per-layer input";
    case Role::tower: return "vision tower";
    case Role::projector: return "projector";
    case Role::mtp_projection: return "MTP";
    case Role::hash_table:
    case Role::hyper_connection:
    case Role::residual_scale:
    case Role::other: return "other";
  }
  return "other";
}

std::string_view group_of(Part part, Role role) {
  switch (part) {
    case Part::mtp: return "MTP";
    case Part::vision: return "vision tower";
    case Part::audio: return "audio tower";
    case Part::projector: return "projector";
    case Part::buffer: return "buffers";
    case Part::stored_unused: return "not loaded";
    case Part::text:
    case Part::head:
    case Part::tied_head: return group_of(role);
  }
  return "other";
}

TensorRow gguf_row(const weights::GgufTensor& tensor) {
  TensorRow row;
  row.name = tensor.name;
  const model::GgufName name = model::split_gguf_name(tensor.name);
  row.group = tensor.mtp                         ? "MTP"
              : model::is_gguf_buffer(name.rest) ? "buffers"
                                                 : group_of(model::gguf_role(name));
  size_t rank = 4;
  while (rank > 1 && tensor.extent[rank - 1] == 1) --rank;
  row.extents.assign(tensor.extent.begin(), tensor.extent.begin() + int64_t(rank));
  row.type = std::string(weights::info(tensor.type).name);
  row.elements = tensor.elements();
  row.bytes = tensor.bytes();
  return row;
}

Result<plan::ResolvedModel> resolve_side(const json::Reader& side, Notes& notes) {
  Value question = side.value();
  if (question.is_object() && question.find("hardware") == nullptr) {
    Value none = Value::object();
    none.set("gpu", "none");
    question.set("hardware", std::move(none));
  }
  TRY_ASSIGN(const plan::Request request, plan::read_request(json::Reader(question, "request")));
  return plan::resolve_weights(request.model, request.weights, notes);
}

Value brief(const TensorRow& row) {
  Value item = Value::object();
  Value shape = Value::array();
  for (const int64_t extent : row.extents) shape.push(extent);
  item.set("name", row.name);
  item.set("shape", std::move(shape));
  item.set("type", row.type);
  if (row.copies > 1) item.set("copies", row.copies);
  item.set("bytes", row.bytes);
  return item;
}

}  // namespace

std::vector<TensorRow> tensor_rows(const model::Model& model, const weights::Weights& weights) {
  std::vector<TensorRow> rows;
  if (weights.gguf) {
    rows.reserve(weights.gguf->tensors.size());
    for (const weights::GgufTensor& tensor : weights.gguf->tensors)
      rows.push_back(gguf_row(tensor));
    return rows;
  }
  if (!weights.recipe) return rows;
  for (size_t i = 0; i < model.tensors.size() && i < weights.recipe->of_tensor.size(); ++i) {
    const model::Tensor& tensor = model.tensors[i];
    if (tensor.part == Part::tied_head) continue;
    const weights::Scheme& scheme = weights.recipe->scheme(i);
    TensorRow row;
    row.name = tensor.name;
    row.group = group_of(tensor.part, tensor.role);
    for (int d = 0; d < tensor.shape.rank; ++d) row.extents.push_back(tensor.shape[d]);
    row.copies = tensor.copies;
    row.type = scheme.kind == weights::SchemeKind::plain
                   ? std::string(to_string(tensor.dtype.value_or(scheme.plain_type)))
                   : weights::describe(scheme);
    row.elements = tensor.elements();
    row.bytes = weights::at_rest_bytes(model, tensor, scheme);
    rows.push_back(std::move(row));
  }
  return rows;
}

Value tensors_by_role(const std::vector<TensorRow>& rows) {
  Value groups = Value::array();
  for (const std::string_view group : kGroups) {
    int64_t tensors = 0;
    int64_t elements = 0;
    Bytes bytes;
    for (const TensorRow& row : rows) {
      if (row.group != group) continue;
      tensors = saturating_add(tensors, row.copies);
      elements = saturating_add(elements, row.elements);
      bytes += row.bytes;
    }
    if (tensors == 0) continue;
    Value item = Value::object();
    item.set("role", group);
    item.set("tensors", tensors);
    item.set("elements", elements);
    item.set("bytes", bytes);
    groups.push(std::move(item));
  }
  return groups;
}

Value tensor_list(const std::vector<TensorRow>& rows) {
  Value list = Value::array();
  for (const TensorRow& row : rows) list.push(brief(row));
  return list;
}

Value file_block(const Value& header) {
  if (!header.is_object()) return {};
  Value block = Value::object();
  for (const char* key : {"format", "name", "version", "big_endian", "files", "file_bytes",
                          "expected_bytes", "data_offset"}) {
    if (const Value* value = header.find(key)) block.set(key, *value);
  }
  const Value* there = header.find("file_bytes");
  const Value* expected = header.find("expected_bytes");
  if (there != nullptr && expected != nullptr && there->is_integer() && expected->is_integer()) {
    block.set("complete", there->as_integer() >= expected->as_integer());
  }
  return block;
}

Result<Value> ask_diff(const json::Reader& request, const Value& id) {
  constexpr size_t kMostListed = 2000;
  Value block = Value::object();
  Notes notes;
  std::vector<TensorRow> rows[2];
  const char* const names[] = {"a", "b"};
  Value blocks[2];
  for (int i = 0; i < 2; ++i) {
    TRY_ASSIGN(const json::Reader side, request.require({names[i]}));
    TRY_ASSIGN(const plan::ResolvedModel resolved, resolve_side(side, notes));
    rows[i] = tensor_rows(*resolved.model, *resolved.weights);
    sort_stable(rows[i], [](const TensorRow& x, const TensorRow& y) { return x.name < y.name; });
    blocks[i] = model_block(*resolved.model, *resolved.weights);
  }
  Value only[2] = {Value::array(), Value::array()};
  Value changed = Value::array();
  int64_t only_count[2] = {0, 0};
  int64_t changed_count = 0;
  int64_t equal = 0;
  size_t at[2] = {0, 0};
  while (at[0] < rows[0].size() || at[1] < rows[1].size()) {
    const TensorRow* a = at[0] < rows[0].size() ? &rows[0][at[0]] : nullptr;
    const TensorRow* b = at[1] < rows[1].size() ? &rows[1][at[1]] : nullptr;
    const int side = b == nullptr || (a != nullptr && a->name < b->name) ? 0
                     : a == nullptr || b->name < a->name                 ? 1
                                                                         : -1;
    if (side >= 0) {
      if (size_t(only_count[side]++) < kMostListed) only[side].push(brief(side == 0 ? *a : *b));
      ++at[side];
      continue;
    }
    if (a->extents != b->extents || a->type != b->type || a->copies != b->copies) {
      if (size_t(changed_count++) < kMostListed) {
        Value item = Value::object();
        item.set("name", a->name);
        item.set("a", brief(*a));
        item.set("b", brief(*b));
        changed.push(std::move(item));
      }
    } else {
      ++equal;
    }
    ++at[0];
    ++at[1];
  }
  const int64_t more =
      blocks[1].find("tensor_bytes")->as_integer() - blocks[0].find("tensor_bytes")->as_integer();
  std::string sentence = changed_count + only_count[0] + only_count[1] == 0
                             ? "The two hold the same tensors in the same types"
                             : format_grouped(equal) + " tensors are alike, " +
                                   format_grouped(changed_count) + " differ, " +
                                   format_grouped(only_count[0]) + " are only in the first and " +
                                   format_grouped(only_count[1]) + " only in the second";
  if (more != 0) {
    sentence += "; the second takes " + format_bytes(Bytes(more < 0 ? -more : more)) +
                (more < 0 ? " less" : " more");
  }
  block.set("answer", std::move(sentence));
  block.set("a", std::move(blocks[0]));
  block.set("b", std::move(blocks[1]));
  block.set("equal_tensors", equal);
  block.set("changed_tensors", changed_count);
  block.set("only_in_a_tensors", only_count[0]);
  block.set("only_in_b_tensors", only_count[1]);
  block.set("changed", std::move(changed));
  block.set("only_in_a", std::move(only[0]));
  block.set("only_in_b", std::move(only[1]));
  Value answer = answer_head(id);
  answer.set("diff", std::move(block));
  return answer;
}

}  // namespace vramwise::api
