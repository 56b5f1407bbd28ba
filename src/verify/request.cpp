#include "verify/request.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/gpu.h"
#include "catalog/model_ref.h"
#include "engines/engine.h"

namespace vramwise::verify {
namespace {

using json::Value;

// A card whose CUDA total is this close to the printed one may be meant (the print has two decimals
// and boards differ by some MiB).
constexpr int64_t kTotalSlack = int64_t{96} << 20;

// The cards of the catalog, read once: a log that names none is compared with all of them.
const std::vector<catalog::Gpu>& all_cards() {
  static const std::vector<catalog::Gpu> kCards = [] {
    std::vector<catalog::Gpu> cards;
    for (const std::string_view id : catalog::ids(catalog::Kind::gpu)) {
      if (auto gpu = catalog::find_gpu(id)) cards.push_back(std::move(*gpu));
    }
    return cards;
  }();
  return kCards;
}

Value& part(Value& object, std::string_view key) {
  Value* found = object.find(key);
  return found != nullptr && found->is_object() ? *found : object.set(key, Value::object());
}

// "qwen-3" -> "qwen3": a dash before a digit is dropped.
std::string without_digit_dashes(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool before_digit = i + 1 < name.size() && name[i + 1] >= '0' && name[i + 1] <= '9';
    if (name[i] != '-' || !before_digit) out += name[i];
  }
  return out;
}

// Names the catalog may know it by.
std::vector<std::string> model_names(const LogConfig& config) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  };
  add(config.model);
  std::string_view path = config.model;
  while (ends_with(path, "/")) path.remove_suffix(1);
  // Folders of a hub cache: …/models--Qwen--Qwen3-8B/snapshots/<commit>
  if (const size_t at = path.find("models--"); at != std::string_view::npos) {
    const std::string_view tail = path.substr(at + 8);
    add(replace_all(std::string(tail.substr(0, tail.find('/'))), "--", "/"));
  }
  // Kaggle: …/qwen-lm/qwen-3/transformers/8b/1 is owner, model, framework, variation, version.
  if (const std::vector<std::string_view> parts = split(path, '/'); parts.size() >= 5) {
    const auto from_end = [&](size_t n) { return std::string(parts[parts.size() - n]); };
    if (from_end(3) == "transformers" || from_end(3) == "pytorch") {
      add(from_end(2));
      add(from_end(4) + "-" + from_end(2));
      add(without_digit_dashes(from_end(4)) + "-" + from_end(2));
    }
  }
  // The last one or two parts of a path; "--" stands for the slash where it is written into one.
  const size_t last = path.rfind('/');
  if (last != std::string_view::npos) {
    const size_t before = last == 0 ? std::string_view::npos : path.rfind('/', last - 1);
    if (before != std::string_view::npos) add(std::string(path.substr(before + 1)));
    add(std::string(path.substr(last + 1)));
    add(replace_all(std::string(path.substr(last + 1)), "--", "/"));
  }
  return names;
}

bool set_model(const Log& log, Value& request, Notes& notes) {
  const LogConfig& config = log.config;
  std::vector<std::string> names = model_names(config);
  std::string printed = config.model.substr(0, 120);
  // The name inside of a GGUF, where the file's says nothing: "Qwen3 8B".
  if (const Reading* name = log.one("name"); name != nullptr && !name->text.empty()) {
    names.push_back(replace_all(std::string(trim(name->text)), " ", "-"));
    if (printed.empty()) printed = std::string(trim(name->text)).substr(0, 120);
  }
  for (const std::string& name : names) {
    if (name.size() > 300 || !catalog::resolve_model(name)) continue;
    if (name != config.model) {
      notes.assume("model_from_log", "the log's model '" + printed + "' is taken for " + name);
    }
    part(request, "model").set("ref", name);
    return true;
  }
  return false;
}

// The card of that name, else the one of that total.
void set_gpu(const Log& log, Value& hardware, Notes& notes) {
  if (hardware.find("gpu") != nullptr) return;
  const Reading* total = log.one("total");
  std::string_view name = trim(log.config.gpu);
  if (!name.empty()) {
    if (const auto gpu = catalog::find_gpu(name)) {
      hardware.set("gpu", gpu->id);
      return;
    }
    if (starts_with(name, "NVIDIA ")) name.remove_prefix(7);
    if (starts_with(name, "GeForce ")) name.remove_prefix(8);
    if (const auto gpu = catalog::find_gpu(name)) {
      hardware.set("gpu", gpu->id);
      return;
    }
  }
  if (total == nullptr) return;
  std::optional<catalog::Gpu> nearest;
  int64_t distance = kTotalSlack;
  int others = 0;
  for (const catalog::Gpu& card : all_cards()) {
    const catalog::Gpu* gpu = &card;
    const int64_t off = std::abs(gpu->total.count() - int64_t(total->last));
    if (off > kTotalSlack) continue;
    ++others;
    const bool measured = gpu->basis == catalog::Gpu::Basis::measured;
    const bool better =
        !nearest || (measured && nearest->basis != catalog::Gpu::Basis::measured) ||
        (measured == (nearest->basis == catalog::Gpu::Basis::measured) && off < distance);
    if (better) {
      distance = off;
      nearest = *gpu;
    }
  }
  if (nearest) {
    hardware.set("gpu", nearest->id);
    std::string text = "the log names no card: by its memory of " +
                       format_bytes(Bytes(int64_t(total->last))) + " it is taken for " +
                       nearest->name;
    if (others > 1) text += ", one of " + std::to_string(others) + " such cards";
    notes.assume("gpu_from_total", text);
  }
}

