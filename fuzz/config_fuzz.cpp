// A Hugging Face config.json: any text becomes a model or an error with a place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "json/parse.h"
#include "json/reader.h"
#include "model/from_config.h"
#include "weights/weights.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = json::parse(text, "config.json");
  if (!config) return 0;
  const auto model = model::from_config(json::Reader(*config, "config.json", text), "fuzz");
  if (!model) return 0;
  if (model::parameter_count(*model) < 0) std::abort();
  (void)model::active_parameter_count(*model);
  (void)model::kv_bytes_per_token(*model);
  (void)model::cache_bytes_at(*model, Tokens(100'000), {});
  if (const auto weights = weights::choose_weights(*model, "")) {
    (void)weights::at_rest_bytes(*model, *weights);
  }
  return 0;
}
