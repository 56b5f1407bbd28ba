#include "host/machine/nvml.h"

#include <array>
#include <iterator>

#include "base/text.h"
#include "host/environment.h"
#include "host/machine/system_files.h"
#include "host/shared_library.h"

namespace vramwise::host {
namespace {

// Return codes of NVML that are told apart here.
enum Code {
  kOk = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kLibraryNotFound = 12,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kVersionMismatch = 18,
};

using Device = struct nvmlDevice_st*;

struct Memory {
  unsigned long long total, free, used;
};
// Its version field holds the size and, from bit 24 on, the number 2.
struct Memory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct Utilization {
  unsigned gpu, memory;
};

constexpr unsigned long long kNotAvailable = ~0ull;
constexpr unsigned kMostCards = 256;
constexpr unsigned kMostProcesses = 4096;

}  // namespace

struct Nvml::Functions {
  SharedLibrary driver;
  bool started = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  // Older drivers lack these.
  int (*memory2)(Device, Memory2*) = nullptr;
  int (*compute_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*graphics_processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  int (*most_slices)(Device, unsigned*) = nullptr;
  int (*slice)(Device, unsigned, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;

  bool load();
  std::string words(int code) const {
    const char* text = error_string != nullptr ? error_string(code) : nullptr;
    return text != nullptr ? text : "NVML error " + std::to_string(code);
  }
  std::string text_of(int (*function)(Device, char*, unsigned), Device device) const {
    std::array<char, 128> buffer{};
    if (function(device, buffer.data(), unsigned(buffer.size())) != kOk) return {};
    buffer.back() = 0;
    return buffer.data();
  }
  bool read_memory(Device device, Card& card, int& code) const;
  void read_processes(Device device, Card& card) const;
  void add_slices(Device device, const Card& parent, std::vector<Card>& cards,
                  std::vector<Finding>& findings) const;
};

bool Nvml::Functions::load() {
  const std::string chosen = env("VRAMWISE_NVML_LIBRARY");
  // The last two: Windows' subsystem for Linux, and nodes of Kubernetes services.
  if (!(chosen.empty() ? driver.open({"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
                                      "/usr/local/nvidia/lib64/libnvidia-ml.so.1"})
                       : driver.open(chosen))) {
    return false;
  }
  driver.find("nvmlErrorString", error_string);
  driver.find("nvmlDeviceGetMemoryInfo_v2", memory2);
  // The third version's structure is the one declared above; earlier ones end after `used`.
  driver.find("nvmlDeviceGetComputeRunningProcesses_v3", compute_processes);
  driver.find("nvmlDeviceGetGraphicsRunningProcesses_v3", graphics_processes);
  driver.find("nvmlDeviceGetMigMode", mig_mode);
  driver.find("nvmlDeviceGetMaxMigDeviceCount", most_slices);
  driver.find("nvmlDeviceGetMigDeviceHandleByIndex", slice);
  driver.find("nvmlDeviceGetUtilizationRates", utilization);
  return driver.find("nvmlInit_v2", init) && driver.find("nvmlShutdown", shutdown) &&
         driver.find("nvmlSystemGetDriverVersion", driver_version) &&
         driver.find("nvmlSystemGetCudaDriverVersion_v2", cuda_version) &&
         driver.find("nvmlDeviceGetCount_v2", count) &&
         driver.find("nvmlDeviceGetHandleByIndex_v2", handle) &&
         driver.find("nvmlDeviceGetName", name) && driver.find("nvmlDeviceGetUUID", uuid) &&
         driver.find("nvmlDeviceGetMemoryInfo", memory);
}

bool Nvml::Functions::read_memory(Device device, Card& card, int& code) const {
  Memory2 memory2_info{};
  memory2_info.version = unsigned(sizeof memory2_info) | (2u << 24);
  if (memory2 != nullptr && memory2(device, &memory2_info) == kOk) {
    card.driver_total = Bytes(int64_t(memory2_info.total));
    // What the driver keeps for itself never reaches a process. CUDA's own total is asked for by
    // doctor; this comes within about 100 MiB of it (RTX 6000 Ada: 49140 - 569 = 48571 MiB, PyTorch
    // prints 48509).
    card.total = card.driver_total - Bytes(int64_t(memory2_info.reserved));
    card.total_basis = "reserved";
    card.free = Bytes(int64_t(memory2_info.free));
    code = kOk;
    return true;
  }
  Memory info{};
  code = memory(device, &info);
  if (code != kOk) return false;
  card.driver_total = card.total = Bytes(int64_t(info.total));
  card.total_basis = "driver";
  card.free = Bytes(int64_t(info.free));
  return true;
}

void Nvml::Functions::read_processes(Device device, Card& card) const {
  for (const auto ask : {compute_processes, graphics_processes}) {
    if (ask == nullptr) continue;
    unsigned room = 64;
    std::vector<ProcessInfo> list(room);
    int code = ask(device, &room, list.data());
    if (code == kInsufficientSize) {
      // More may start in between.
      room = std::min(room + 64, kMostProcesses);
      list.resize(room);
      code = ask(device, &room, list.data());
    }
    if (code != kOk) continue;
    list.resize(std::min<size_t>(room, list.size()));
    for (const ProcessInfo& info : list) {
      CardProcess process;
      process.pid = info.pid;
      // A process with compute and graphics contexts is in both lists, with the same figure.
      bool known = false;
      for (const CardProcess& other : card.processes) known = known || other.pid == process.pid;
      if (known) continue;
      process.name =
          read_system_file("/proc/" + std::to_string(info.pid) + "/comm").value_or(std::string());
      if (info.used != kNotAvailable) process.used = Bytes(int64_t(info.used));
      card.processes.push_back(std::move(process));
    }
  }
}

void Nvml::Functions::add_slices(Device device, const Card& parent, std::vector<Card>& cards,
                                 std::vector<Finding>& findings) const {
  unsigned most = 0;
  if (most_slices == nullptr || slice == nullptr || most_slices(device, &most) != kOk) most = 0;
  size_t found = 0;
  for (unsigned i = 0; i < std::min(most, 64u); ++i) {
    Device part = nullptr;
    if (slice(device, i, &part) != kOk) continue;  // free places answer "not found"
    Card card;
    card.index = parent.index;
    card.vendor = "nvidia";
    card.name = text_of(name, part);
    card.id = text_of(uuid, part);
    // "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    const size_t at = card.name.find(" MIG ");
    card.slice = at == std::string::npos ? "slice" : card.name.substr(at + 5);
    int code = kOk;
    if (!read_memory(part, card, code)) continue;
    read_processes(part, card);
    cards.push_back(std::move(card));
    ++found;
  }
  if (found == 0) {
    findings.push_back({Finding::Weight::problem, "mig_without_instances",
                        "GPU " + std::to_string(parent.index) +
                            " is divided (MIG is on) but has no instances: nothing can run on it",
                        "make some: nvidia-smi mig -cgi <profile> -C, or switch MIG off: "
                        "nvidia-smi -i " +
                            std::to_string(parent.index) + " -mig 0"});
  }
}

Nvml::Nvml() : call_(std::make_unique<Functions>()) {}

Nvml::~Nvml() {
  if (call_->started) call_->shutdown();
}

Result<std::unique_ptr<Nvml>> Nvml::open() {
  std::unique_ptr<Nvml> nvml(new Nvml());
  Functions& call = *nvml->call_;
  if (!call.load()) {
    if (!call.driver) return fail(Error(ErrorCode::not_found, "there is no NVML library"));
    return fail(Error(ErrorCode::unsupported,
                      "the NVML library lacks functions that drivers since 2020 have")
                    .at("driver_too_old")
                    .hint("install a newer NVIDIA driver (470 or later)"));
  }
  const int code = call.init();
  if (code == kOk) {
    call.started = true;
    return nvml;
  }
  Error error(ErrorCode::unsupported, "the NVIDIA driver does not answer: " + call.words(code));
  switch (code) {
    case kDriverNotLoaded:
      error.where.source = "driver_not_loaded";
      error.hints = {
          "load it: modprobe nvidia; when that fails, install the driver for the running "
          "kernel (dkms status) and look at dmesg"};
      break;
    case kNoPermission:
      error.where.source = "driver_permission";
      error.hints = {
          "this user may not open /dev/nvidia*: in a container start it with --gpus all, "
          "elsewhere join the group that owns them (ls -l /dev/nvidia*)"};
      break;
    case kVersionMismatch:
    case kLibraryNotFound:
      error.where.source = "driver_mismatch";
      error.hints = {
          "the driver was updated while its old kernel module runs on: reboot, or stop "
          "what uses the GPUs and reload the module (rmmod nvidia_uvm nvidia; modprobe "
          "nvidia)"};
      break;
    case kGpuIsLost:
    case kResetRequired:
      error.where.source = "gpu_lost";
      error.hints = {
          "a GPU has fallen off the bus: see dmesg for Xid messages, then reset or reboot"};
      break;
    default: error.where.source = "driver_error"; break;
  }
  return fail(std::move(error));
}

std::string Nvml::driver_version() const {
  std::array<char, 96> buffer{};
  if (call_->driver_version(buffer.data(), unsigned(buffer.size())) != kOk) return {};
  buffer.back() = 0;
  return buffer.data();
}

std::string Nvml::cuda_version() const {
  int version = 0;  // 12080 is 12.8
  if (call_->cuda_version(&version) != kOk || version <= 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<Card> Nvml::cards(std::vector<Finding>& findings) const {
  std::vector<Card> cards;
  const Functions& call = *call_;
  unsigned count = 0;
  if (const int code = call.count(&count); code != kOk) {
    findings.push_back({Finding::Weight::problem, "driver_error",
                        "the NVIDIA driver does not list its GPUs: " + call.words(code), ""});
    return cards;
  }
  for (unsigned i = 0; i < std::min(count, kMostCards); ++i) {
    const auto broken = [&](int code) {
      const bool lost = code == kGpuIsLost || code == kResetRequired;
      const bool hidden = code == kNoPermission;
      findings.push_back(
          {Finding::Weight::problem,
           lost     ? "gpu_lost"
           : hidden ? "gpu_permission"
                    : "gpu_error",
           "GPU " + std::to_string(i) + " cannot be read: " + call.words(code),
           lost     ? "see dmesg for Xid messages, then reset it (nvidia-smi -r) or reboot"
           : hidden ? "this user or container may not open /dev/nvidia" + std::to_string(i)
                    : ""});
    };
    Device device = nullptr;
    if (const int code = call.handle(i, &device); code != kOk) {
      broken(code);
      continue;
    }
    Card card;
    card.index = int(i);
    card.vendor = "nvidia";
    card.name = call.text_of(call.name, device);
    card.id = call.text_of(call.uuid, device);
    unsigned mode = 0;
    unsigned pending = 0;
    card.divided =
        call.mig_mode != nullptr && call.mig_mode(device, &mode, &pending) == kOk && mode == 1;
    int code = kOk;
    if (!call.read_memory(device, card, code)) {
      // Boards whose memory is the host's (GB10) have no figures of their own.
      if (code != kNotSupported) {
        broken(code);
        continue;
      }
      card.unified = true;
    }
    Utilization busy{};
    if (call.utilization != nullptr && call.utilization(device, &busy) == kOk && busy.gpu <= 100) {
      card.busy_percent = int(busy.gpu);
    }
    if (!card.divided) call.read_processes(device, card);
    cards.push_back(card);
    if (card.divided) call.add_slices(device, card, cards, findings);
  }
  return cards;
}

}  // namespace vramwise::host
