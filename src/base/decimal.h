// From decimal digits to the nearest double, exactly: the same on every platform, without the
// standard library's readers (which the WebAssembly build lacks) and without libm.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramwise {

// The double nearest to digits x 10^exponent, ties to even, subnormals included. `digits`: '0' to
// '9' without leading zeros, at most kMaxDecimalDigits. Nothing beyond the largest double.
inline constexpr size_t kMaxDecimalDigits = 800;
std::optional<double> nearest_double(std::string_view digits, int64_t exponent);

}  // namespace vramwise
