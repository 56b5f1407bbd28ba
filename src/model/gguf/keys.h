// The hyper-parameters of a GGUF file: keys below "<architecture>.", one value or one a layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/gguf/gguf.h"

namespace vramwise::model {

class GgufKeys {
 public:
  explicit GgufKeys(const formats::GgufFile& file)
      : file_(file), architecture_(file.text("general.architecture")) {}

  const std::string& architecture() const { return architecture_; }
  const formats::GgufFile& file() const { return file_; }

  bool has(std::string_view key) const { return file_.find(full(key)) != nullptr; }
  // Numbers beyond 2^32 or below zero are errors of check(); here they count as absent.
  std::optional<int64_t> integer(std::string_view key) const;
  int64_t integer_or(std::string_view key, int64_t fallback) const {
    return integer(key).value_or(fallback);
  }
  std::optional<bool> flag(std::string_view key) const { return file_.boolean(full(key)); }
  double number_or(std::string_view key, double fallback) const {
    return file_.number(full(key)).value_or(fallback);
  }
  // One value for all layers, or a list with one each; short lists are filled up with `fallback`.
  std::vector<int64_t> per_layer(std::string_view key, int64_t layers, int64_t fallback) const;
  // Error missing_field when absent or no number.
  Result<int64_t> require(std::string_view key, int64_t min, int64_t max) const;

 private:
  std::string full(std::string_view key) const { return architecture_ + "." + std::string(key); }

  const formats::GgufFile& file_;
  std::string architecture_;
};

}  // namespace vramwise::model
