// A mixture's name with options of llama-quantize behind it, as a person would give both:
// "Q4_K_M --output-tensor-type q8_0 --tensor-type attn_v=q6_k".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/gguf_model.h"

namespace vramwise::weights {

// The first word: the mixture alone.
std::string_view mixture_word(std::string_view text);

struct QuantizeLine {
  std::string_view mixture;  // of the text that was read
  QuantizeOptions options;   // what was given, with those of the text
  std::string words;         // the options of the text, one space between words; empty: none
};

// --imatrix, --pure, --output-tensor-type T, --token-embedding-type T, --tensor-type PATTERN=T (any
// number of times). Errors: invalid_input for another option or one without its value.
// Source: ggml-org/llama.cpp tools/quantize/quantize.cpp.
Result<QuantizeLine> read_quantize_line(std::string_view text, const QuantizeOptions& given);

}  // namespace vramwise::weights
