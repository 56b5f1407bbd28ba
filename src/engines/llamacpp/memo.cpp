#include "engines/llamacpp/memo.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "weights/latent_layout.h"

namespace vramwise::engines::llamacpp {
namespace {

// Far more than any search asks for; bounds the memory of endless ones.
constexpr size_t kMostPlans = 4096;

// Latent keys: builds of before their layout load files that were converted without them.
constexpr weights::KvB kv_b_of(const Rules& rules) {
  return rules.latent_keys ? weights::KvB::split : weights::KvB::whole;
}

bool is_latent(const weights::GgufModel& gguf) {
  return std::any_of(gguf.tensors.begin(), gguf.tensors.end(), [](const weights::GgufTensor& t) {
    return ends_with(t.name, ".attn_k_b.weight");
  });
}

// The GGUF of the question: the mixture chosen, else a conversion without quantisation.
Result<weights::GgufModel> gguf_of(const Question& q, const Rules& rules, Notes& notes) {
  if (q.weights->is_gguf()) {
    const weights::GgufModel& given = *q.weights->gguf;
    if (q.weights->from_files || rules.latent_keys || !is_latent(given)) return given;
    auto older = weights::quantize(*q.model, given.file_type, {}, kv_b_of(rules));
    if (!older) return given;
    return older;
  }
  if (!q.weights->format.empty() && q.weights->format != "bf16" && q.weights->format != "fp16" &&
      q.weights->format != "fp32" && q.weights->format != "mxfp4") {
    notes.assume("gguf_of_checkpoint",
                 "llama.cpp loads GGUF files only; the file is taken to be a conversion to 16 bits "
                 "of the unquantised model.",
                 "ggml-org/llama.cpp convert_hf_to_gguf.py");
  }
  return weights::gguf_tensors(*q.model, kv_b_of(rules));
}

// Files converted before the layout are still about, and builds of today cache whole heads for
// them: many times as much.
void note_latent_layout(const Question& q, const ModelFile& file, Notes& notes) {
  const Shape& shape = file.shape;
  if (q.weights->from_files || !shape.is_latent()) return;
  if (!shape.latent.absorbed) {
    if (weights::has_whole_kv_b(file.gguf)) {
      notes.assume("latent_layout_older",
                   "Builds of this age cache keys and values of every head: their files hold no "
                   "latent keys.",
                   "ggml-org/llama.cpp pull request 12801");
    }
    return;
  }
  const auto latent = std::find_if(shape.layers.begin(), shape.layers.end(),
                                   [](const auto& l) { return l.mixer == MixerKind::latent; });
  if (latent == shape.layers.end()) return;
  const Shape::Latent& m = shape.latent;
  const int64_t whole = saturating_multiply(latent->heads, m.nope + m.rope + m.value);
  const int64_t times = whole / std::max<int64_t>(1, m.kv_rank + m.rope);
  notes.assume("latent_layout",
               "The file holds latent keys. One converted before April 2025 (build 5136) holds "
               "none, and llama.cpp then caches every head: " +
                   format_integer(times) + " times as much; plan such a file by its path.",
               "ggml-org/llama.cpp pull request 12801");
}

}  // namespace

Result<std::shared_ptr<const ModelFile>> model_file_of(const Question& q, const Rules& rules) {
  FileMemo* memo = memo_of(q);
  if (memo != nullptr && memo->file) return memo->file;
  auto file = std::make_shared<ModelFile>();
  TRY_ASSIGN(file->gguf, gguf_of(q, rules, file->notes));
  file->notes.append(file->gguf.notes);
  TRY_ASSIGN(file->shape, shape_of(*q.model, file->gguf, file->notes));
  if (file->shape.encoder && rules.encoders_cache_nothing) {
    for (LayerShape& l : file->shape.layers) l.cache_of = -1;
  }
  note_latent_layout(q, *file, file->notes);
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
