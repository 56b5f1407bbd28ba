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
  if (gpu.bf16_tflops <= 0) {
    // What 16-bit arithmetic runs as on cards that nobody published a bf16 rate of.
    TRY_ASSIGN(gpu.bf16_tflops, read_rate(entry, "fp16_dense"));
  }
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

// A slice by its profile ("1g.10gb"): its own memory, and its share of everything else.
Result<bool> take_slice(const json::Reader& entry, std::string_view profile, Gpu& gpu) {
  std::vector<std::string> known;
  if (const auto slices = entry.find("mig")) {
    TRY_ASSIGN(const auto items, slices->items());
    for (const json::Reader& item : items) {
      TRY_ASSIGN(std::string name, item.require_string({"profile"}));
      if (name != profile) {
        known.push_back(std::move(name));
        continue;
      }
      const auto share = [&](std::string_view key) -> Result<double> {
        TRY_ASSIGN(const json::Reader pair, item.require({key}));
        TRY_ASSIGN(const auto numbers, pair.items());
        if (numbers.size() != 2)
          return fail(pair.error(ErrorCode::invalid_input, "not two numbers"));
        TRY_ASSIGN(const double part, numbers[0].number(1, 8));
        TRY_ASSIGN(const double whole, numbers[1].number(1, 8));
        return part / whole;
      };
      TRY_ASSIGN(const double of_memory, share("memory_share"));
      TRY_ASSIGN(const double of_compute, share("compute_share"));
      TRY_ASSIGN(const Fact memory, read_fact(item, "memory", kMaxMiB));
      TRY_ASSIGN(const int64_t most, item.integer_or({"most"}, 1, 1, 7));
      TRY_ASSIGN(const auto source, item.optional_string({"source"}));
      if (memory.value > 0) {
        set_total(gpu, memory, Fact{}, 0);
      } else {
        // Slices that were read are 1.5 % (H100) to 8.4 % (H200 1g.18gb) below their share.
        constexpr double kOfShare = 0.95, kBar = 0.05;
        const double mib = double(gpu.total.count()) / 1048576.0 * of_memory;
        gpu.total = from_mib(mib * kOfShare);
        gpu.total_uncertainty = from_mib(mib * kBar);
        gpu.basis = Gpu::Basis::inferred;
        gpu.source = source.value_or("") + "; 95 % of that share of the card";
      }
      gpu.id += ":" + std::string(profile);
      gpu.name += " MIG " + std::string(profile);
      gpu.marketing = Bytes(int64_t(double(gpu.marketing.count()) * of_memory));
      gpu.driver_total = Bytes();
      gpu.bandwidth_gbs *= of_memory;
      for (double* rate : {&gpu.bf16_tflops, &gpu.fp8_tflops, &gpu.fp4_tflops, &gpu.int8_tops}) {
        *rate *= of_compute;
      }
      gpu.sm_count = int(double(gpu.sm_count) * of_compute);
      gpu.max_per_node *= int(most);
      gpu.aliases.clear();
      return true;
    }
  }
  Error error(ErrorCode::not_found,
              gpu.id + " has no slice '" + std::string(profile.substr(0, 40)) + "'");
  if (known.empty()) {
    error.hints.push_back("no MIG profiles are known for this card; give --total for its memory");
  } else {
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    error.hints.push_back("its slices: " + list);
  }
  return fail(std::move(error));
}

// "h100-sxm:1g.10gb", and "NVIDIA H100 80GB HBM3 MIG 1g.10gb" as drivers name a slice.
std::pair<std::string_view, std::string_view> card_and_slice(std::string_view name) {
  const size_t mig = name.find(" MIG ");
  if (mig != std::string_view::npos) return {name.substr(0, mig), name.substr(mig + 5)};
  const size_t colon = name.rfind(':');
  const bool profile = colon != std::string_view::npos &&
                       to_lower(name.substr(colon)).find("g.") != std::string::npos;
  if (profile) return {name.substr(0, colon), name.substr(colon + 1)};
  return {name, {}};
}

}  // namespace

Result<Gpu> find_gpu(std::string_view whole_name) {
  auto [id_or_alias, slice] = card_and_slice(whole_name);
  // The name as given first: its error names what was asked.
  const std::string plain = plain_spelling(id_or_alias);
  if (!contains(Kind::gpu, id_or_alias) && contains(Kind::gpu, plain)) id_or_alias = plain;
  TRY_ASSIGN(const Entry found, find(Kind::gpu, id_or_alias));
  TRY_ASSIGN(Gpu gpu, read_gpu(found));
  // "+me" only adds media engines.
  if (ends_with(slice, "+me")) slice.remove_suffix(3);
  if (!slice.empty()) {
    TRY(take_slice(json::Reader(found.value, "GPU " + found.id), to_lower(slice), gpu));
  }
  return gpu;
}

}  // namespace vramwise::catalog
