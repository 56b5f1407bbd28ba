// Answers as JSON, from the structures of plan/.
#pragma once

#include "base/result.h"
#include "json/value.h"
#include "plan/plan.h"

namespace vramwise::api {

inline constexpr int64_t kSchemaVersion = 1;

// {"schema_version":1,"id":…}
json::Value answer_head(const json::Value& id);
json::Value error_answer(const json::Value& id, const Error& error);
// [{"id","text","source"}] of assumptions or warnings.
json::Value notes_block(const std::vector<Note>& notes);
// A choice of cards: "gpu", "count", and where they are several "layout" and its "options".
json::Value cards_block(std::string_view gpu, int64_t count, const engines::Layout& layout);
json::Value plan_answer(const json::Value& id, const plan::Plan& plan);
// The "model" block, and the block of caches and tensors that ask "inspect" adds.
json::Value model_block(const model::Model& model, const weights::Weights& weights);
json::Value inspect_block(const model::Model& model, const weights::Weights& weights);

// The pointer of the first number beyond 2^53 - 1; empty when all are within.
std::string find_too_large(const json::Value& value);

}  // namespace vramwise::api
