#include "catalog/gpu.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/catalog.h"
#include "json/reader.h"

namespace vramwise::catalog {
namespace {

constexpr double kMaxMiB = 1e9;  // of any memory figure; keeps the arithmetic in range

struct Fact {
  double value = 0;  // 0 when absent
  double plus_minus = 0;
  std::string source;
  std::string confidence;
};

Result<Fact> read_fact(const json::Reader& entry, std::string_view key, double max) {
  const auto found = entry.find(key);
  if (!found) return Fact{};
  Fact fact;
  TRY_ASSIGN(const json::Reader value, found->require({"value"}));
  TRY_ASSIGN(fact.value, value.number(0, max));
  TRY_ASSIGN(const auto bar, found->optional_number({"plus_minus"}, 0, max));
  TRY_ASSIGN(const auto source, found->optional_string({"source"}));
  TRY_ASSIGN(const auto confidence, found->optional_string({"confidence"}));
  fact.plus_minus = bar.value_or(0);
  fact.source = source.value_or("");
  fact.confidence = confidence.value_or("");
  return fact;
}

Result<double> read_rate(const json::Reader& entry, std::string_view key) {
  TRY_ASSIGN(const Fact fact, read_fact(entry, key, 1e7));
  return fact.value;
}

Bytes from_mib(double mib) { return Bytes(int64_t(mib * 1048576.0 + 0.5)); }

// "9.0" -> 90, "12.1" -> 121.
int capability_number(std::string_view text) {
  const size_t dot = text.find('.');
  const auto major = parse_integer(text.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::optional<int64_t>(0)
                                                   : parse_integer(text.substr(dot + 1));
  if (!major || !minor || *major < 0 || *major > 99 || *minor < 0 || *minor > 9) return 0;
  return int(*major * 10 + *minor);
}

// What a process sees of the memory, from the best figure there is. The rules for unread figures
// are those of docs/architecture.md; measured on 14 cards read both ways, of drivers 570 and later,
// the first is off by 130 MiB at most.
void set_total(Gpu& gpu, const Fact& process, const Fact& driver, double marketing_gib) {
  if (process.value > 0) {
    gpu.total = from_mib(process.value);
    gpu.basis = process.confidence == "measured" ? Gpu::Basis::measured : Gpu::Basis::inferred;
    gpu.source = process.source;
    // Driver releases move the figure by this much (L40S: 45,589 MiB, later 45,467).
    const double share = gpu.basis == Gpu::Basis::measured ? 0.003 : 0.01;
    gpu.total_uncertainty =
        from_mib(process.plus_minus > 0 ? process.plus_minus : process.value * share);
    return;
  }
  gpu.basis = Gpu::Basis::inferred;
  if (driver.value > 0 && gpu.vendor == "nvidia") {
    gpu.total = from_mib(driver.value - 400.0 - driver.value * 0.002);
    gpu.total_uncertainty = MiB(150);
    gpu.source = driver.source + "; less 400 MiB and 0.2 %, as on cards read both ways";
  } else if (driver.value > 0) {
    gpu.total = from_mib(driver.value);
    gpu.total_uncertainty = from_mib(driver.value * 0.02);
    gpu.source = driver.source;
  } else {
    gpu.total = from_mib(marketing_gib * 1024.0 * 0.93);
    gpu.total_uncertainty = from_mib(marketing_gib * 1024.0 * 0.06);
    gpu.source = "93 % of the size on the box; no figure was read from a driver";
  }
}

Result<Gpu> read_gpu(const Entry& found) {
  const json::Reader entry(found.value, "GPU " + found.id);
  Gpu gpu;
  gpu.id = found.id;
  TRY_ASSIGN(gpu.name, entry.require_string({"name"}));
  TRY_ASSIGN(gpu.vendor, entry.require_string({"vendor"}));
  TRY_ASSIGN(const auto architecture, entry.optional_string({"architecture"}));
  gpu.architecture = architecture.value_or("");
  TRY_ASSIGN(const auto capability, entry.optional_string({"compute_capability"}));
  gpu.compute_capability = capability_number(capability.value_or(""));
  TRY_ASSIGN(const Fact sms, read_fact(entry, "multiprocessors", 10'000));
  gpu.sm_count = int(sms.value);
  TRY_ASSIGN(gpu.unified_memory, entry.boolean_or({"unified_memory"}, false));

  TRY_ASSIGN(const Fact box, read_fact(entry, "memory_marketing", kMaxMiB));
  TRY_ASSIGN(const Fact driver, read_fact(entry, "memory_driver_total", kMaxMiB));
  TRY_ASSIGN(const Fact process, read_fact(entry, "memory_process_total", kMaxMiB));
  if (box.value <= 0 && driver.value <= 0 && process.value <= 0) {
    return fail(entry.error(ErrorCode::missing_field, "a GPU wants a size of its memory"));
  }
  gpu.marketing = Bytes(int64_t(box.value * 1e9));
  gpu.driver_total = from_mib(driver.value);
  set_total(gpu, process, driver, box.value);

  TRY_ASSIGN(gpu.bandwidth_gbs, read_rate(entry, "bandwidth"));
  TRY_ASSIGN(gpu.bf16_tflops, read_rate(entry, "bf16_dense"));
  TRY_ASSIGN(gpu.fp8_tflops, read_rate(entry, "fp8_dense"));
  TRY_ASSIGN(gpu.fp4_tflops, read_rate(entry, "fp4_dense"));
  TRY_ASSIGN(gpu.int8_tops, read_rate(entry, "int8_dense"));
  TRY_ASSIGN(gpu.power_w, read_rate(entry, "power"));
  TRY_ASSIGN(const int64_t per_node, entry.integer_or({"max_per_node"}, 0, 0, 1'000'000));
  gpu.max_per_node = int(per_node);
  TRY_ASSIGN(const auto interconnect, entry.optional_string({"interconnect"}));
  gpu.interconnect = interconnect.value_or("");
  if (const auto aliases = entry.find("aliases")) {
    TRY_ASSIGN(const auto items, aliases->items());
    for (const json::Reader& item : items) {
      TRY_ASSIGN(std::string alias, item.string());
      gpu.aliases.push_back(std::move(alias));
    }
  }
  return gpu;
}

// The spelling that ids use: "NVIDIA GeForce RTX_4090" -> "rtx-4090". Only words that say nothing
// about which card it is are dropped.
std::string plain_spelling(std::string_view name) {
  std::string plain;
  for (const char c : to_lower(trim(name))) {
    const bool separator = c == ' ' || c == '_' || c == '-';
    if (!separator) plain += c;
    if (separator && !plain.empty() && plain.back() != '-') plain += '-';
  }
  plain = replace_all(replace_all(plain, "(r)", ""), "(tm)", "");
  constexpr std::string_view kMakers[] = {"nvidia-", "amd-",    "intel-",    "geforce-",
                                          "tesla-",  "radeon-", "instinct-", "graphics-"};
  for (const std::string_view maker : kMakers) {
    if (starts_with(plain, maker)) plain.erase(0, maker.size());
  }
  constexpr std::string_view kEndings[] = {"-gpu", "-graphics", "-generation"};
  for (const std::string_view ending : kEndings) {
    if (ends_with(plain, ending)) plain.resize(plain.size() - ending.size());
  }
  return plain;
}

}  // namespace

Result<Gpu> find_gpu(std::string_view id_or_alias) {
  // The name as given first: its error names what was asked.
  const std::string plain = plain_spelling(id_or_alias);
  if (!contains(Kind::gpu, id_or_alias) && contains(Kind::gpu, plain)) id_or_alias = plain;
  TRY_ASSIGN(const Entry found, find(Kind::gpu, id_or_alias));
  return read_gpu(found);
}

}  // namespace vramwise::catalog