// Windows keeps nothing of the card back from its subsystem for Linux: a process sees what the
// driver states (15.99 GiB of an RTX 4080, whose Linux total is less).
// Source: start-up logs of vLLM under WSL, mrpid12org/imageworks nohup.out.
void set_windows_total(const Log& log, Value& hardware, Notes& notes) {
  const Value* id = hardware.find("gpu");
  if (!log.config.wsl || id == nullptr || !id->is_string() ||
      hardware.find("total_bytes") != nullptr || log.one("total") != nullptr) {
    return;
  }
  const auto gpu = catalog::find_gpu(id->as_string());
  if (!gpu || gpu->driver_total.count() == 0) return;
  hardware.set("total_bytes", gpu->driver_total.count());
  notes.assume("wsl_total", "the server ran under WSL, which shows the whole " +
                                format_bytes(gpu->driver_total) + " of the card");
}

// Devices that hold a part of the model, by buffer names; hosts end in _Host or are the CPU.
int64_t devices_with_buffers(const Log& log) {
  std::vector<std::string> names;
  for (const std::string_view field : {"model_buffer", "kv_buffer", "compute_buffer"}) {
    for (const Reading* r : log.all(field)) {
      const std::string& d = r->device;
      if (d.empty() || starts_with(d, "CPU") || contains(d, "_Host") || starts_with(d, "AMX") ||
          contains(d, "_Mapped") || contains(d, "_Split") || contains(d, "REPACK")) {
        continue;
      }
      if (std::find(names.begin(), names.end(), d) == names.end()) names.push_back(d);
    }
  }
  return int64_t(names.size());
}

std::string backend_of(const Log& log) {
  for (const std::string_view field : {"model_buffer", "compute_buffer", "kv_buffer"}) {
    for (const Reading* r : log.all(field)) {
      const std::string& d = r->device;
      if (starts_with(d, "CUDA")) return "cuda";
      if (starts_with(d, "ROCm")) return "rocm";
      if (starts_with(d, "Vulkan")) return "vulkan";
      if (starts_with(d, "SYCL")) return "sycl";
      if (starts_with(d, "MTL") || starts_with(d, "Metal")) return "metal";
    }
  }
  return {};
}

}  // namespace

LogRequest request_of(const Log& log, const Value& given) {
  LogRequest out;
  if (log.starts > 1) {
    out.notes.assume("last_start",
                     "the log holds " + format_grouped(log.starts) +
                         " starts of a server: the last that came up or died is read");
  }
  if (!log.servers.empty()) {
    std::string all;
    for (const LogServer& s : log.servers) {
      all += (all.empty() ? "" : ", ") + s.name + " (" + s.model + ")";
    }
    out.notes.assume("one_of_several_servers",
                     "the log holds several servers, " + all + ": this is about " + log.server +
                         "; give the lines of another alone to read that");
  }
  Value& request = out.request;
  request = Value::object();
  for (const json::Member& m : given.as_object()) {
    if (m.key == "log" || m.key == "ask") continue;
    request.set(m.key, m.value);
  }
  const LogConfig& c = log.config;
  if (request.find("model") == nullptr) set_model(log, request, out.notes);
  if (request.find("weights") == nullptr && !c.weights.empty()) request.set("weights", c.weights);

  // Both parts are made before either is held: a new member may move the others.
  part(request, "engine");
  Value& hardware = part(request, "hardware");
  Value& engine = part(request, "engine");
  if (engine.find("name") == nullptr && !c.engine.empty()) engine.set("name", c.engine);
  if (engine.find("version") == nullptr && engines::Version::parse(c.version)) {
    if (!c.version.empty()) engine.set("version", c.version);
  }
  Value& options = part(engine, "options");
  for (const json::Member& option : c.options.entries()) {
    if (options.find(option.key) == nullptr) options.set(option.key, option.value);
  }

  if (!c.env.empty()) {
    Value& env = part(engine, "env");
    for (const auto& [name, value] : c.env) {
      if (env.find(name) == nullptr) env.set(name, value);
    }
  }

  if (hardware.find("devices") == nullptr) {
    set_gpu(log, hardware, out.notes);
    set_windows_total(log, hardware, out.notes);
    if (const Reading* total = log.one("total");
        total != nullptr && hardware.find("total_bytes") == nullptr && total->last > 0) {
      hardware.set("total_bytes", int64_t(total->last));
    }
    if (hardware.find("backend") == nullptr) {
      const std::string backend = backend_of(log);
      if (!backend.empty()) hardware.set("backend", backend);
    }
    if (hardware.find("count") == nullptr) {
      int64_t count = devices_with_buffers(log);
      if (const Value* name = engine.find("name"); count == 0 && name != nullptr) {
        if (const auto found = engines::find_engine(name->as_string())) {
          count = (*found)->devices_asked(engines::Options::from_json(options));
        }
      }
      if (count > 0) hardware.set("count", count);
    }
    // llama.cpp says what is free before it loads.
    if (hardware.find("used_bytes") == nullptr && hardware.find("total_bytes") != nullptr) {
      const Reading* free = log.one("free_at_start");
      const Value* all = hardware.find("total_bytes");
      if (free != nullptr && free->engine == "llama.cpp" &&
          all->as_integer() > int64_t(free->last)) {
        hardware.set("used_bytes", all->as_integer() - int64_t(free->last));
      }
    }
  }
  if (part(request, "engine").find("name") == nullptr) out.lacking.push_back("engine");
  if (request.find("model") == nullptr) out.lacking.push_back("model");
  if (hardware.find("gpu") == nullptr && hardware.find("total_bytes") == nullptr &&
      hardware.find("devices") == nullptr) {
    out.lacking.push_back("hardware");
  }
  return out;
}

}  // namespace vramwise::verify
