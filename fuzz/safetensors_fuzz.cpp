// A safetensors header, and the model of an unknown family that it may hold.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/header_json.h"
#include "formats/safetensors/safetensors.h"
#include "json/reader.h"
#include "model/from_safetensors.h"
#include "weights/from_files.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  formats::MemorySource source({reinterpret_cast<const char*>(data), size}, "fuzz.safetensors");
  const auto file = formats::read_safetensors(source);
  if (!file) return 0;
  const json::Value header = formats::to_json(*file, 1);
  const auto back = formats::safetensors_from_json(json::Reader(header, "header"));
  if (!back || back->tensor_bytes() != file->tensor_bytes()) std::abort();
  json::Value config = json::Value::object();
  config.set("model_type", "fuzz");
  config.set("hidden_size", 64);
  config.set("num_attention_heads", 4);
  const auto model = model::from_safetensors(*file, json::Reader(config, "config.json"), "fuzz");
  if (!model) return 0;
  const weights::Weights weights = weights::stored_as_is(*file, *model);
  if (weights::at_rest_bytes(*model, weights) != Bytes(file->tensor_bytes())) std::abort();
  (void)model::parameter_count(*model);
  (void)model::kv_bytes_per_token(*model);
  return 0;
}
