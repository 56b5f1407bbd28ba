#include "model/gguf/keys.h"

#include "base/text.h"

namespace vramwise::model {
namespace {

// No count, width or context of a model comes near it; products of three stay inside 64 bits with
// the saturation of the arithmetic.
constexpr int64_t kLargest = int64_t{1} << 32;

bool is_plausible(int64_t n) { return n >= 0 && n <= kLargest; }

}  // namespace

std::optional<int64_t> GgufKeys::integer(std::string_view key) const {
  const formats::GgufValue* value = file_.find(full(key));
  if (value == nullptr) return std::nullopt;
  if (const auto* n = std::get_if<int64_t>(value); n != nullptr && is_plausible(*n)) return *n;
  // Some converters write one value a layer where all are equal.
  if (const auto* list = std::get_if<formats::GgufArray>(value)) {
    for (const int64_t n : list->values) {
      if (n != 0 && is_plausible(n)) return n;
    }
    if (!list->values.empty()) return 0;
  }
  return std::nullopt;
}

std::vector<int64_t> GgufKeys::per_layer(std::string_view key, int64_t layers,
                                         int64_t fallback) const {
  std::vector<int64_t> values(size_t(layers), fallback);
  const formats::GgufValue* value = file_.find(full(key));
  if (value == nullptr) return values;
  if (const auto* n = std::get_if<int64_t>(value); n != nullptr && is_plausible(*n)) {
    values.assign(size_t(layers), *n);
  } else if (const auto* list = std::get_if<formats::GgufArray>(value)) {
    for (size_t i = 0; i < values.size() && i < list->values.size(); ++i) {
      if (is_plausible(list->values[i])) values[i] = list->values[i];
    }
  }
  return values;
}

Result<int64_t> GgufKeys::require(std::string_view key, int64_t min, int64_t max) const {
  const auto value = file_.integer(full(key));
  const auto refuse = [&](ErrorCode code, const std::string& what) {
    return fail(
        Error(code, "key '" + full(key) + "' " + what).at(Where{file_.name, full(key), 0, 0, -1}));
  };
  if (!value) return refuse(ErrorCode::missing_field, "is missing");
  if (*value < min || *value > max) {
    return refuse(*value > max ? ErrorCode::too_large : ErrorCode::invalid_input,
                  "is " + format_integer(*value) + ", expected " + format_integer(min) + " to " +
                      format_integer(max));
  }
  return *value;
}

}  // namespace vramwise::model
