// The JSON reader: what it accepts, it writes in a form that it reads as the same value. Numbers
// may differ in their last digits and 2.0 may come back as 2: our own reader of numbers rounds
// large exponents less strictly than the C library's, and has no locale.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json/parse.h"
#include "json/value.h"

namespace {

using vramwise::json::Value;

bool same(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return std::abs(a.as_double() - b.as_double()) <= 1e-12 * std::abs(a.as_double());
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    if (a.as_array().size() != b.as_array().size()) return false;
    for (size_t i = 0; i < a.as_array().size(); ++i) {
      if (!same(a.as_array()[i], b.as_array()[i])) return false;
    }
    return true;
  }
  if (a.is_object()) {
    if (a.as_object().size() != b.as_object().size()) return false;
    for (size_t i = 0; i < a.as_object().size(); ++i) {
      if (a.as_object()[i].key != b.as_object()[i].key) return false;
      if (!same(a.as_object()[i].value, b.as_object()[i].value)) return false;
    }
    return true;
  }
  return a == b;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vramwise;
  const auto value =
      json::parse(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  if (!value) return 0;
  const auto again = json::parse(json::dump(*value), "written");
  if (!again || !same(*value, *again)) __builtin_trap();
  return 0;
}
