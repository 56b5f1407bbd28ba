#include "host/machine/amdgpu.h"

#include <algorithm>

#include "base/text.h"
#include "host/machine/system_files.h"
#include "host/subprocess.h"
#include "json/parse.h"

namespace vramwise::host {
namespace {

// Device and revision of the cards in the catalog, for machines without libdrm's table (or with one
// that is older than the card). Source: data/amdgpu.ids of mesa/drm. Revision -1: any.
struct Known {
  int device;
  int revision;
  const char* name;
};
constexpr Known kKnown[] = {
    {0x66a1, 0x02, "AMD Instinct MI60 / MI50"}, {0x66af, 0xc1, "AMD Radeon VII"},
    {0x738c, -1, "AMD Instinct MI100"},         {0x73a1, -1, "AMD Radeon Pro V620"},
    {0x73a5, 0xc0, "AMD Radeon RX 6950 XT"},    {0x73af, 0xc0, "AMD Radeon RX 6900 XT"},
    {0x73bf, 0xc0, "AMD Radeon RX 6900 XT"},    {0x73bf, 0xc1, "AMD Radeon RX 6800 XT"},
    {0x73bf, 0xc3, "AMD Radeon RX 6800"},       {0x73df, 0xc1, "AMD Radeon RX 6700 XT"},
    {0x73df, 0xc5, "AMD Radeon RX 6700 XT"},    {0x7408, -1, "AMD Instinct MI250X"},
    {0x740c, -1, "AMD Instinct MI250X"},        {0x740f, -1, "AMD Instinct MI210"},
    {0x7448, -1, "AMD Radeon Pro W7900"},       {0x744a, -1, "AMD Radeon Pro W7900"},
    {0x744c, 0xc8, "AMD Radeon RX 7900 XTX"},   {0x744c, 0xcc, "AMD Radeon RX 7900 XT"},
    {0x744c, 0xce, "AMD Radeon RX 7900 GRE"},   {0x745e, -1, "AMD Radeon Pro W7800"},
    {0x747e, 0xc8, "AMD Radeon RX 7800 XT"},    {0x747e, 0xff, "AMD Radeon RX 7700 XT"},
    {0x7480, 0xcf, "AMD Radeon RX 7600"},       {0x74a0, -1, "AMD Instinct MI300A"},
    {0x74a1, -1, "AMD Instinct MI300X"},        {0x74a2, -1, "AMD Instinct MI308X"},
    {0x74b6, -1, "AMD Instinct MI308X"},        {0x74a5, -1, "AMD Instinct MI325X"},
    {0x74b5, -1, "AMD Instinct MI300X VF"},     {0x7550, 0xc0, "AMD Radeon RX 9070 XT"},
    {0x7550, 0xc3, "AMD Radeon RX 9070"},       {0x7551, 0xc0, "AMD Radeon AI PRO R9700"},
    {0x7590, 0xc0, "AMD Radeon RX 9060 XT"},    {0x75a0, -1, "AMD Instinct MI350X"},
    {0x75b0, -1, "AMD Instinct MI350X"},        {0x75a3, -1, "AMD Instinct MI355X"},
    {0x75b3, -1, "AMD Instinct MI355X"},        {0x1586, -1, "AMD Strix Halo"},
};

int hex(std::string_view text) {
  if (starts_with(text, "0x")) text.remove_prefix(2);
  if (text.empty() || text.size() > 6) return -1;
  int value = 0;
  for (const char c : to_lower(text)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return -1;
    value = value * 16 + (digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

std::string name_of(int device, int revision) {
  for (const Known& known : kKnown) {
    if (known.device == device && (known.revision < 0 || known.revision == revision)) {
      return known.name;
    }
  }
  for (const char* path : {"/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids"}) {
    const auto table = read_system_file(path);
    if (!table) continue;
    for (const std::string_view line : split(*table, '\n')) {
      const auto row = split(line, ',');  // "744C,	C8,	AMD Radeon RX 7900 XTX"
      if (row.size() >= 3 && hex(trim(row[0])) == device && hex(trim(row[1])) == revision) {
        return std::string(trim(row[2]));
      }
    }
  }
  return "AMD GPU of an unknown kind";
}

bool is_card(std::string_view name) {
  // card0, card1; not card0-HDMI-A-1, not renderD128.
  return starts_with(name, "card") && parse_integer(name.substr(4)).has_value();
}

// The PCI address stands in the uevent file: "PCI_SLOT_NAME=0000:03:00.0".
std::string bus_address(const std::string& folder) {
  const std::string text = read_system_file(folder + "/uevent").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (starts_with(line, "PCI_SLOT_NAME=")) return std::string(trim(line.substr(14)));
  }
  return {};
}

}  // namespace

std::vector<Card> read_amd_cards() {
  std::vector<Card> cards;
  for (const std::string& name : list_system_folder("/sys/class/drm")) {
    if (!is_card(name)) continue;
    const std::string folder = "/sys/class/drm/" + name + "/device";
    if (hex(read_system_file(folder + "/vendor").value_or("")) != 0x1002) continue;
    const auto total = read_system_number(folder + "/mem_info_vram_total");
    const auto used = read_system_number(folder + "/mem_info_vram_used");
    if (!total || *total <= 0) continue;  // an older driver, or no amdgpu at all
    Card card;
    card.vendor = "amd";
    card.id = bus_address(folder);
    const int device = hex(read_system_file(folder + "/device").value_or(""));
    const int revision = hex(read_system_file(folder + "/revision").value_or(""));
    card.name = name_of(device, revision);
    card.driver_total = card.total = Bytes(*total);
    card.total_basis = "driver";
    card.free = card.total - Bytes(used.value_or(0));
    // An APU has little memory of its own and takes the rest from the host (GTT).
    const auto borrowed = read_system_number(folder + "/mem_info_gtt_total");
    if (device == 0x1586 && borrowed && *borrowed > *total) {
      card.unified = true;
      card.driver_total = card.total = Bytes(*total) + Bytes(*borrowed);
      const auto borrowed_used = read_system_number(folder + "/mem_info_gtt_used");
      card.free = card.total - Bytes(used.value_or(0)) - Bytes(borrowed_used.value_or(0));
    }
    if (const auto busy = read_system_number(folder + "/gpu_busy_percent");
        busy && *busy >= 0 && *busy <= 100) {
      card.busy_percent = int(*busy);
    }
    cards.push_back(std::move(card));
  }
  // ROCm numbers cards by bus address.
  std::stable_sort(cards.begin(), cards.end(),
                   [](const Card& a, const Card& b) { return a.id < b.id; });
  for (size_t i = 0; i < cards.size(); ++i) cards[i].index = int(i);
  return cards;
}

std::string amd_driver_version() {
  return read_system_file("/sys/module/amdgpu/version").value_or("");
}

void add_amd_processes(std::vector<Card>& cards) {
  // {"system": {"PID4711": "python3, 1, 17179869184, 0, 0"}}: name, GPUs, VRAM bytes, …
  const auto result = run_program({"rocm-smi", "--showpids", "--json"});
  if (!result || result->status != 0 || cards.empty()) return;
  const auto answer = json::parse(result->output, "rocm-smi");
  const json::Value* system = answer ? answer->find("system") : nullptr;
  if (system == nullptr || !system->is_object()) return;
  for (const json::Member& member : system->as_object()) {
    if (!starts_with(member.key, "PID") || !member.value.is_string()) continue;
    const auto row = split(member.value.as_string(), ',');
    CardProcess process;
    process.pid = parse_integer(member.key.substr(3)).value_or(0);
    if (!row.empty()) process.name = std::string(trim(row[0]));
    if (row.size() > 2) {
      if (const auto used = parse_integer(trim(row[2])); used && *used >= 0) {
        process.used = Bytes(*used);
      }
    }
    // It says how many cards a process uses, not which: with one card that is known.
    if (cards.size() == 1) cards.front().processes.push_back(std::move(process));
  }
}

}  // namespace vramwise::host
