#include "weights/gguf_model.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "weights/file_layout.h"
#include "weights/file_types.h"
#include "weights/gguf_fused.h"
#include "weights/gguf_names.h"
#include "weights/gguf_quirks.h"
#include "weights/matrix.h"
#include "weights/mixtures.h"
#include "weights/quantize_line.h"
#include "weights/quantize_rules.h"

namespace vramwise::weights {
namespace {

using model::Role;

// A checkpoint whose experts are MXFP4 is converted without a detour: the blocks are repacked.
bool experts_are_mxfp4(const model::Model& model) {
  const json::Value* method = model.quantization_config.find("quant_method");
  return method && method->is_string() && method->as_string() == "mxfp4";
}

GgmlType conversion_type(const model::Tensor& tensor, const GgufPiece& piece, bool mxfp4) {
  if (tensor.role == Role::hash_table) return GgmlType::I32;
  if (mxfp4 && is_routed_expert(tensor.role)) return GgmlType::MXFP4;
  return stays_f32(piece.name, piece.extent) ? GgmlType::F32 : GgmlType::F16;
}

int64_t rotary_width(const model::Model& model) {
  int64_t width = 0;
  for (const model::RopeTable& table : model.rope_tables) width = std::max(width, table.rotary_dim);
  return width;
}

// Factors of scaled rotary embeddings travel as tensors, half a head long.
void add_rope_factors(const model::Model& model, const GgufQuirks& quirks, GgufModel& out) {
  if (!model.gguf.rope_freqs) return;
  const int64_t half = rotary_width(model) / 2;
  if (half == 0) return;
  const auto add = [&](std::string_view name) {
    out.tensors.push_back({std::string(name), {half, 1, 1, 1}, GgmlType::F32, -1, false});
  };
  if (quirks.long_factors) {
    add("rope_factors_long.weight");
    add("rope_factors_short.weight");
  } else {
    add("rope_freqs.weight");
  }
}

}  // namespace

int64_t GgufTensor::elements() const {
  int64_t n = 1;
  for (const int64_t e : extent) n = saturating_multiply(n, e);
  return n;
}

Bytes GgufTensor::bytes() const {
  Bytes size = row_bytes(info(type), extent[0]);
  for (size_t i = 1; i < 4; ++i) size *= extent[i];
  return size;
}

Bytes GgufModel::tensor_bytes() const {
  Bytes sum;
  for (const GgufTensor& t : tensors) sum += t.bytes();
  return sum;
}

double GgufModel::bits_per_weight() const {
  int64_t elements = 0;
  for (const GgufTensor& t : tensors) elements = saturating_add(elements, t.elements());
  return elements > 0 ? double(tensor_bytes().count()) * 8 / double(elements) : 0;
}

const GgufTensor* GgufModel::find(std::string_view name) const {
  for (const GgufTensor& t : tensors) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

Result<GgufModel> gguf_tensors(const model::Model& model, FileLayout layout) {
  if (model.gguf.architecture.empty()) {
    return fail(Error(ErrorCode::unsupported,
                      "no GGUF architecture is known for " +
                          (model.architecture.empty() ? model.model_type : model.architecture))
                    .at("weights")
                    .hint("choose a safetensors format such as bf16"));
  }
  GgufQuirks quirks = gguf_quirks(model.gguf.architecture);
  if (layout.kv_b == KvB::whole) quirks.keeps_kv_b = true;
  if (layout.keeps_mtp) quirks.keeps_mtp = true;
  const bool mxfp4 = experts_are_mxfp4(model);
  GgufModel out;
  out.architecture = model.gguf.architecture;
  out.file_type = "F16";
  out.block_count =
      int64_t(model.layers.size()) + (quirks.keeps_mtp ? int64_t(model.mtp_layers.size()) : 0);
  std::unordered_map<std::string, size_t> place;  // looked up only, never iterated
  for (const model::Tensor& tensor : model.tensors) {
    for (GgufPiece& piece : gguf_pieces(model, tensor, quirks)) {
      const auto [known, added] = place.emplace(piece.name, out.tensors.size());
      if (!added) {  // a stack that the checkpoint stores matrix by matrix
        std::array<int64_t, 4>& extent = out.tensors[known->second].extent;
        const size_t axis = dimensions(piece.extent) > 1 ? 2 : 3;  // matrices or vectors
        extent[axis] = saturating_add(extent[axis], piece.extent[axis]);
        continue;
      }
      const GgmlType type = conversion_type(tensor, piece, mxfp4);
      const int32_t layer = starts_with(piece.name, "blk.") ? tensor.layer : -1;
      out.tensors.push_back(
          {std::move(piece.name), piece.extent, type, layer, tensor.part == model::Part::mtp});
    }
  }
  add_rope_factors(model, quirks, out);
  if (model.quantization_config.is_object()) {
    if (mxfp4) {
      out.notes.assume("gguf_keeps_mxfp4",
                       "The conversion keeps the experts in MXFP4, as the checkpoint has them.",
                       "ggml-org/llama.cpp convert_hf_to_gguf.py");
    } else {
      out.notes.assume("gguf_from_unquantised",
                       "The GGUF is made from unquantised weights, not from the checkpoint's "
                       "quantised ones.",
                       "ggml-org/llama.cpp convert_hf_to_gguf.py");
    }
  }
  return out;
}

namespace {

// The names of file_types(), which lie apart from them in memory.
constexpr std::array<std::string_view, 35> kNames = {
    "F32",    "F16",       "BF16",    "Q4_0",   "Q4_1",   "Q5_0",   "Q5_1",   "Q8_0",    "Q1_0",
    "Q2_0",   "MXFP4_MOE", "Q2_K",    "Q2_K_S", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S",  "Q4_K_M",
    "Q5_K_S", "Q5_K_M",    "Q6_K",    "TQ1_0",  "TQ2_0",  "IQ1_S",  "IQ1_M",  "IQ2_XXS", "IQ2_XS",
    "IQ2_S",  "IQ2_M",     "IQ3_XXS", "IQ3_XS", "IQ3_S",  "IQ3_M",  "IQ4_NL", "IQ4_XS"};

// Names under which quantisers publish a standard mixture with embeddings and head in Q8_0.
// Source: github.com/bartowski1182 and huggingface.co/bartowski model cards ("Q8_0 for embed and
// output weights").
struct Widened {
  std::string_view name, mixture;
};
constexpr Widened kWidened[] = {{"Q2_K_L", "Q2_K"},
                                {"Q3_K_XL", "Q3_K_L"},
                                {"Q4_K_L", "Q4_K_M"},
                                {"Q5_K_L", "Q5_K_M"},
                                {"Q6_K_L", "Q6_K"}};

const Widened* widened(std::string_view name) {
  const std::string lower = to_lower(name);
  for (const Widened& w : kWidened) {
    if (to_lower(w.name) == lower) return &w;
  }
  return nullptr;
}

// What a mixture's name begins with where it was not made by llama-quantize of today alone.
// "i1-IQ4_XS": with an importance matrix, as mradermacher names such files. "2023-Q2_K": by
// llama-quantize before 11 January 2024. "ollama-Q4_K_M": by Ollama 0.6.5 to 0.6.8, whose
// llama-quantize took every name with "v." for a tower's: attn_v stayed in 16 bits.
// Source: ollama/ollama llama/llama.cpp/src/llama-quant.cpp at v0.6.6; ollama/ollama#10828 prints
// 64 F16 matrices of qwen3:32b.
enum class Maker { today, with_matrix, of_2023, by_ollama };
struct MadeBy {
  std::string_view prefix;
  Maker maker;
};
constexpr MadeBy kMadeBy[] = {
    {"i1-", Maker::with_matrix}, {"2023-", Maker::of_2023}, {"ollama-", Maker::by_ollama}};

MadeBy maker_of(std::string_view name) {
  const std::string lower = to_lower(name);
  for (const MadeBy& m : kMadeBy) {
    if (starts_with(lower, m.prefix)) return m;
  }
  return {"", Maker::today};
}

std::string_view without_maker(std::string_view name) {
  return name.substr(maker_of(name).prefix.size());
}

// F32, F16 and BF16 files have no mixture: what the converter forces to F32 stays so.
std::optional<GgmlType> converted_to(FileType type, const QuantizeOptions& options) {
  if (options.pure || !options.output_tensor_type.empty() ||
      !options.token_embedding_type.empty() || !options.tensor_types.empty()) {
    return std::nullopt;
  }
  switch (type) {
    case FileType::F32: return GgmlType::F32;
    case FileType::F16: return GgmlType::F16;
    case FileType::BF16: return GgmlType::BF16;
    default: return std::nullopt;
  }
}

// A mixture by name is what llama-quantize makes of the converted file, and that expands experts
// which the checkpoint and the conversion hold in MXFP4. Says what the file is without that.
void expand_experts(GgufModel& gguf, FileType type) {
  if (type == FileType::MXFP4_MOE) return;
  gguf.notes = {};
  gguf.notes.assume("gguf_expands_mxfp4",
                    std::string(info(type).name) +
                        " is what llama-quantize writes: it unpacks the experts, which the "
                        "checkpoint has in MXFP4. Published files of this name often keep them; "
                        "such a file, as converted, holds " +
                        format_bytes(gguf.tensor_bytes()) + " (leave the weights out to plan it).",
                    "ggml-org/llama.cpp src/llama-quant.cpp, convert_hf_to_gguf.py");
}

Error unknown_file_type(std::string_view name) {
  Error error(ErrorCode::not_found, "unknown GGUF mixture \"" + std::string(name) + "\"");
  std::string_view wanted = name;
  const std::string lower = to_lower(name);
  bool dynamic = starts_with(lower, "ud-");
  if (dynamic) wanted.remove_prefix(3);
  // Repositories of such files are named without the UD as well.
  for (const std::string_view size : {"_xl", "_xxl"}) {
    if (!ends_with(lower, size)) continue;
    wanted.remove_suffix(size.size());
    dynamic = true;
  }
  if (dynamic) {
    error.hints.push_back(
        "dynamic UD mixtures follow no published rule; read the file itself, or take the nearest "
        "standard one");
  }
  if (const auto type = file_type_from_name(wanted)) {
    error.hints.push_back("a similar mixture exists: " + std::string(info(*type).name));
    return std::move(error).at("weights");
  }
  for (const std::string& near : nearest_names(wanted, {kNames.begin(), kNames.end()})) {
    error.hints.push_back("a similar mixture exists: " + near);
  }
  return std::move(error).at("weights");
}

// `gguf` as converted.
Result<GgufModel> quantised(const model::Model& model, GgufModel gguf, std::string_view text,
                            const QuantizeOptions& options) {
  TRY_ASSIGN(const QuantizeLine line, read_quantize_line(text, options));
  const std::string_view file_type = line.mixture;
  const std::string words = line.words.empty() ? "" : " " + line.words;
  QuantizeOptions wanted = line.options;
  const MadeBy made = maker_of(file_type);
  std::string_view mixture = file_type.substr(made.prefix.size());
  std::string_view label;
  wanted.imatrix = wanted.imatrix || made.maker == Maker::with_matrix;
  if (const Widened* w = widened(mixture)) {
    mixture = w->mixture;
    label = w->name;
    if (wanted.output_tensor_type.empty()) wanted.output_tensor_type = "Q8_0";
    if (wanted.token_embedding_type.empty()) wanted.token_embedding_type = "Q8_0";
  }
  const std::optional<FileType> type = file_type_from_name(mixture);
  if (!type) return fail(unknown_file_type(file_type));
  const bool packed = experts_are_mxfp4(model);
  if (packed) expand_experts(gguf, *type);
  if (const auto converted = converted_to(*type, wanted)) {
    for (GgufTensor& tensor : gguf.tensors) {
      const bool expands = packed && tensor.type == GgmlType::MXFP4;
      if (tensor.type == GgmlType::F16 || expands) tensor.type = *converted;
    }
    gguf.file_type = std::string(info(*type).name) + words;
    return gguf;
  }
  if (made.maker == Maker::of_2023 && gguf_quirks(gguf.architecture).fused_in_2023) {
    fuse_attention(gguf);
  }
  MixtureFacts facts = mixture_facts(model, gguf);
  facts.of_2023 = made.maker == Maker::of_2023;
  facts.keeps_values = made.maker == Maker::by_ollama;
  TRY(apply_mixture(gguf, *type, facts, wanted));
  gguf.file_type = std::string(made.prefix);
  gguf.file_type += label.empty() ? info(*type).name : label;
  gguf.file_type += words;
  if (!label.empty()) {
    gguf.notes.assume("gguf_widened",
                      std::string(label) + " is taken as " + std::string(mixture) +
                          " with embeddings and head in Q8_0, as its publishers describe it.",
                      "huggingface.co/bartowski");
  }
  return gguf;
}

}  // namespace

std::span<const std::string_view> gguf_file_types() { return kNames; }

bool is_gguf_file_type(std::string_view name) {
  name = without_maker(mixture_word(name));
  return file_type_from_name(name).has_value() || widened(name) != nullptr;
}

Result<GgufModel> gguf_tensors(const model::Model& model) {
  return gguf_tensors(model, FileLayout{});
}

bool has_whole_kv_b(const GgufModel& gguf) {
  return std::any_of(gguf.tensors.begin(), gguf.tensors.end(),
                     [](const GgufTensor& t) { return ends_with(t.name, ".attn_kv_b.weight"); });
}

Result<GgufModel> quantize(const model::Model& model, std::string_view file_type,
                           const QuantizeOptions& options) {
  return quantize(model, file_type, options, FileLayout{});
}

Result<GgufModel> quantize(const model::Model& model, std::string_view file_type,
                           const QuantizeOptions& options, FileLayout layout) {
  if (!is_gguf_file_type(file_type)) return fail(unknown_file_type(file_type));
  TRY_ASSIGN(GgufModel gguf, gguf_tensors(model, layout));
  return quantised(model, std::move(gguf), file_type, options);
}

Result<GgufModel> quantize(const model::Model& model, const GgufModel& converted,
                           std::string_view file_type, const QuantizeOptions& options) {
  if (!is_gguf_file_type(file_type)) return fail(unknown_file_type(file_type));
  return quantised(model, converted, file_type, options);
}

}  // namespace vramwise::weights
