// Defaults of vLLM where the user gives none: lengths, batches, element types.
// Source: vllm engine/arg_utils.py, config/{model,scheduler,cache}.py.
#include <algorithm>

#include "base/text.h"
#include "engines/vllm/settings.h"

namespace vramwise::engines::vllm {
namespace {

std::optional<DType> asked_type(std::string_view name) {
  if (name.empty() || name == "auto") return std::nullopt;
  return dtype_from_name(name);
}

// Bytes of a cache element by the name of its type.
void decide_cache_type(const Question& q, const Given& given, const Profile& profile, Decided& d,
                       Notes& notes) {
  std::string name = given.cache_dtype;
  if (name == "auto" && q.weights->recipe && profile.checkpoint_cache_type &&
      !q.weights->recipe->kv_cache_dtype.empty()) {
    name = q.weights->recipe->kv_cache_dtype;
    notes.assume("cache_type_of_checkpoint",
                 "the checkpoint asks for a cache in " + name + ", which auto follows",
                 "vllm model_executor/layers/quantization/modelopt.py");
  }
  name = to_lower(name);
  const auto type = dtype_from_name(name);
  if (name == "auto" || (type && dtype_bytes(*type) >= 2)) {
    // An explicit 16-bit type; "bfloat16" on a float16 model keeps its size.
    const DType element = type ? *type : d.plain;
    d.cache_element = {dtype_bytes(element), 1};
    d.cache_dtype = to_string(element);
    return;
  }
  d.cache_dtype = name;
  if (starts_with(name, "nvfp4")) {
    d.cache_element = {9, 16};  // 4 bits and an fp8 scale per 16
  } else if (contains(name, "per_token_head")) {
    d.cache_element = {1, 1};
    d.cache_bytes_per_head = 4;  // fp32 scales of K and of V
  } else if (starts_with(name, "turboquant")) {
    d.cache_element = {1, 1};
    notes.warn("turboquant_cache",
               "TurboQuant caches are counted as one byte an element, an upper bound");
  } else {
    d.cache_element = {1, 1};
    if (!starts_with(name, "fp8") && !starts_with(name, "int8")) {
      notes.warn("unknown_cache_type",
                 "cache type '" + name + "' is not known; counted as one byte an element");
    }
  }
}

// Cards before Ampere have no bfloat16: float16 takes its place, and float32, twice the bytes,
// where vLLM holds the model to be unstable in float16.
void replace_bfloat16(const model::Model& model, const Profile& profile, Decided& d, Notes& notes) {
  if (!profile.bfloat16_falls_back) {
    d.plain = DType::float16;
    d.half_wanted = true;
    return;
  }
  const auto& fails = profile.half_fails;
  if (std::find(fails.begin(), fails.end(), model.model_type) == fails.end()) {
    d.plain = DType::float16;
    notes.assume("bfloat16_to_float16",
                 "the card has no bfloat16: vLLM falls back to float16, the same bytes",
                 "vllm config/model.py");
    return;
  }
  d.plain = DType::float32;
  notes.warn("bfloat16_to_float32",
             "the card has no bfloat16, and vLLM does not run " + model.model_type +
                 " in float16: it falls back to float32, twice the bytes",
             "vllm config/model.py");
}

// Tokens of the largest item where one may not be split over batches. Gemma 4's models with
// embeddings per layer (E2B, E4B) see forward only.
int64_t whole_item(const model::Model& model, const Given& given, const Profile& profile) {
  const auto& types = profile.whole_items;
  if (given.language_only || given.no_items) return 0;
  if (std::find(types.begin(), types.end(), model.model_type) == types.end()) return 0;
  bool tower = false;
  for (const model::Tensor& t : model.tensors) {
    if (t.role == model::Role::per_layer_embedding) return 0;
    tower = tower || t.role == model::Role::tower;
  }
  return tower ? profile.whole_item_tokens : 0;
}

void decide_batch(const model::Model& model, const Given& given, const Profile& profile,
                  const Circumstances& now, Decided& d) {
  int64_t tokens = profile.batch_tokens;
  if (now.first_engine) {
    d.chunked = given.chunked_prefill.value_or(d.max_model_len > profile.chunked_above);
    tokens = d.chunked ? profile.chunked_batch : std::max(d.max_model_len, profile.unchunked_floor);
    d.batch_tokens = given.batch_tokens.value_or(tokens);
    d.max_seqs = given.max_seqs.value_or(profile.max_seqs);
    return;
  }
  d.chunked = given.chunked_prefill.value_or(true);
  int64_t seqs = profile.max_seqs;
  if (!d.chunked) tokens = std::max(tokens, d.max_model_len);
  d.max_seqs = given.max_seqs.value_or(seqs);
  const int64_t item = whole_item(model, given, profile);
  if (given.batch_tokens) {
    d.batch_tokens = *given.batch_tokens;
  } else {
    if (profile.batch_holds_item) tokens = std::max(tokens, item);
    d.batch_tokens = std::min(tokens, saturating_multiply(d.max_seqs, d.max_model_len));
  }
  if (!given.max_seqs) d.max_seqs = std::min(d.max_seqs, d.batch_tokens);
  if (d.batch_tokens < item) d.item_beyond_batch = item;
}

}  // namespace

Decided decide(const Question& question, const Given& given, const Profile& profile,
               const Circumstances& now, Notes& notes) {
  Decided d;
  const model::Model& model = *question.model;
  d.utilisation = given.utilisation.value_or(profile.utilisation);
  int64_t derived = model.max_positions > 0 ? model.max_positions : 2048;
  // Models of the longrope kind start at their original length: vllm config/model.py.
  if (model.long_rope && model.original_positions) derived = *model.original_positions;
  if (given.max_model_len) {
    d.max_model_len = *given.max_model_len;
  } else if (!given.fit_length && question.workload.sequence_tokens.count() > 0) {
    d.max_model_len = question.workload.sequence_tokens.count();
    d.length_from_workload = true;
  } else {
    d.max_model_len = derived;
    if (model.max_positions <= 0) {
      notes.assume("length_unknown", "the config names no longest context; vLLM takes 2,048 tokens",
                   "vllm config/model.py");
    }
  }
  const auto plain = asked_type(given.dtype);
  d.plain = plain ? *plain : model.dtype;
  // vLLM runs float32 checkpoints in 16 bits unless told otherwise.
  if (!plain && model.dtype == DType::float32) d.plain = DType::bfloat16;
  if (!plain && d.plain == DType::bfloat16 && lacks_bfloat16(now)) {
    replace_bfloat16(model, profile, d, notes);
  }
  decide_cache_type(question, given, profile, d, notes);
  decide_batch(model, given, profile, now, d);
  d.conv = asked_type(given.conv_dtype).value_or(d.plain);
  const auto state = asked_type(given.state_dtype);
  d.state = state.value_or(d.conv);
  d.state_forced = state.has_value();
  bool states = false;
  for (const model::Layer& layer : model.layers) {
    for (const model::CacheLayout& cache : layer.caches)
      states = states || model::is_recurrent(cache);
  }
  d.prefix_caching =
      given.prefix_caching.value_or(states ? profile.state_caching_default : !now.first_engine);
  return d;
}

}  // namespace vramwise::engines::vllm
