// A GGUF header: read whole, read from parts, and turned into a model and weights.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/gguf/reader.h"
#include "formats/header_json.h"
#include "json/reader.h"
#include "model/from_gguf.h"
#include "weights/from_files.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  formats::MemorySource source(bytes, "fuzz.gguf");
  const auto file = formats::read_gguf(source);

  // What is missing is asked for range by range, and leads to the same answer.
  std::vector<formats::PartialSource::Part> parts;
  for (int round = 0;; ++round) {
    formats::PartialSource partial("fuzz.gguf", int64_t(size), parts);
    const auto again = formats::read_gguf(partial);
    if (const auto& missing = partial.missing()) {
      if (round > 100 || missing->bytes <= 0) std::abort();
      parts.push_back(
          {missing->offset, bytes.substr(size_t(missing->offset), size_t(missing->bytes))});
      continue;
    }
    if (again.has_value() != file.has_value()) std::abort();
    break;
  }
  if (!file) return 0;

  const auto model = model::from_gguf(*file, "fuzz");
  const json::Value header = formats::to_json(*file);
  const auto back = formats::gguf_from_json(json::Reader(header, "header"));
  if (!back || back->tensors.size() != file->tensors.size()) std::abort();
  if (!model) return 0;
  const weights::Weights weights = weights::from_gguf_file(*file, *model);
  (void)weights::at_rest_bytes(*model, weights);
  (void)model::parameter_count(*model);
  (void)model::kv_bytes_per_token(*model);
  (void)model::cache_bytes_at(*model, Tokens(100'000), {});
  return 0;
}
