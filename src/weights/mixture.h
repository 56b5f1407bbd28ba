// The types that a mixture gives the tensors of a file, before overrides and fallbacks.
// Source: ggml-org/llama.cpp src/llama-quant.cpp (llama_tensor_get_type).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weights/file_types.h"
#include "weights/gguf_model.h"

namespace vramwise::weights {

// What the decision depends on beside the tensor itself.
struct MixtureFacts {
  int64_t layers = 0;          // block_count, MTP layers included
  int64_t experts = 0;         // 0 or 1 = dense
  int64_t queries_per_kv = 0;  // of layer 0; 0 when it has no KV heads
  bool is_70b = false;
  bool falcon = false;
  bool of_2023 = false;       // llama-quantize before 11 January 2024
  bool keeps_values = false;  // Ollama 0.6.5 to 0.6.8: names with "v." stay as converted
};

// What the quantiser takes a tensor for, by its name.
enum class Category {
  output,
  embedding,
  value_like,
  key,
  query,
  attention_output,
  up,
  gate,
  down,
  other,
};
Category category_of(std::string_view name);

// "attn_q.weight" of "blk.3.attn_q.weight"; other names as they are.
std::string_view name_in_layer(std::string_view name);

class Mixture {
 public:
  // `values`: value-like tensors in the file.
  Mixture(FileType file_type, const MixtureFacts& facts, bool imatrix, bool has_output,
          int64_t values)
      : file_type_(file_type),
        facts_(facts),
        imatrix_(imatrix),
        has_output_(has_output),
        values_(values) {}

  // Must see the quantisable tensors in visiting order: positions count.
  GgmlType type_of(const GgufTensor& tensor, Category category);

 private:
  std::optional<GgmlType> type_of_2023(Category category, std::string_view name);
  int64_t position(const GgufTensor& tensor, int64_t counted) const;
  bool more(int64_t i) const;
  bool first_eighth(int64_t i) const { return i < facts_.layers / 8; }
  GgmlType output_type(const GgufTensor& tensor, GgmlType plain) const;
  GgmlType embedding_type(GgmlType plain) const;
  GgmlType value_type(GgmlType plain, int64_t i) const;
  GgmlType key_type(GgmlType plain) const;
  GgmlType query_type(GgmlType plain) const;
  GgmlType low_down_type(GgmlType plain, int64_t i) const;
  GgmlType down_type(GgmlType plain, int64_t i) const;
  GgmlType attention_output_type(GgmlType plain) const;
  GgmlType gate_or_up_type(GgmlType plain, int64_t i) const;

  const FileType file_type_;
  const MixtureFacts facts_;
  const bool imatrix_, has_output_;
  const int64_t values_;
  int64_t value_ = 0, down_ = 0, gate_ = 0, up_ = 0;
};

}  // namespace vramwise::weights
