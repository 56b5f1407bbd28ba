#include "catalog/stored_format.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::catalog {
namespace {

enum class Publisher { any, nvidia, amd, redhat, cyankiwi, own };

// `own`: those who publish fp8 in blocks of 128 x 128 beside their own models.
Publisher publisher_of(std::string_view prefix) {
  // "/models/nvidia/" is nvidia's too.
  const size_t folder = prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1).rfind('/');
  if (folder != std::string_view::npos) prefix.remove_prefix(folder + 1);
  const std::string lower = to_lower(prefix);
  if (lower == "nvidia/") return Publisher::nvidia;
  if (lower == "amd/") return Publisher::amd;
  if (lower == "redhatai/" || lower == "neuralmagic/") return Publisher::redhat;
  if (lower == "cyankiwi/" || lower == "cpatonn/") return Publisher::cyankiwi;
  return Publisher::own;
}

struct Rule {
  std::string_view ending;  // lower case
  Publisher publisher;      // any: whoever publishes it
  std::string_view weights;
  std::string_view quantization;  // JSON, empty for none
  std::string_view description;
  std::string_view holds = {};  // parts that the rest of the name must have, parted by blanks
};

// How llm-compressor writes a scheme. Ignored: the head, and the routers of experts.
#define VRAMWISE_COMPRESSED(format, weights, inputs)                                  \
  R"({"quant_method":"compressed-tensors","format":")" format                         \
  R"(","config_groups":{"group_0":{"targets":["Linear"],"input_activations":)" inputs \
  R"(,"weights":)" weights                                                            \
  R"(}},"ignore":["lm_head","re:.*mlp\\.gate$","re:.*router.*","re:.*vis(ion|ual).*"]})"

constexpr std::string_view kFp8Block =
    R"({"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic","weight_block_size":[128,128]})";
constexpr std::string_view kFp8Static =
    R"({"quant_method":"fp8","activation_scheme":"static","ignored_layers":["lm_head"]})";
constexpr std::string_view kModeloptFp8 =
    R"({"quant_method":"modelopt","quant_algo":"FP8","kv_cache_quant_algo":"FP8","ignore":["lm_head"]})";
constexpr std::string_view kModeloptNvfp4 =
    R"({"quant_method":"modelopt","quant_algo":"NVFP4","kv_cache_quant_algo":"FP8","group_size":16,"ignore":["lm_head"]})";
constexpr std::string_view kFp8Channel = VRAMWISE_COMPRESSED(
    "float-quantized",
    R"({"num_bits":8,"type":"float","symmetric":true,"strategy":"channel","dynamic":false})",
    R"({"num_bits":8,"type":"float","strategy":"token","dynamic":true})");
constexpr std::string_view kFp8Tensor = VRAMWISE_COMPRESSED(
    "float-quantized",
    R"({"num_bits":8,"type":"float","symmetric":true,"strategy":"tensor","dynamic":false})",
    R"({"num_bits":8,"type":"float","strategy":"tensor","dynamic":false})");
constexpr std::string_view kInt8Channel = VRAMWISE_COMPRESSED(
    "int-quantized",
    R"({"num_bits":8,"type":"int","symmetric":true,"strategy":"channel","dynamic":false})",
    R"({"num_bits":8,"type":"int","strategy":"token","dynamic":true})");
constexpr std::string_view kInt8Packed = VRAMWISE_COMPRESSED(
    "pack-quantized",
    R"({"num_bits":8,"type":"int","symmetric":true,"strategy":"channel","dynamic":false})", "null");
constexpr std::string_view kInt4Group128 = VRAMWISE_COMPRESSED(
    "pack-quantized",
    R"({"num_bits":4,"type":"int","symmetric":true,"strategy":"group","group_size":128})", "null");
constexpr std::string_view kInt4Group32 = VRAMWISE_COMPRESSED(
    "pack-quantized",
    R"({"num_bits":4,"type":"int","symmetric":true,"strategy":"group","group_size":32})", "null");
// With zero points: config.json and tensor counts of four such repositories.
constexpr std::string_view kInt4Group32Zeros = VRAMWISE_COMPRESSED(
    "pack-quantized",
    R"({"num_bits":4,"type":"int","symmetric":false,"strategy":"group","group_size":32})", "null");
// Linear attention stays in 16 bits: of Qwen3.8-27B, 256 matrices are packed, those of 64 MLPs and
// of 16 attention layers.
constexpr std::string_view kInt4Bf16 =
    R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{)"
    R"("targets":["Linear"],"input_activations":null,"weights":{"num_bits":4,"type":"int",)"
    R"("symmetric":false,"strategy":"group","group_size":32}}},"ignore":["lm_head",)"
    R"("re:.*mlp\\.gate$","re:.*linear_attn.*","re:.*vis(ion|ual).*","re:mtp.*"]})";
// Nothing but the routed experts: element counts of Qwen3-Next, Qwen3-Coder-Next and Qwen3.5-122B
// on the hub.
constexpr std::string_view kInt4Experts =
    R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{)"
    R"("targets":["Linear"],"input_activations":null,"weights":{"num_bits":4,"type":"int",)"
    R"("symmetric":true,"strategy":"group","group_size":32}}},"ignore":["lm_head",)"
    R"("re:.*mlp\\.gate$","re:.*attn.*","re:.*shared_expert.*","re:.*vis(ion|ual).*","re:mtp\\.fc"]})";
constexpr std::string_view kInt8Group32 = VRAMWISE_COMPRESSED(
    "pack-quantized",
    R"({"num_bits":8,"type":"int","symmetric":true,"strategy":"group","group_size":32})", "null");
constexpr std::string_view kNvfp4 = VRAMWISE_COMPRESSED(
    "nvfp4-pack-quantized",
    R"({"num_bits":4,"type":"float","symmetric":true,"strategy":"tensor_group","group_size":16})",
    R"({"num_bits":4,"type":"float","strategy":"tensor_group","group_size":16,"dynamic":"local"})");
#undef VRAMWISE_COMPRESSED
constexpr std::string_view kAwq =
    R"({"quant_method":"awq","bits":4,"group_size":128,"zero_point":true,"version":"gemm"})";
constexpr std::string_view kGptq4 =
    R"({"quant_method":"gptq","bits":4,"group_size":128,"desc_act":false,"sym":true})";
constexpr std::string_view kGptq8 =
    R"({"quant_method":"gptq","bits":8,"group_size":128,"desc_act":false,"sym":true})";
constexpr std::string_view kAutoRound =
    R"({"quant_method":"auto-round","bits":4,"group_size":128,"sym":true,"packing_format":"auto_round:auto_gptq"})";
constexpr std::string_view kBnb4 =
    R"({"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"nf4","bnb_4bit_use_double_quant":true})";
