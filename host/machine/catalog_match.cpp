#include "host/machine/catalog_match.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/gpu.h"

namespace vramwise::host {
namespace {

// Driver releases and error correction move a total; a sixteenth is what ECC takes of GDDR memory.
constexpr double kSameMemory = 0.07;

bool says_nothing(const std::string& word) {
  static const char* const kWords[] = {"nvidia", "amd",        "apple", "intel",      "geforce",
                                       "tesla",  "radeon",     "gpu",   "generation", "instinct",
                                       "hbm3",   "hbm3e",      "hbm2e", "hbm2",       "graphics",
                                       "card",   "accelerator"};
  for (const char* const other : kWords) {
    if (word == other) return true;
  }
  // Sizes: "80gb", "96g". The memory itself is compared.
  const size_t digits = word.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos || digits == 0 ? "" : word.substr(digits);
  return unit == "gb" || unit == "g" || unit == "gib";
}

// What is left of a name, sorted: "NVIDIA A100-SXM4-80GB" has a100 and sxm4.
std::vector<std::string> telling_words(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && !says_nothing(word)) words.push_back(word);
    word.clear();
  };
  for (const char c : to_lower(name)) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (part) {
      word += c;
    } else {
      end();
    }
  }
  end();
  std::sort(words.begin(), words.end());
  return words;
}

double distance(const catalog::Gpu& gpu, Bytes total) {
  if (total <= Bytes()) return 0;
  double best = 10;
  for (const Bytes other : {gpu.driver_total, gpu.total}) {
    if (other <= Bytes()) continue;
    const double ratio = double(total.count()) / double(other.count());
    best = std::min(best, ratio > 1 ? ratio - 1 : 1 / ratio - 1);
  }
  return best;
}

}  // namespace

CatalogMatch match_catalog(const std::string& full_name, const std::string& vendor,
                           Bytes driver_total) {
  // A slice is named after its card: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
  const std::string name = full_name.substr(0, full_name.find(" MIG "));
  CatalogMatch match;
  double best = 0;
  const auto consider = [&](const catalog::Gpu& gpu) {
    const double off = distance(gpu, driver_total);
    if (!match.gpu.empty() && off >= best) return;
    best = off;
    match = {gpu.id, gpu.total, off <= kSameMemory};
  };
  if (const auto exact = catalog::find_gpu(name)) consider(*exact);
  if (match.same) return match;
  const auto words = telling_words(name);
  if (words.empty()) return match;
  for (const std::string_view id : catalog::ids(catalog::Kind::gpu)) {
    const auto gpu = catalog::find_gpu(id);
    if (!gpu || gpu->vendor != vendor) continue;
    bool named = telling_words(gpu->name) == words || telling_words(gpu->id) == words;
    for (const std::string& alias : gpu->aliases) named = named || telling_words(alias) == words;
    if (named) consider(*gpu);
  }
  return match;
}

}  // namespace vramwise::host
