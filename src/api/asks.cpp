#include "api/asks.h"

#include <array>
#include <vector>

#include "api/answer.h"
#include "api/catalog_rows.h"
#include "api/emit.h"
#include "api/line.h"
#include "api/load_decisions.h"
#include "api/option_rows.h"
#include "api/simulate.h"
#include "api/tensors.h"
#include "api/verify.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "model/from_config.h"
#include "plan/plan.h"

namespace vramwise::api {
namespace {

using json::Value;

Result<Value> ask_plan(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const plan::Request question, plan::read_request(request));
  // Changes are planned again one by one; who only wants the verdict (a slider being moved) goes
  // without.
  TRY_ASSIGN(const bool levers, request.boolean_or({"levers"}, true));
  TRY_ASSIGN(plan::Plan plan,
             plan::make_plan(question, levers ? plan::Levers::search : plan::Levers::skip));
  Value load;
  if (has_load(request)) {
    TRY_ASSIGN(load, add_load(request, plan));
  }
  TRY_ASSIGN(const auto emit, request.optional_string({"emit"}));
  Value answer = plan_answer(id, plan);
  if (!load.is_null()) {
    Value* block = answer.find("workload");
    if (block == nullptr) block = &answer.set("workload", Value::object());
    for (json::Member& member : load.as_object()) block->set(member.key, std::move(member.value));
  }
  TRY_ASSIGN(const bool rows, request.boolean_or({"show_options"}, false));
  if (rows) {
    TRY_ASSIGN(Value options, option_rows(plan));
    answer.set("options", std::move(options));
  }
  if (emit) {
    TRY_ASSIGN(Value manifest, manifest_block(plan, *emit));
    answer.set("manifest", std::move(manifest));
  }
  return answer;
}

// What a model is: tensors, caches, their cost per token. Needs no hardware and no engine.
Result<Value> ask_inspect(const json::Reader& request, const Value& id) {
  Value with_hardware = request.value();
  // The request reader wants a machine; inspecting needs none.
  if (with_hardware.find("hardware") == nullptr) {
    Value none = Value::object();
    none.set("gpu", "none");
    with_hardware.set("hardware", std::move(none));
  }
  TRY_ASSIGN(const plan::Request question,
             plan::read_request(json::Reader(with_hardware, "request")));
  Notes notes = question.notes;
  TRY_ASSIGN(const plan::ResolvedModel resolved,
             plan::resolve_weights(question.model, question.weights, notes));
  const auto& model = resolved.model;
  const weights::Weights& weights = *resolved.weights;
  Value answer = answer_head(id);
  answer.set("model", model_block(*model, weights));
  Value inspect = inspect_block(*model, weights);
  const std::vector<TensorRow> rows = tensor_rows(*model, weights);
  inspect.set("tensors_by_role", tensors_by_role(rows));
  Value file = file_block(question.model.header);
  if (!file.is_null()) inspect.set("file", std::move(file));
  TRY_ASSIGN(const bool all_tensors, request.boolean_or({"tensors"}, false));
  if (all_tensors) inspect.set("tensors", tensor_list(rows));
  answer.set("inspect", std::move(inspect));
  notes.append(model->notes);
  notes.append(weights.notes);
  Value assumptions = Value::array();
  for (const Note& note : notes.assumptions) {
    Value item = Value::object();
    item.set("id", note.id);
    item.set("text", note.text);
    assumptions.push(std::move(item));
  }
  answer.set("assumptions", std::move(assumptions));
  Value warnings = Value::array();
  for (const Note& note : notes.warnings) {
    Value item = Value::object();
    item.set("id", note.id);
    item.set("text", note.text);
    warnings.push(std::move(item));
  }
  if (!notes.warnings.empty()) answer.set("warnings", std::move(warnings));
  return answer;
}

// {"ask":"header","model":{"blob":…}}: what was read from the model's files, as the "model" member
// of later requests, which then need no file. The blobs were replaced before the ask is answered.
Result<Value> ask_header(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const json::Reader model, request.require({"model"}));
  Value block = Value::object();
  block.set("model", model.value());
  Value answer = answer_head(id);
  answer.set("header", std::move(block));
  return answer;
}

