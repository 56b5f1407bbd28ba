#include <algorithm>

#include "base/text.h"
#include "catalog/gpu.h"
#include "host/environment.h"
#include "host/machine/amdgpu.h"
#include "host/machine/apple.h"
#include "host/machine/card_reader.h"
#include "host/machine/catalog_match.h"
#include "host/machine/cuda_driver.h"
#include "host/machine/host_memory.h"
#include "host/machine/machine.h"
#include "host/machine/system_files.h"

namespace vramwise::host {
namespace {

// Which vendors' display or compute devices sit on the PCI bus, driver or not.
struct PciCards {
  int nvidia = 0;
  int amd = 0;
  int intel = 0;
};

PciCards count_pci_cards() {
  PciCards found;
  for (const std::string& name : list_system_folder("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + name;
    // 0x03 display controllers, 0x12 processing accelerators (MI300X).
    const std::string kind = read_system_file(folder + "/class").value_or("");
    if (!starts_with(kind, "0x03") && !starts_with(kind, "0x12")) continue;
    const std::string vendor = read_system_file(folder + "/vendor").value_or("");
    if (vendor == "0x10de") ++found.nvidia;
    if (vendor == "0x1002") ++found.amd;
    if (vendor == "0x8086") ++found.intel;
  }
  return found;
}

std::string count_text(int n, const std::string& what) {
  return n == 1 ? "an " + what + " GPU is" : std::to_string(n) + " " + what + " GPUs are";
}

void explain_absence(Machine& machine) {
  for (const Finding& finding : machine.findings) {
    if (finding.weight == Finding::Weight::problem) return;  // the reason is known
  }
  const PciCards pci = count_pci_cards();
  if (pci.nvidia > 0 || system_has("/dev/nvidiactl")) {
    const bool loaded = system_has("/proc/driver/nvidia/version");
    machine.findings.push_back(
        {Finding::Weight::problem, loaded ? "nvml_missing" : "driver_not_loaded",
         loaded ? "the NVIDIA driver runs, but its library (libnvidia-ml.so.1) and nvidia-smi are "
                  "not here"
                : count_text(std::max(pci.nvidia, 1), "NVIDIA") +
                      " on the PCI bus, but no driver is loaded",
         loaded ? "in a container: start it with --gpus all (NVIDIA Container Toolkit); elsewhere "
                  "install the driver's userspace package"
                : "install the NVIDIA driver and reboot"});
  } else if (pci.amd > 0 && system_has("/dev/kfd")) {
    machine.findings.push_back({Finding::Weight::problem, "amd_memory_hidden",
                                "an AMD GPU is there, but the driver does not say how much memory "
                                "it has (/sys/class/drm/card*/device/mem_info_vram_total)",
                                "in a container: mount /sys; elsewhere install the amdgpu driver"});
  } else if (pci.amd > 0) {
    machine.findings.push_back(
        {Finding::Weight::problem, "driver_not_loaded",
         count_text(pci.amd, "AMD") + " on the PCI bus, but the amdgpu driver is not loaded",
         "load it (modprobe amdgpu) or install the ROCm driver"});
  } else if (pci.intel > 0) {
    machine.findings.push_back(
        {Finding::Weight::note, "intel_not_read",
         count_text(pci.intel, "Intel") + " on the PCI bus; their memory is not read yet",
         "name the card: vramwise catalog gpus lists arc-… ids"});
  }
}

void note_hidden_cards(Machine& machine) {
  const char* const names[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                               "ROCR_VISIBLE_DEVICES"};
  for (const char* name : names) {
    const std::string value = env(name);
    if (value.empty()) continue;
    machine.findings.push_back(
        {Finding::Weight::note, "visible_devices",
         std::string(name) + "=" + value + " is set: an engine started here uses only those", ""});
  }
}

void note_host(Machine& machine) {
  const HostMemory& host = machine.host;
  if (host.limit) {
    machine.findings.push_back({Finding::Weight::note, "memory_limit",
                                "host memory is limited to " + format_bytes(*host.limit) +
                                    " by this control group or container",
                                ""});
  }
  int whole = 0;
  for (const Card& card : machine.cards) whole += card.slice.empty() ? 1 : 0;
  // NCCL's default transport between processes; Docker gives 64 MiB.
  if (whole > 1 && host.shared_memory && *host.shared_memory < GiB(1)) {
    machine.findings.push_back({Finding::Weight::problem, "shared_memory_small",
                                "/dev/shm has " + format_bytes(*host.shared_memory) +
                                    ": engines on several GPUs fail or fall back to slow ways",
                                "start the container with --ipc=host or --shm-size=16g"});
  }
}

}  // namespace

void complete_card(Card& card, const HostMemory& host) {
  const CatalogMatch match =
      match_catalog(card.name, card.vendor, card.slice.empty() ? card.driver_total : Bytes());
  card.gpu = match.gpu;
  // A slice has its own share of the processors beside its own memory, where the catalog knows it.
  if (!card.slice.empty() && !card.gpu.empty()) {
    if (const auto slice = catalog::find_gpu(card.gpu + ":" + card.slice)) card.gpu = slice->id;
  }
  if (card.unified && card.driver_total <= Bytes()) {
    // The host's memory is the card's, and other programs hold a part of it.
    card.driver_total = host.total;
    card.total =
        match.total > Bytes() && match.same ? std::min(match.total, host.total) : host.total;
    card.total_basis = match.total > Bytes() ? "catalog" : "driver";
    card.free = std::min(card.total, host.available);
  } else if (card.vendor == "nvidia" && card.total_basis == "driver") {
    // An old driver, which does not tell its own share: what the catalog knows, or the rule of
    // catalog/gpu.cpp for cards that nobody read both ways.
    const Bytes rule = card.driver_total - MiB(400) - card.driver_total / 500;
    card.total = std::max(match.same ? std::min(match.total, card.driver_total) : rule, Bytes());
    card.total_basis = match.same ? "catalog" : "rule";
  }
  card.free = std::clamp(card.free, Bytes(), card.total);
  card.used = card.total - card.free;
}

Machine detect_machine() {
  Machine machine;
  machine.host = read_host_memory();
  CardReader reader;
  machine.cards = reader.read(machine.findings, CardReader::Detail::everything);
  machine.source = reader.source();
  machine.driver = reader.driver();
  machine.cuda = reader.cuda();
  if (machine.source == "nvml" && ask_cuda_totals(machine.cards)) {
    for (Card& card : machine.cards) {
      // Free memory is the driver's figure and stays.
      card.free = std::clamp(card.free, Bytes(), card.total);
      card.used = card.total - card.free;
    }
  }
  for (const Card& card : machine.cards) {
    if (!card.gpu.empty() || !card.slice.empty()) continue;
    machine.findings.push_back({Finding::Weight::note, "unknown_card",
                                "the catalog does not know '" + card.name +
                                    "': it is planned for as an unknown card of its size",
                                "docs/howto/add-gpu.md says how to add it"});
  }
  if (machine.cards.empty()) explain_absence(machine);
  note_hidden_cards(machine);
  note_host(machine);
  return machine;
}

}  // namespace vramwise::host
