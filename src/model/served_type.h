// The type that a checkpoint's plain weights and its cache have once an engine has loaded it.
#pragma once

#include "model/model.h"

namespace vramwise::model {

// float32 checkpoints are loaded in 16 bits unless the user asks otherwise.
// Source: vllm config/model.py (_resolve_auto_dtype), sglang configs/model_config.py.
inline DType served_type(const Model& model) {
  return model.dtype == DType::float32 ? DType::bfloat16 : model.dtype;
}

// Caches of a model in itself, no engine asked: attention and convolutions as served, states in
// float32.
inline CacheTypes served_cache_types(const Model& model) {
  CacheTypes types;
  types.attention = types.conv = served_type(model);
  return types;
}

}  // namespace vramwise::model