constexpr std::string_view kBnb8 = R"({"quant_method":"bitsandbytes","load_in_8bit":true})";
constexpr std::string_view kMxfp4 = R"({"quant_method":"mxfp4"})";

// The first that fits counts, so longer endings and named publishers come first. Groups, ignore
// lists and cache types are the publishers' habit, seen in their repositories; a config.json that
// is at hand is better and replaces them.
constexpr Rule kRules[] = {
    {"-qat-q4_0-unquantized", Publisher::any, "bf16", "",
     "stored in bf16: trained for Q4_0 but not quantised"},
    {"-qat-q4_0-gguf", Publisher::any, kGemma3Qat, "",
     "the GGUF file is Q4_0 with embeddings in 16 bits, as Google made it", "gemma-3-"},
    {"-qat-q4_0-gguf", Publisher::any, "Q4_0", "", "the GGUF file is Q4_0"},
    {"-gguf", Publisher::any, "Q4_K_M", "",
     "no file of the GGUF repository is named; llama.cpp then takes Q4_K_M"},
    {"-unsloth-bnb-4bit", Publisher::any, "", kBnb4,
     "stored as bitsandbytes NF4; the matrices that Unsloth keeps in 16 bits are not known"},
    {"-bnb-4bit", Publisher::any, "", kBnb4, "stored as bitsandbytes NF4"},
    {"-bnb-8bit", Publisher::any, "", kBnb8, "stored as bitsandbytes int8"},
    {"-fp8-dynamic", Publisher::any, "", kFp8Channel,
     "stored in fp8, a scale per output row; head and routers in 16 bits"},
    {"-fp8-block", Publisher::any, "", kFp8Block, "stored in fp8, a scale per block of 128 x 128"},
    {"-fp8-kv", Publisher::any, "", kFp8Static,
     "stored in fp8, a scale per matrix; the cache scales are for fp8 too"},
    {"-fp8", Publisher::nvidia, "", kModeloptFp8,
     "stored in fp8 by ModelOpt, a scale per matrix; its cache is fp8; head in 16 bits"},
    {"-fp8", Publisher::amd, "", kFp8Static, "stored in fp8, a scale per matrix; head in 16 bits"},
    {"-fp8", Publisher::redhat, "", kFp8Tensor,
     "stored in fp8, a scale per matrix; head and routers in 16 bits"},
    {"-fp8", Publisher::any, "", kFp8Block, "stored in fp8, a scale per block of 128 x 128"},
    {"-gptq-int4", Publisher::any, "", kGptq4, "stored as GPTQ, 4 bits in groups of 128"},
    {"-gptq-4bit", Publisher::any, "", kGptq4, "stored as GPTQ, 4 bits in groups of 128"},
    {"-gptq-int8", Publisher::any, "", kGptq8, "stored as GPTQ, 8 bits in groups of 128"},
    {"-gptq-8bit", Publisher::any, "", kGptq8, "stored as GPTQ, 8 bits in groups of 128"},
    {"-gptq", Publisher::any, "", kGptq4, "stored as GPTQ, taken as 4 bits in groups of 128"},
    {"-int4-autoround", Publisher::any, "", kAutoRound,
     "stored by AutoRound, 4 bits in groups of 128; which matrices it leaves out is not known"},
    {"-autoround", Publisher::any, "", kAutoRound,
     "stored by AutoRound, 4 bits in groups of 128; which matrices it leaves out is not known"},
    {"-awq-4bit", Publisher::cyankiwi, "", kInt4Experts,
     "routed experts stored in int4 in groups of 32, the rest in 16 bits", "qwen3 -next"},
    {"-awq-4bit", Publisher::cyankiwi, "", kInt4Experts,
     "routed experts stored in int4 in groups of 32, the rest in 16 bits", "qwen3.5 b-a"},
    {"-awq-4bit", Publisher::cyankiwi, "", kInt4Experts,
     "routed experts stored in int4 in groups of 32, the rest in 16 bits", "qwen3.6 b-a"},
    {"-awq-4bit", Publisher::cyankiwi, "", kInt4Group32,
     "stored in int4 in groups of 32 (compressed-tensors)"},
    {"-awq-bf16-int4", Publisher::cyankiwi, "", kInt4Bf16,
     "stored in int4 in groups of 32 with zero points, linear attention in 16 bits"},
    {"-awq-int4", Publisher::cyankiwi, "", kInt4Group32Zeros,
     "stored in int4 in groups of 32 with zero points (compressed-tensors)"},
    {"-awq-8bit", Publisher::cyankiwi, "", kInt8Group32,
     "stored in int8 in groups of 32 (compressed-tensors)"},
    {"-awq-4bit", Publisher::any, "", kAwq, "stored as AWQ, 4 bits in groups of 128"},
    {"-awq-int4", Publisher::any, "", kAwq, "stored as AWQ, 4 bits in groups of 128"},
    {"-awq", Publisher::any, "", kAwq, "stored as AWQ, 4 bits in groups of 128"},
    {"-quantized.w4a16", Publisher::any, "", kInt4Group128,
     "stored in int4 in groups of 128; head and routers in 16 bits"},
    {"-quantized.w8a8", Publisher::any, "", kInt8Channel,
     "stored in int8, a scale per output row; head and routers in 16 bits"},
    {"-quantized.w8a16", Publisher::any, "", kInt8Packed,
     "stored in int8, a scale per output row; head and routers in 16 bits"},
    {"-w4a16-g128", Publisher::any, "", kInt4Group128,
     "stored in int4 in groups of 128; head and routers in 16 bits"},
    {"-w4a16", Publisher::any, "", kInt4Group128,
     "stored in int4 in groups of 128; head and routers in 16 bits"},
    {"-w8a8", Publisher::any, "", kInt8Channel,
     "stored in int8, a scale per output row; head and routers in 16 bits"},
    {"-int4", Publisher::redhat, "", kInt4Group128,
     "stored in int4 in groups of 128; head and routers in 16 bits"},
    {"-int8", Publisher::any, "", kInt8Channel,
     "stored in int8, a scale per output row; head and routers in 16 bits"},
    {"-nvfp4", Publisher::nvidia, "", kModeloptNvfp4,
     "stored as NVFP4 by ModelOpt; its cache is fp8; all matrices but the head taken as 4 bits"},
    {"-fp4", Publisher::nvidia, "", kModeloptNvfp4,
     "stored as NVFP4 by ModelOpt; its cache is fp8; all matrices but the head taken as 4 bits"},
    {"-nvfp4", Publisher::any, "", kNvfp4, "stored as NVFP4; head and routers in 16 bits"},
    {"-mxfp4", Publisher::any, "", kMxfp4, "stored as MXFP4"},
    {"-bf16", Publisher::any, "bf16", "", "stored in bf16"},
    {"-fp16", Publisher::any, "fp16", "", "stored in fp16"},
};

}  // namespace

