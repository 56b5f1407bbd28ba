// Numbers to text and text to numbers, without locale: the same characters on every platform.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace vramwise {

// "-1234"
std::string format_integer(int64_t n);
// "1,234,567"
std::string format_grouped(int64_t n);
// Rounded half away from zero to `decimals` (0..9) digits: format_fixed(1.005, 1) = "1.0".
std::string format_fixed(double value, int decimals);
// Shortest text that reads back as the same double; integers without a point. NaN and infinities
// cannot be written in JSON and become "null".
std::string format_number(double value);

// IEC, exact rounding on integers: "40.00 GiB", "563.62 MiB", "512 B". Negative sizes keep a sign.
std::string format_bytes(Bytes size, int decimals = 2);
// A fixed unit, for columns: format_gib(GiB(40)) = "40.00".
std::string format_gib(Bytes size, int decimals = 2);
std::string format_mib(Bytes size, int decimals = 2);

// Decimal integer with optional sign, whole text; nullopt on anything else or overflow.
std::optional<int64_t> parse_integer(std::string_view text);
// Decimal number as in JSON ("1.5", "-2e3"), whole text; deterministic on every platform.
std::optional<double> parse_number(std::string_view text);

bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
bool contains(std::string_view text, std::string_view part);
std::string to_lower(std::string_view text);  // ASCII only
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string replace_all(std::string text, std::string_view from, std::string_view to);

// Levenshtein distance with transpositions, at most `limit` + 1.
int edit_distance(std::string_view a, std::string_view b, int limit);
// Up to `count` names nearest to `name` (ASCII case ignored), nearest first, ties in the order
// given. Names farther than a third of the length are left out, except that containing counts.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string_view>& candidates,
                                       size_t count = 3);

// Matches a shell-style pattern with * and ? (no brackets).
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace vramwise
