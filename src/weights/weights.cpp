#include "weights/weights.h"

#include <algorithm>

#include "base/text.h"
#include "weights/matrix.h"
#include "weights/mixture_of.h"
#include "weights/mixtures.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

std::string_view format_of_dtype(DType type) {
  if (type == DType::float32) return "fp32";
  return type == DType::float16 ? "fp16" : "bf16";
}

bool is_format(std::string_view id) {
  const std::vector<FormatInfo> all = formats();
  return std::any_of(all.begin(), all.end(), [&](const FormatInfo& f) { return f.id == id; });
}

// "fp8" asks for whatever fp8 the checkpoint has.
bool means(std::string_view asked, std::string_view own) {
  return asked == own || (asked == "fp8" && starts_with(own, "fp8")) ||
         (asked == "int8" && own == "w8a8") || (asked == "w8a8" && own == "int8");
}

bool has_own_format(const model::Model& model) {
  const json::Value& config = model.quantization_config;
  return config.is_object() && !config.as_object().empty();
}

Result<Weights> from_plan(const model::Model& model, Plan plan, bool from_files) {
  Weights out;
  fit_groups(model, plan);
  TRY_ASSIGN(out.recipe, plan_recipe(model, plan));
  out.format = std::move(plan.format);
  out.from_files = from_files;
  out.notes = std::move(plan.notes);
  return out;
}

Result<Weights> from_gguf(Result<GgufModel> gguf) {
  if (!gguf) return fail(std::move(gguf.error()));
  Weights out;
  out.format = gguf->file_type;
  out.notes = gguf->notes;
  out.gguf = std::move(*gguf);
  return out;
}

Error unknown_format(std::string_view format) {
  std::vector<std::string_view> known;
  const std::vector<FormatInfo> all = formats();
  for (const FormatInfo& f : all) known.push_back(f.id);
  for (const std::string_view name : gguf_file_types()) known.push_back(name);
  Error error(ErrorCode::not_found, "unknown weight format \"" + std::string(format) + "\"");
  for (const std::string& near : nearest_names(format, known)) {
    error.hints.push_back("a similar format exists: " + near);
  }
  return std::move(error).at("weights");
}

// Whether a name can only be meant as a GGUF mixture; tells dynamic ones apart from typing errors.
bool looks_like_mixture(std::string_view format) {
  const std::string lower = to_lower(format);
  return starts_with(lower, "ud-") || starts_with(lower, "iq") ||
         (lower.size() > 2 && lower[0] == 'q' && lower[1] >= '0' && lower[1] <= '9');
}

}  // namespace

Result<Weights> choose_weights(const model::Model& model, std::string_view format) {
  if (format.empty()) {
    if (has_own_format(model)) {
      TRY_ASSIGN(Plan plan, plan_of_config(model));
      return from_plan(model, std::move(plan), true);
    }
    return choose_weights(model, format_of_dtype(model.dtype));
  }
  // "bf16" is a checkpoint and "BF16" a GGUF file; otherwise case does not matter.
  const std::string lower = to_lower(format);
  const std::string_view id = is_format(format) ? format : std::string_view(lower);
  if (is_gguf_file_type(format) && !is_format(format)) return from_gguf(quantize(model, format));
  if (!is_format(id)) {
    if (looks_like_mixture(format)) return from_gguf(quantize(model, format));
    return fail(unknown_format(format));
  }
  if (has_own_format(model)) {
    Result<Plan> own = plan_of_config(model);
    if (own && means(id, own->format)) return from_plan(model, std::move(*own), true);
  }
  return from_plan(model, *plan_of_format(model, id), false);
}

Result<Weights> choose_weights(const model::Model& model, std::string_view format,
                               const GgufModel& converted) {
  if (!is_gguf_file_type(format) || is_format(format)) return choose_weights(model, format);
  return from_gguf(quantize(model, converted, format));
}

Result<Weights> choose_gguf_weights(const model::Model& model, std::string_view format) {
  const std::string lower = to_lower(format);
  if (format.empty()) return from_gguf(gguf_tensors(model));
  if (lower == "bf16" || lower == "fp16" || lower == "fp32") {
    return from_gguf(quantize(model, lower == "bf16" ? "BF16" : lower == "fp16" ? "F16" : "F32"));
  }
  if (lower == "mxfp4") return from_gguf(quantize(model, "MXFP4_MOE"));
  if (is_format(lower)) {
    return fail(Error(ErrorCode::unsupported,
                      "\"" + std::string(format) + "\" is a safetensors format, not a GGUF mixture")
                    .at("weights")
                    .hint("choose a mixture such as Q4_K_M or Q8_0"));
  }
  return from_gguf(quantize(model, format));
}

Bytes at_rest_bytes(const model::Model& model, const Weights& weights, bool with_mtp) {
  if (weights.gguf) return weights.gguf->tensor_bytes();
  if (weights.stored && with_mtp) return *weights.stored;
  if (!weights.recipe) return Bytes();
  Bytes sum;
  for (size_t i = 0; i < model.tensors.size() && i < weights.recipe->of_tensor.size(); ++i) {
    const model::Tensor& tensor = model.tensors[i];
    if (tensor.part == model::Part::tied_head) continue;
    if (tensor.part == model::Part::mtp && !with_mtp) continue;
    sum += at_rest_bytes(model, tensor, weights.recipe->scheme(i));
  }
  return sum;
}

Bytes at_rest_bytes(const model::Model& model, const model::Tensor& tensor, const Scheme& scheme) {
  const std::optional<Matrix> matrix = matrix_of(model, tensor);
  if (scheme.kind == SchemeKind::plain || !matrix) {
    return Bytes(dtype_bytes(scheme.plain_type)) * tensor.elements();
  }
  return at_rest(scheme, matrix->in, matrix->out) * matrix->count;
}

StoredCounts stored_counts(const model::Model& model, const Weights& weights) {
  StoredCounts counts{};
  if (weights.gguf || !weights.recipe) return counts;
  for (size_t i = 0; i < model.tensors.size() && i < weights.recipe->of_tensor.size(); ++i) {
    const model::Tensor& tensor = model.tensors[i];
    if (tensor.part == model::Part::tied_head) continue;
    const Scheme& scheme = weights.recipe->scheme(i);
    const std::optional<Matrix> matrix = matrix_of(model, tensor);
    if (scheme.kind == SchemeKind::plain || !matrix) {
      int64_t& count = counts[size_t(StoredKind::weights)];
      count = saturating_add(count, tensor.elements());
      continue;
    }
    const StoredParts parts = stored_parts(scheme, matrix->in, matrix->out);
    for (size_t p = 0; p < parts.count; ++p) {
      int64_t& count = counts[size_t(parts.parts[p].kind)];
      count = saturating_add(count, saturating_multiply(parts.parts[p].elements, matrix->count));
    }
  }
  return counts;
}

double bits_per_weight(const model::Model& model, const Weights& weights) {
  if (weights.gguf) return weights.gguf->bits_per_weight();
  int64_t stored = 0;
  for (const model::Tensor& tensor : model.tensors) {
    if (tensor.part != model::Part::tied_head) stored = saturating_add(stored, tensor.elements());
  }
  return stored > 0 ? double(at_rest_bytes(model, weights).count()) * 8 / double(stored) : 0;
}

}  // namespace vramwise::weights