std::optional<FormatEnding> format_ending(std::string_view publisher, std::string_view name) {
  const std::string lower = to_lower(name);
  const Publisher who = publisher_of(publisher);
  for (const Rule& rule : kRules) {
    if (!ends_with(lower, rule.ending) || lower.size() == rule.ending.size()) continue;
    if (rule.publisher != Publisher::any && rule.publisher != who) continue;
    const std::string_view base =
        std::string_view(lower).substr(0, lower.size() - rule.ending.size());
    const auto parts = split(rule.holds, ' ');
    if (!std::all_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(base, part); })) {
      continue;
    }
    FormatEnding found;
    found.length = rule.ending.size();
    found.format.weights = rule.weights;
    found.format.description = rule.description;
    if (!rule.quantization.empty()) {
      if (auto parsed = json::parse(rule.quantization, "quantization")) {
        found.format.quantization_config = std::move(*parsed);
        found.format.quantization_config.set("assumed", json::Value(true));
      }
    }
    return found;
  }
  return std::nullopt;
}

std::optional<std::string> gguf_type(std::string_view text) {
  std::string upper;
  for (const char c : text) upper += c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  std::string_view type = upper;
  if (starts_with(type, "UD-")) type.remove_prefix(3);
  if (type == "FP16" || type == "F16") return "F16";
  if (type == "BF16" || type == "F32" || type == "MXFP4" || type == "MXFP4_MOE") return upper;
  // Q4_0, Q4_K, Q4_K_M, IQ2_XXS, TQ1_0: letters, one digit, then parts of letters or one digit.
  size_t at = 0;
  for (const std::string_view start : std::array<std::string_view, 3>{"IQ", "TQ", "Q"}) {
    if (at == 0 && starts_with(type, start)) at = start.size();
  }
  if (at == 0 || at + 2 >= type.size()) return std::nullopt;
  if (type[at] < '1' || type[at] > '8' || type[at + 1] != '_') return std::nullopt;
  const std::vector<std::string_view> parts = split(type.substr(at + 2), '_');
  constexpr std::string_view kParts[] = {"0",  "1",  "K",   "S",   "M", "L",
                                         "XS", "XL", "XXS", "XXL", "NL"};
  for (const std::string_view part : parts) {
    bool known = false;
    for (const std::string_view p : kParts) known = known || p == part;
    if (!known) return std::nullopt;
  }
  return upper;
}

}  // namespace vramwise::catalog
