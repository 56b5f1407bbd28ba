#include "weights/from_files.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "model/gguf/names.h"

namespace vramwise::weights {
namespace {

// The type that most bytes have: what to call a file whose label is absent.
std::string_view main_type(const formats::GgufFile& file) {
  std::array<int64_t, 64> bytes = {};
  for (const formats::GgufTensorEntry& tensor : file.tensors) {
    bytes[size_t(tensor.type->id) % bytes.size()] += tensor.bytes;
  }
  const auto most = std::max_element(bytes.begin(), bytes.end());
  const formats::GgufType* type = formats::gguf_type(most - bytes.begin());
  return type != nullptr ? type->name : "F16";
}

DType stored_type(const formats::SafetensorsType& type) {
  if (type.name == "F32" || type.name == "U32") return DType::float32;
  if (type.name == "I32") return DType::int32;
  if (type.name == "F16") return DType::float16;
  if (type.bits == 16) return DType::bfloat16;
  if (type.bits == 64) return DType::int64;
  return starts_with(type.name, "F8") ? DType::float8 : DType::int8;
}

}  // namespace

Weights from_gguf_file(const formats::GgufFile& file, const model::Model& model) {
  GgufModel gguf;
  gguf.architecture = std::string(file.text("general.architecture"));
  const std::string_view label =
      formats::gguf_file_type_name(file.integer("general.file_type").value_or(-1));
  gguf.file_type = std::string(label.empty() ? main_type(file) : label);
  gguf.block_count = int64_t(model.layers.size() + model.mtp_layers.size());
  gguf.tensors.reserve(file.tensors.size());
  for (const formats::GgufTensorEntry& entry : file.tensors) {
    GgufTensor tensor;
    tensor.name = entry.name;
    tensor.extent = entry.extent;
    tensor.type = GgmlType(entry.type->id);
    tensor.layer = model::split_gguf_name(entry.name).layer;
    tensor.mtp = tensor.layer >= int64_t(model.layers.size()) && !model.layers.empty();
    gguf.tensors.push_back(std::move(tensor));
  }
  Weights weights;
  weights.format = gguf.file_type;
  weights.from_files = true;
  weights.notes = file.notes;
  weights.gguf = std::move(gguf);
  return weights;
}

Weights from_safetensors_files(const formats::SafetensorsFile& files, const model::Model& model,
                               Weights planned) {
  const Bytes stored(files.tensor_bytes());
  const Bytes expected = at_rest_bytes(model, planned);
  planned.from_files = true;
  planned.notes.append(files.notes);
  if (stored != expected) {
    const int64_t difference = (stored - expected).count();
    planned.notes.warn(
        "stored_bytes_differ",
        "the files hold " + format_grouped(stored.count()) + " bytes of tensors, " +
            format_grouped(difference < 0 ? -difference : difference) +
            (difference < 0 ? " less" : " more") +
            " than the config leads to: the size at rest is the files', what a GPU holds follows "
            "the config");
  }
  planned.stored = stored;
  return planned;
}

Weights stored_as_is(const formats::SafetensorsFile& files, const model::Model& model) {
  std::unordered_map<std::string_view, const formats::SafetensorsEntry*> by_name;  // looked up only
  for (const formats::SafetensorsEntry& entry : files.tensors) by_name.emplace(entry.name, &entry);
  Recipe recipe;
  recipe.schemes.push_back({.kind = SchemeKind::plain, .plain_type = model.dtype});
  for (const model::Tensor& tensor : model.tensors) {
    Scheme scheme{.kind = SchemeKind::plain, .plain_type = model.dtype};
    const auto entry = by_name.find(tensor.name);
    if (entry != by_name.end()) scheme.plain_type = stored_type(*entry->second->type);
    auto known = std::find(recipe.schemes.begin(), recipe.schemes.end(), scheme);
    if (known == recipe.schemes.end()) known = recipe.schemes.insert(known, scheme);
    recipe.of_tensor.push_back(uint16_t(known - recipe.schemes.begin()));
  }
  Weights weights;
  weights.format = std::string(to_string(model.dtype));
  weights.from_files = true;
  weights.notes = files.notes;
  weights.recipe = std::move(recipe);
  weights.stored = Bytes(files.tensor_bytes());
  return weights;
}

}  // namespace vramwise::weights
