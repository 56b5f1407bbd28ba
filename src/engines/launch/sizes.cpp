// Sizes with suffixes, each engine by its own rule.
#include "base/checked.h"
#include "base/text.h"
#include "engines/launch/literal.h"

namespace vramwise::engines::launch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Suffix {
  std::string_view text;
  int64_t factor;
  bool whole_only;
};

// digits[.digits]suffix times its factor, without passing a double where the number is whole.
std::optional<int64_t> scaled(std::string_view text, const Suffix* suffixes, size_t count,
                              std::string_view& rest) {
  size_t i = 0;
  while (i < text.size() && (is_digit(text[i]) || text[i] == '.')) ++i;
  if (i == 0 || text[0] == '.') return std::nullopt;
  const std::string_view number = text.substr(0, i);
  rest = text.substr(i);
  for (size_t s = 0; s < count; ++s) {
    if (rest != suffixes[s].text) continue;
    if (const auto whole = parse_integer(number)) {
      const int64_t n = saturating_multiply(*whole, suffixes[s].factor);
      return n > kLargestExactInteger ? std::nullopt : std::optional<int64_t>(n);
    }
    const auto fraction = parse_number(number);
    if (!fraction || suffixes[s].whole_only || number.back() == '.') return std::nullopt;
    const double n = *fraction * double(suffixes[s].factor);
    if (!(n <= double(kLargestExactInteger))) return std::nullopt;
    return int64_t(n);
  }
  return std::nullopt;
}

constexpr int64_t kKilo = 1'000, kMega = 1'000'000, kGiga = 1'000'000'000,
                  kTera = 1'000'000'000'000;

}  // namespace

// Source: vllm/engine/arg_utils.py, human_readable_int.
std::optional<int64_t> vllm_size(std::string_view text) {
  constexpr Suffix kSuffixes[] = {{"k", kKilo, false},           {"m", kMega, false},
                                  {"g", kGiga, false},           {"t", kTera, false},
                                  {"K", int64_t{1} << 10, true}, {"M", int64_t{1} << 20, true},
                                  {"G", int64_t{1} << 30, true}, {"T", int64_t{1} << 40, true}};
  if (const auto n = parse_integer(text)) return n;
  std::string_view rest;
  return scaled(text, kSuffixes, 8, rest);
}

// Source: python/sglang/srt/server_args.py, human_readable_int.
std::optional<int64_t> sglang_size(std::string_view text) {
  constexpr Suffix kSuffixes[] = {{"k", kKilo, false},
                                  {"M", kMega, false},
                                  {"G", kGiga, false},
                                  {"T", kTera, false},
                                  {"Ki", int64_t{1} << 10, false},
                                  {"Mi", int64_t{1} << 20, false},
                                  {"Gi", int64_t{1} << 30, false},
                                  {"Ti", int64_t{1} << 40, false}};
  if (const auto n = parse_integer(text)) return n;
  std::string_view rest;
  return scaled(text, kSuffixes, 8, rest);
}

std::optional<int64_t> decimal_size(std::string_view text) {
  constexpr Suffix kSuffixes[] = {{"K", kKilo, false},  {"KB", kKilo, false}, {"M", kMega, false},
                                  {"MB", kMega, false}, {"G", kGiga, false},  {"GB", kGiga, false},
                                  {"T", kTera, false},  {"TB", kTera, false}};
  const auto n = parse_integer(text);
  if (n) return n;
  std::string_view rest;
  return scaled(text, kSuffixes, 8, rest);
}

}  // namespace vramwise::engines::launch
