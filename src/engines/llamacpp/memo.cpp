#include "engines/llamacpp/memo.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "engines/llamacpp/graph/families.h"
#include "engines/llamacpp/request.h"
#include "weights/file_layout.h"

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

bool own_head(const Question& q) {
  return drafts_with_own_head(q.settings.options) && !q.draft.given();
}

bool holds_mtp(const weights::GgufModel& gguf) {
  return std::any_of(gguf.tensors.begin(), gguf.tensors.end(),
                     [](const weights::GgufTensor& t) { return t.mtp; });
}

// Drafting with the model's own head needs a file that was converted with it.
void note_draft_head(const Question& q, const weights::GgufModel& gguf, const Shape& shape,
                     Notes& notes) {
  if (!holds_mtp(gguf)) {
    notes.warn("draft_head_missing",
               "--spec-type draft-mtp drafts with multi-token-prediction layers, and the file "
               "holds none: nothing is counted for them.");
    return;
  }
  if (!draft_graph_known(shape)) {
    notes.warn("draft_head_estimated",
               "the compute buffer of the model's own draft head is estimated: how llama.cpp "
               "builds it for this architecture is not known here, nor that it does");
  }
  if (q.weights->from_files) return;
  Bytes bytes;
  for (const weights::GgufTensor& t : gguf.tensors) {
    if (t.mtp) bytes += t.bytes();
  }
  notes.assume("draft_head_kept",
               "The file is taken to hold the model's multi-token-prediction layers (" +
                   format_bytes(bytes) + "), which draft-mtp needs; many published files do not.",
               "ggml-org/llama.cpp convert_hf_to_gguf.py");
}

// The GGUF of the question: the mixture chosen, else a conversion without quantisation.
Result<weights::GgufModel> gguf_of(const Question& q, const Rules& rules, Notes& notes) {
  const weights::FileLayout layout{.kv_b = kv_b_of(rules),
                                   .keeps_mtp = own_head(q) && !q.model->mtp_layers.empty()};
  if (q.weights->is_gguf()) {
    const weights::GgufModel& given = *q.weights->gguf;
    const bool older = !rules.latent_keys && is_latent(given);
    const bool with_head = layout.keeps_mtp && !holds_mtp(given);
    if (q.weights->from_files || (!older && !with_head)) return given;
    auto other = weights::quantize(*q.model, given.file_type, {}, layout);
    if (!other) return given;
    return other;
  }
  if (!q.weights->format.empty() && q.weights->format != "bf16" && q.weights->format != "fp16" &&
      q.weights->format != "fp32" && q.weights->format != "mxfp4") {
    notes.assume("gguf_of_checkpoint",
                 "llama.cpp loads GGUF files only; the file is taken to be a conversion to 16 bits "
                 "of the unquantised model.",
                 "ggml-org/llama.cpp convert_hf_to_gguf.py");
  }
  return weights::gguf_tensors(*q.model, layout);
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
  if (own_head(q)) note_draft_head(q, file->gguf, file->shape, file->notes);
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
