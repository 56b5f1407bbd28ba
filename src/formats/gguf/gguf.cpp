#include "formats/gguf/gguf.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::formats {
namespace {

struct FileType {
  int64_t id;
  std::string_view name;
};

// Source: ggml-org/llama.cpp include/llama.h, llama_ftype.
constexpr FileType kFileTypes[] = {
    {0, "F32"},      {1, "F16"},      {2, "Q4_0"},       {3, "Q4_1"},    {7, "Q8_0"},
    {8, "Q5_0"},     {9, "Q5_1"},     {10, "Q2_K"},      {11, "Q3_K_S"}, {12, "Q3_K_M"},
    {13, "Q3_K_L"},  {14, "Q4_K_S"},  {15, "Q4_K_M"},    {16, "Q5_K_S"}, {17, "Q5_K_M"},
    {18, "Q6_K"},    {19, "IQ2_XXS"}, {20, "IQ2_XS"},    {21, "Q2_K_S"}, {22, "IQ3_XS"},
    {23, "IQ3_XXS"}, {24, "IQ1_S"},   {25, "IQ4_NL"},    {26, "IQ3_S"},  {27, "IQ3_M"},
    {28, "IQ2_S"},   {29, "IQ2_M"},   {30, "IQ4_XS"},    {31, "IQ1_M"},  {32, "BF16"},
    {36, "TQ1_0"},   {37, "TQ2_0"},   {38, "MXFP4_MOE"}, {39, "NVFP4"},  {40, "Q1_0"},
    {41, "Q2_0"},
};
constexpr int64_t kGuessedFlag = 1024;

}  // namespace

int64_t GgufTensorEntry::elements() const {
  int64_t n = 1;
  for (const int64_t e : extent) n = saturating_multiply(n, e);
  return n;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto it = std::find_if(metadata.begin(), metadata.end(),
                               [&](const GgufKey& k) { return k.name == key; });
  return it == metadata.end() ? nullptr : &it->value;
}

std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* n = std::get_if<int64_t>(value)) return *n;
  return std::nullopt;
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const double* d = std::get_if<double>(value)) return *d;
  if (const int64_t* n = std::get_if<int64_t>(value)) return double(*n);
  return std::nullopt;
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const bool* b = std::get_if<bool>(value)) return *b;
  return std::nullopt;
}

std::string_view GgufFile::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return {};
  const GgufText* text = std::get_if<GgufText>(value);
  return text != nullptr ? std::string_view(text->text) : std::string_view();
}

const GgufArray* GgufFile::array(std::string_view key) const {
  const GgufValue* value = find(key);
  return value != nullptr ? std::get_if<GgufArray>(value) : nullptr;
}

int64_t GgufFile::count(std::string_view key) const {
  const GgufArray* list = array(key);
  return list != nullptr ? list->count : 0;
}

int64_t GgufFile::tensor_bytes() const {
  int64_t sum = 0;
  for (const GgufTensorEntry& tensor : tensors) sum = saturating_add(sum, tensor.bytes);
  return sum;
}

std::string_view gguf_file_type_name(int64_t id) {
  if (id >= kGuessedFlag) id -= kGuessedFlag;
  for (const FileType& type : kFileTypes) {
    if (type.id == id) return type.name;
  }
  return {};
}

}  // namespace vramwise::formats
