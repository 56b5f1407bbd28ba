// What was read from a model's files, as the "header" member of a request: the whole rest of the
// core works on it and never sees a file. A request with a header can be printed, kept and asked
// again anywhere.
//
//   {"format":"gguf","name":…,"version":3,"file_bytes":…,"expected_bytes":…,"data_offset":…,
//    "metadata":{"llama.block_count":80,"tokenizer.ggml.tokens":{"count":128256},…},
//    "tensors":[["token_embd.weight",[8192,128256],"Q4_K"],…],"warnings":[["id","text"],…]}
//   {"format":"safetensors","name":…,"files":2,"file_bytes":…,"expected_bytes":…,
//    "tensors":[["model.embed_tokens.weight",[128256,8192],"BF16"],…],"warnings":[…]}
#pragma once

#include "base/result.h"
#include "formats/gguf/gguf.h"
#include "formats/safetensors/safetensors.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::formats {

json::Value to_json(const GgufFile& file);
json::Value to_json(const SafetensorsFile& files, int64_t count);

// "gguf" or "safetensors"; "" for anything else.
std::string_view header_format(const json::Value& header);

// The way back. A header may have been written by hand: errors carry the place of the fault.
Result<GgufFile> gguf_from_json(const json::Reader& header);
Result<SafetensorsFile> safetensors_from_json(const json::Reader& header);

}  // namespace vramwise::formats
