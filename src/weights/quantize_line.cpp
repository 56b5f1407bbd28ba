#include "weights/quantize_line.h"

namespace vramwise::weights {
namespace {

// Takes the first word off `rest`.
std::string_view next_word(std::string_view& rest) {
  const size_t begin = rest.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

Error refused(std::string message) {
  return Error(ErrorCode::invalid_input, std::move(message))
      .at("weights")
      .hint(
          "options of llama-quantize that are known: --imatrix, --pure, --output-tensor-type, "
          "--token-embedding-type, --tensor-type PATTERN=TYPE");
}

}  // namespace

std::string_view mixture_word(std::string_view text) { return next_word(text); }

Result<QuantizeLine> read_quantize_line(std::string_view text, const QuantizeOptions& given) {
  QuantizeLine line;
  line.options = given;
  line.mixture = next_word(text);
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    line.words += (line.words.empty() ? "" : " ") + std::string(word);
    if (word == "--imatrix") {
      line.options.imatrix = true;
      continue;
    }
    if (word == "--pure") {
      line.options.pure = true;
      continue;
    }
    const bool output = word == "--output-tensor-type";
    const bool embedding = word == "--token-embedding-type";
    if (!output && !embedding && word != "--tensor-type") {
      return fail(refused("\"" + std::string(word) + "\" is no option of a mixture"));
    }
    const std::string_view value = next_word(text);
    if (value.empty()) return fail(refused(std::string(word) + " lacks its value"));
    line.words += " " + std::string(value);
    if (output) {
      line.options.output_tensor_type = value;
    } else if (embedding) {
      line.options.token_embedding_type = value;
    } else {
      const size_t equals = value.rfind('=');
      if (equals == std::string_view::npos || equals == 0 || equals + 1 == value.size()) {
        return fail(
            refused("--tensor-type takes PATTERN=TYPE, not \"" + std::string(value) + "\""));
      }
      line.options.tensor_types.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    }
  }
  return line;
}

}  // namespace vramwise::weights
