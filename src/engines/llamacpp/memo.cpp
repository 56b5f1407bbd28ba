#include "engines/llamacpp/memo.h"

namespace vramwise::engines::llamacpp {
namespace {

// Far more than any search asks for; bounds the memory of endless ones.
constexpr size_t kMostPlans = 4096;

// The GGUF of the question: the mixture chosen, else a conversion without quantisation.
Result<weights::GgufModel> gguf_of(const Question& q, Notes& notes) {
  if (q.weights->is_gguf()) return *q.weights->gguf;
  if (!q.weights->format.empty() && q.weights->format != "bf16" && q.weights->format != "fp16" &&
      q.weights->format != "fp32") {
    notes.assume("gguf_of_checkpoint",
                 "llama.cpp loads GGUF files only; the file is taken to be a conversion to 16 bits "
                 "of the unquantised model.",
                 "ggml-org/llama.cpp convert_hf_to_gguf.py");
  }
  return weights::gguf_tensors(*q.model);
}

}  // namespace

Result<std::shared_ptr<const ModelFile>> model_file_of(const Question& q) {
  FileMemo* memo = memo_of(q);
  if (memo != nullptr && memo->file) return memo->file;
  auto file = std::make_shared<ModelFile>();
  TRY_ASSIGN(file->gguf, gguf_of(q, file->notes));
  file->notes.append(file->gguf.notes);
  TRY_ASSIGN(file->shape, shape_of(*q.model, file->gguf, file->notes));
  if (memo != nullptr) memo->file = file;
  return std::shared_ptr<const ModelFile>(std::move(file));
}

const ComputePlan* ComputeMemo::find(const std::string& key) const {
  const auto at = plans_.find(key);
  return at == plans_.end() ? nullptr : &at->second;
}

void ComputeMemo::keep(std::string key, const ComputePlan& plan) {
  if (plans_.size() >= kMostPlans) plans_.clear();
  plans_.emplace(std::move(key), plan);
}

}  // namespace vramwise::engines::llamacpp
