#include "apps/cli/sizes.h"

#include <array>
#include <cmath>
#include <string>

#include "base/text.h"

namespace vramwise::cli {
namespace {

struct Suffix {
  std::string_view text;
  int64_t factor;
};

Result<int64_t> parse(std::string_view text, std::string_view option, const Suffix* suffixes,
                      size_t count, std::string_view example) {
  const auto bad = [&](std::string_view why) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 40)) + "' " + std::string(why))
                    .at(std::string(option))
                    .hint("write it like " + std::string(example)));
  };
  std::string_view number = trim(text);
  int64_t factor = 1;
  const std::string lower = to_lower(number);
  for (size_t i = 0; i < count; ++i) {
    if (ends_with(lower, suffixes[i].text)) {
      factor = suffixes[i].factor;
      number = trim(number.substr(0, number.size() - suffixes[i].text.size()));
      break;
    }
  }
  const auto value = parse_number(number);
  if (!value) return bad("is not a size");
  const double product = *value * double(factor);
  if (product < 0) return bad("is negative");
  if (product > double(kLargestExactInteger)) return bad("is larger than any real one");
  if (product != std::floor(product)) return bad("is not a whole number");
  return int64_t(product);
}

}  // namespace

Result<int64_t> parse_tokens(std::string_view text, std::string_view option) {
  constexpr std::array kSuffixes = {Suffix{"k", 1024}, Suffix{"m", 1024 * 1024}};
  return parse(text, option, kSuffixes.data(), kSuffixes.size(), "65536, 64k or 1M");
}

Result<int64_t> parse_bytes(std::string_view text, std::string_view option) {
  constexpr std::array kSuffixes = {Suffix{"tib", int64_t{1} << 40},
                                    Suffix{"gib", int64_t{1} << 30},
                                    Suffix{"mib", int64_t{1} << 20},
                                    Suffix{"kib", 1024},
                                    Suffix{"tb", 1'000'000'000'000},
                                    Suffix{"gb", 1'000'000'000},
                                    Suffix{"mb", 1'000'000},
                                    Suffix{"kb", 1000},
                                    Suffix{"b", 1}};
  constexpr std::string_view kExample = "24GiB, 24GB or 25769803776";
  TRY_ASSIGN(const int64_t bytes,
             parse(text, option, kSuffixes.data(), kSuffixes.size(), kExample));
  // Nobody means 24 bytes by 24: the unit was forgotten.
  constexpr int64_t kLeastBare = int64_t{1} << 20;
  if (bytes > 0 && bytes < kLeastBare && parse_number(trim(text))) {
    const std::string said(trim(text));
    return fail(Error(ErrorCode::invalid_input, "'" + said + "' without a unit is bytes")
                    .at(std::string(option))
                    .hint("write " + said + "GiB or " + said + "MiB"));
  }
  return bytes;
}

}  // namespace vramwise::cli
