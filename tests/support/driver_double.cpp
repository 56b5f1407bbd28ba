// A stand-in for libnvidia-ml.so.1 and libcuda.so.1 in one library, for tests on machines without a
// GPU. The file named by $DRIVER_DOUBLE says what there is; it is read again whenever the cards are
// counted, so that a test can change the machine while a program runs. Lines, fields apart by ';':
//
//   init CODE            what nvmlInit answers        cuinit CODE   what cuInit answers
//   driver 570.86.15     cuda 12080
//   card NAME;UUID;TOTAL;RESERVED;USED;CUDA_TOTAL;MIG;BUSY;HANDLE_CODE;MEMORY_CODE     sizes in MiB
//   slice CARD;NAME;UUID;TOTAL;RESERVED;USED                                          of a divided
//   card process CARD;PID;USED                             USED -1: the driver does not tell
//
// With -DOLD_DRIVER the functions are left out that drivers before 2021 do not have.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Part {
  std::string name, uuid;
  long long total = 0, reserved = 0, used = 0, cuda = 0;
  int mig = 0, busy = 0, handle_code = 0, memory_code = 0;
  std::vector<Part> slices;
  std::vector<std::pair<unsigned, long long>> processes;
};

struct World {
  int init = 0, cuinit = 0, cuda = 0;
  std::string driver;
  std::vector<Part> cards;
} world;

std::vector<std::string> fields(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string field; std::getline(in, field, ';');) found.push_back(field);
  found.resize(12);
  return found;
}
long long number(const std::string& text) { return text.empty() ? 0 : std::atoll(text.c_str()); }

void read_world() {
  const char* path = std::getenv("DRIVER_DOUBLE");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return;
  // Handles point into the cards: they stay where they are as long as their number does.
  World next;
  char line[1024];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    const std::string text = line;
    const size_t blank = text.find(' ');
    const std::string word = text.substr(0, blank);
    const std::string rest = blank == std::string::npos ? "" : text.substr(blank + 1);
    const auto f = fields(rest);
    if (word == "init") next.init = int(number(rest));
    if (word == "cuinit") next.cuinit = int(number(rest));
    if (word == "driver") next.driver = rest;
    if (word == "cuda") next.cuda = int(number(rest));
    if (word == "card") {
      Part card{f[0], f[1], number(f[2]), number(f[3]), number(f[4]), number(f[5])};
      card.mig = int(number(f[6]));
      card.busy = int(number(f[7]));
      card.handle_code = int(number(f[8]));
      card.memory_code = int(number(f[9]));
      next.cards.push_back(card);
    }
    if (word == "slice") {
      next.cards.at(size_t(number(f[0])))
          .slices.push_back({f[1], f[2], number(f[3]), number(f[4]), number(f[5])});
    }
    if (word == "process") {
      next.cards.at(size_t(number(f[0])))
          .processes.push_back({unsigned(number(f[1])), number(f[2])});
    }
  }
  std::fclose(file);
  world = next;
}

int put(const std::string& text, char* out, unsigned size) {
  if (size < text.size() + 1) return 7;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return 0;
}

constexpr long long kMiB = 1 << 20;

struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct Utilization {
  unsigned gpu, memory;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  read_world();
  return world.init;
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) {
  switch (code) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return put(world.driver, out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = world.cuda;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  read_world();
  *count = unsigned(world.cards.size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Part** device) {
  if (index >= world.cards.size()) return 2;
  *device = &world.cards[index];
  return (*device)->handle_code;
}
int nvmlDeviceGetName(Part* part, char* out, unsigned size) { return put(part->name, out, size); }
int nvmlDeviceGetUUID(Part* part, char* out, unsigned size) { return put(part->uuid, out, size); }
int nvmlDeviceGetMemoryInfo(Part* part, Memory* memory) {
  if (part->memory_code != 0) return part->memory_code;
  // The first version counts what is reserved as used.
  *memory = {(unsigned long long)(part->total * kMiB),
             (unsigned long long)((part->total - part->reserved - part->used) * kMiB),
             (unsigned long long)((part->reserved + part->used) * kMiB)};
  return 0;
}
int nvmlDeviceGetUtilizationRates(Part* part, Utilization* rates) {
  if (part->busy < 0) return 3;
  *rates = {unsigned(part->busy), 0};
  return 0;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetMemoryInfo_v2(Part* part, Memory2* memory) {
  if (memory->version != (sizeof(Memory2) | (2u << 24)))
    return 25;  // version mismatch of arguments
  if (part->memory_code != 0) return part->memory_code;
  *memory = {memory->version, (unsigned long long)(part->total * kMiB),
             (unsigned long long)(part->reserved * kMiB),
             (unsigned long long)((part->total - part->reserved - part->used) * kMiB),
             (unsigned long long)(part->used * kMiB)};
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Part* part, unsigned* room, ProcessInfo* list) {
  const unsigned count = unsigned(part->processes.size());
  const bool fits = *room >= count;
  *room = count;
  if (!fits) return 7;
  for (unsigned i = 0; i < count; ++i) {
    const long long used = part->processes[i].second;
    list[i] = {part->processes[i].first, used < 0 ? ~0ull : (unsigned long long)(used * kMiB), ~0u,
               ~0u};
  }
  return 0;
}
int nvmlDeviceGetMigMode(Part* part, unsigned* current, unsigned* pending) {
  *current = *pending = unsigned(part->mig);
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(Part*, unsigned* count) {
  *count = 7;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Part* part, unsigned index, Part** slice) {
  if (index >= part->slices.size()) return 6;  // not found
  *slice = &part->slices[index];
  return 0;
}
#endif

int cuInit(unsigned) {
  read_world();
  return world.cuinit;
}
int cuDeviceGetCount(int* count) {
  *count = int(world.cards.size());
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetUuid(unsigned char* out, int device) {
  // "GPU-" and 32 hexadecimal digits with dashes
  const std::string& text = world.cards.at(size_t(device)).uuid;
  std::string digits;
  for (const char c : text.substr(4)) {
    if (c != '-') digits += c;
  }
  for (size_t i = 0; i < 16; ++i) {
    out[i] = (unsigned char)std::strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16);
  }
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  const Part& card = world.cards.at(size_t(device));
  if (card.cuda <= 0) return 1;
  *bytes = size_t(card.cuda * kMiB);
  return 0;
}

}  // extern "C"