struct CatalogKind {
  std::string_view plural;
  catalog::Kind kind;
};
constexpr std::array kCatalogKinds = {CatalogKind{"engines", catalog::Kind::engine},
                                      CatalogKind{"gpus", catalog::Kind::gpu},
                                      CatalogKind{"instances", catalog::Kind::instance},
                                      CatalogKind{"models", catalog::Kind::model},
                                      CatalogKind{"speeds", catalog::Kind::speed},
                                      CatalogKind{"workloads", catalog::Kind::workload}};

// {"ask":"catalog","kind":"gpus"} lists ids; with "name" it answers the entry.
Result<Value> ask_catalog(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const auto kind_name, request.optional_string({"kind"}));
  TRY_ASSIGN(const auto name, request.optional_string({"name"}));
  Value block = Value::object();
  if (!kind_name) {
    for (const CatalogKind& k : kCatalogKinds) {
      block.set(k.plural, int64_t(catalog::ids(k.kind).size()));
    }
    block.set("weights", int64_t(weights::formats().size()));
    block.set("families", int64_t(model::known_model_types().size()));
  } else if (*kind_name == "weights") {
    Value list = Value::array();
    std::vector<std::string> known;
    for (const weights::FormatInfo& format : weights::formats()) {
      known.emplace_back(format.id);
      if (name && *name != format.id) continue;
      Value item = Value::object();
      item.set("id", format.id);
      item.set("description", format.description);
      list.push(std::move(item));
    }
    if (list.as_array().empty()) {
      return fail(
          Error(ErrorCode::not_found, "unknown weight format '" + name->substr(0, 60) + "'")
              .at("name")
              .hint("formats: " + join(known, ", ") + "; or a GGUF mixture such as Q4_K_M"));
    }
    block.set("weights", std::move(list));
  } else if (*kind_name == "families") {
    Value list = Value::array();
    for (const std::string_view type : model::known_model_types()) list.push(type);
    block.set("families", std::move(list));
  } else {
    const CatalogKind* found = nullptr;
    for (const CatalogKind& k : kCatalogKinds) {
      if (*kind_name == k.plural || *kind_name == catalog::to_string(k.kind)) found = &k;
    }
    if (found == nullptr) {
      return fail(Error(ErrorCode::not_found, "unknown catalog '" + kind_name->substr(0, 60) + "'")
                      .at("kind")
                      .hint("catalogs: engines, families, gpus, instances, models, speeds, "
                            "weights, workloads"));
    }
    if (name) {
      TRY_ASSIGN(catalog::Entry entry, catalog::find(found->kind, *name));
      block.set("entry", std::move(entry.value));
    } else {
      Value list = Value::array();
      for (const std::string_view entry : catalog::ids(found->kind)) list.push(entry);
      block.set(found->plural, std::move(list));
      TRY_ASSIGN(const bool rows, request.boolean_or({"rows"}, false));
      if (rows) {
        TRY_ASSIGN(Value described, catalog_rows(found->kind));
        block.set("rows", std::move(described));
      }
    }
  }
  Value answer = answer_head(id);
  answer.set("catalog", std::move(block));
  return answer;
}

constexpr std::array kAsks = {
    Ask{"catalog", ask_catalog},  Ask{"compare", ask_compare},        Ask{"diff", ask_diff},
    Ask{"explain", ask_plan},     Ask{"gpus", nullptr, ask_gpus},     Ask{"grid", ask_grid},
    Ask{"header", ask_header},    Ask{"inspect", ask_inspect},        Ask{"launch", ask_launch},
    Ask{"max", nullptr, ask_max}, Ask{"models", ask_models},          Ask{"node", ask_node},
    Ask{"plan", ask_plan},        Ask{"simulate", nullptr, simulate}, Ask{"verify", ask_verify}};

}  // namespace

std::span<const Ask> asks() { return kAsks; }

}  // namespace vramwise::api
