// From decimal digits to the nearest double and back to the fewest digits, exactly: the same on
// every platform, without the standard library's readers (which the WebAssembly build lacks),
// without its writer (whose tables are 100 KB) and without libm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramwise {

// The double nearest to digits x 10^exponent, ties to even, subnormals included. `digits`: '0' to
// '9' without leading zeros, at most kMaxDecimalDigits. Nothing beyond the largest double.
inline constexpr size_t kMaxDecimalDigits = 800;
std::optional<double> nearest_double(std::string_view digits, int64_t exponent);

// The text with the fewest digits that reads back as `value` (finite), the nearest of them; fixed
// or scientific, whichever is shorter. The very text of std::to_chars(first, last, value).
std::string shortest_text(double value);

}  // namespace vramwise
