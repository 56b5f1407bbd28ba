// What the ending of a repository's name says about how its weights are stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vramwise::catalog {

// Google's QAT files of Gemma 3 are Q4_0 throughout but for the embeddings, which stay in 16 bits;
// Ollama's are the same files with the projector inside.
// Source: huggingface.co/stduhpf/google-gemma-3-27b-it-qat-q4_0-gguf-small (17.2 GB against 15.6);
// ollama.com/library/gemma3/tags (18, 8.9, 4.0 and 1.0 GB).
inline constexpr std::string_view kGemma3Qat = "Q4_0 --token-embedding-type f16";

struct StoredFormat {
  std::string weights;  // a format id where config.json would say nothing (GGUF, bf16)
  // As such repositories usually have it, with "assumed": true; null: none.
  json::Value quantization_config;
  std::string description;  // one sentence: what was assumed
};

struct FormatEnding {
  size_t length = 0;  // of the ending, with its hyphen
  StoredFormat format;
};

// "-FP8-dynamic", "-AWQ", "-GPTQ-Int4", "-NVFP4", "-bnb-4bit", "-quantized.w8a8", "-GGUF" … at the
// end of `name`. The same ending means different things from different publishers ("nvidia/").
std::optional<FormatEnding> format_ending(std::string_view publisher, std::string_view name);

// "q4_K_M", "UD-Q4_K_XL", "IQ4_XS", "fp16": the type of a GGUF file in the spelling of llama.cpp.
std::optional<std::string> gguf_type(std::string_view text);

}  // namespace vramwise::catalog
