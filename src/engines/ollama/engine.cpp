// Ollama: a policy in front of llama.cpp's server, which it starts as a child. It settles context,
// slots, batch and devices; memory is then llama.cpp's.
// Source: ollama/ollama llm/server.go, server/sched.go, envconfig/config.go.
#include "engines/engine.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/model_ref.h"
#include "engines/known_versions.h"
#include "engines/launch/write_line.h"
#include "engines/unknown_options.h"

namespace vramwise::engines {
namespace ollama {
namespace {

int64_t number(const json::Value& object, std::string_view key, int64_t fallback = 0) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_integer() ? value->as_integer() : fallback;
}

const json::Array& list(const json::Value& object, std::string_view key) {
  static const json::Array empty;
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_array() ? value->as_array() : empty;
}

// A setting of the server: as an option, else as the environment variable OLLAMA_….
Result<std::optional<int64_t>> server_integer(const Settings& s, std::string_view option,
                                              const std::string& variable, int64_t max) {
  TRY_ASSIGN(const auto given, s.options.integer(option, 0, max));
  if (given) return given;
  const auto found = s.env.find(variable);
  if (found == s.env.end()) return std::optional<int64_t>();
  const auto value = parse_integer(trim(found->second));
  if (!value || *value < 0 || *value > max)
    return std::optional<int64_t>();  // Ollama warns, goes on
  return value;
}

std::string server_text(const Settings& s, std::string_view option, const std::string& variable) {
  const auto given = s.options.string(option);
  if (given && *given) return **given;
  const auto found = s.env.find(variable);
  return found == s.env.end() ? std::string() : std::string(trim(found->second));
}

bool is_true(std::string_view text) {
  const std::string t = to_lower(text);
  return !(t.empty() || t == "0" || t == "f" || t == "false" || t == "off");
}

// What Ollama decides, and the question it hands to llama.cpp.
struct Decided {
  std::shared_ptr<const json::Value> profile;
  int64_t num_ctx = 0, parallel = 1, batch = 512;
  Hardware hardware;  // the devices it uses
  int only = 0;       // where it uses one: which of the machine's
  Bytes predicted;    // its own estimate before the load
  Bytes overhead;     // of every GPU, by OLLAMA_GPU_OVERHEAD
  Options child;      // llama.cpp's options
  Notes notes;
};

// File size and a cache of 16 bits, by the smallest number of KV heads.
Bytes predicted_bytes(const Question& q, const weights::GgufModel* gguf, int64_t tokens) {
  int64_t kv_heads = 0, heads = 1;
  for (const model::Layer& layer : q.model->layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      const auto* a = std::get_if<model::AttentionBlock>(&mixer);
      const int64_t kv = a == nullptr ? 1 : std::max<int64_t>(1, a->kv_heads);
      kv_heads = kv_heads == 0 ? kv : std::min(kv_heads, kv);
      if (a != nullptr) heads = std::max(heads, a->query_heads);
    }
  }
  const Bytes file = gguf == nullptr ? Bytes() : gguf->tensor_bytes();
  const int64_t head_dim = q.model->hidden_size / heads;
  const int64_t per_token =
      saturating_multiply(4 * int64_t(q.model->layers.size()),
                          saturating_multiply(std::max<int64_t>(1, kv_heads), head_dim));
  return file + Bytes(saturating_multiply(per_token, tokens));
}

Result<bool> settle_context(const Question& q, Decided& d) {
  constexpr int64_t kMostTokens = int64_t{1} << 31;
  TRY_ASSIGN(const auto asked, q.settings.options.integer("num_ctx", 1, kMostTokens));
  TRY_ASSIGN(const auto standard,
             server_integer(q.settings, "context_length", "OLLAMA_CONTEXT_LENGTH", kMostTokens));
  TRY_ASSIGN(const auto overhead, server_integer(q.settings, "gpu_overhead", "OLLAMA_GPU_OVERHEAD",
                                                 kLargestExactInteger));
  d.overhead = Bytes(overhead.value_or(0));
  if (asked) {
    d.num_ctx = *asked;
  } else if (q.workload.sequence_tokens.count() > 0) {
    d.num_ctx = std::min(kMostTokens, q.workload.sequence_tokens.count());
    d.notes.assume(
        "context_from_workload",
        "The context holds one user's whole sequence: num_ctx " + format_integer(d.num_ctx));
  } else if (standard && *standard > 0) {
    d.num_ctx = *standard;
  } else {
    Bytes vram;
    for (const Device& device : q.hardware->devices) {
      vram += std::max(Bytes(), device.total - Bytes(overhead.value_or(0)));
    }
    for (const json::Value& tier : list(*d.profile, "context_by_vram")) {
      if (vram >= GiB(number(tier, "at_least_gib"))) {
        d.num_ctx = number(tier, "tokens");
        break;
      }
    }
    d.notes.assume("context_by_vram",
                   "No context was asked for: Ollama takes " + format_grouped(d.num_ctx) +
                       " tokens by the memory of the GPUs.",
                   "ollama/ollama server/routes.go");
  }
  if (q.model->max_positions > 0) d.num_ctx = std::min(d.num_ctx, q.model->max_positions);
  d.num_ctx = std::max(d.num_ctx, number(*d.profile, "smallest_context"));
  if (q.model->vision) {
    d.num_ctx = std::max(d.num_ctx, number(*d.profile, "smallest_vision_context"));
  }

  TRY_ASSIGN(const auto slots,
             server_integer(q.settings, "num_parallel", "OLLAMA_NUM_PARALLEL", 65536));
  const int64_t users = q.workload.concurrency.count();
  d.parallel = slots && *slots > 0 ? *slots : std::max<int64_t>(1, users);
  for (const json::Value& name : list(*d.profile, "single_request_architectures")) {
    if (d.parallel > 1 && name.is_string() && name.as_string() == q.model->gguf.architecture) {
      d.parallel = 1;
      d.notes.warn("one_request",
                   "Ollama serves this architecture one request at a time, whatever "
                   "OLLAMA_NUM_PARALLEL says.");
    }
  }
  return true;
}

// One GPU when its estimate fits there, else all of them.
void choose_devices(const Question& q, Decided& d) {
  d.hardware = *q.hardware;
  if (is_true(server_text(q.settings, "sched_spread", "OLLAMA_SCHED_SPREAD"))) return;
  if (d.hardware.devices.size() < 2) return;
  const auto freest =
      std::max_element(d.hardware.devices.begin(), d.hardware.devices.end(),
                       [](const Device& a, const Device& b) { return a.free() < b.free(); });
  if (d.predicted * 100 > freest->free() * number(*d.profile, "single_gpu_percent", 80)) return;
  d.only = int(freest - d.hardware.devices.begin());
  d.hardware.devices = {Device(*freest)};
  d.notes.assume("one_gpu", "Ollama's estimate fits one GPU, so it uses one.",
                 "ollama/ollama server/sched.go");
}

Result<bool> settle_batch(const Question& q, bool flash, Decided& d) {
  TRY_ASSIGN(const auto asked, q.settings.options.integer("num_batch", 1, int64_t{1} << 24));
  if (asked) {
    d.batch = *asked;
    return true;
  }
  const int64_t context = saturating_multiply(d.num_ctx, d.parallel);
  Bytes available;
  for (const Device& device : d.hardware.devices) available += device.free();
  for (const json::Value& step : list(*d.profile, "batches")) {
    if (context <= number(step, "context_above")) continue;
    const int64_t percent = number(step, "at_most_percent", 0);
    const Bytes surcharge = MiB(number(step, "surcharge_mib"));
    const bool holds = percent == 0 || d.hardware.devices.empty() ||
                       (d.predicted * 100 <= available * percent &&
                        (d.predicted + surcharge) * 100 <=
                            available * number(*d.profile, "batch_room_percent", 80));
    if (!holds) continue;
    d.batch = number(step, "tokens");
    break;
  }
  if (!flash && d.hardware.backend == Backend::cuda && !d.hardware.devices.empty()) {
    const bool small = d.hardware.devices.front().total <= GiB(8) && context > 4096;
    d.batch = std::min<int64_t>(d.batch, small ? 256 : 512);
  }
  return true;
}

Result<Decided> decide(const Question& q) {
  Decided d;
  TRY_ASSIGN(d.profile, catalog::find_shared(catalog::Kind::engine, "ollama"));
  const json::Array& since = list(*d.profile, "child_server_since");
  const Version& version = q.settings.version;
  if (version.given && since.size() == 2 &&
      !version.at_least(int(since[0].as_integer()), int(since[1].as_integer()))) {
    d.notes.warn("older_ollama",
                 "Ollama before 0.31 ran its own engine with its own estimates; the figures are "
                 "those of llama.cpp with the same settings.");
  }
  if (q.detail == Detail::full) {
    TRY(warn_of_options(q.settings.options, "ollama", "Ollama", d.notes));
    TRY(note_version(version, "ollama", d.notes));
  }
  TRY(settle_context(q, d));
  const weights::GgufModel* gguf = q.weights->is_gguf() ? &*q.weights->gguf : nullptr;
  d.predicted = predicted_bytes(q, gguf, saturating_multiply(d.num_ctx, d.parallel));
  choose_devices(q, d);
  const std::string flash = server_text(q.settings, "flash_attention", "OLLAMA_FLASH_ATTENTION");
  TRY(settle_batch(q, flash.empty() || is_true(flash), d));

  Options& o = d.child;
  o.set("ctx_size", json::Value(saturating_multiply(d.num_ctx, d.parallel)));
  o.set("parallel", json::Value(d.parallel));
  o.set("batch_size", json::Value(d.batch));
  o.set("ubatch_size", json::Value(d.batch));
  if (!flash.empty()) o.set("flash_attn", json::Value(is_true(flash) ? "on" : "off"));
  const std::string cache = server_text(q.settings, "kv_cache_type", "OLLAMA_KV_CACHE_TYPE");
  if (!cache.empty()) {
    o.set("cache_type_k", json::Value(cache));
    o.set("cache_type_v", json::Value(cache));
  }
  TRY_ASSIGN(const auto layers, q.settings.options.integer("num_gpu", -1, 1 << 20));
  if (layers && *layers >= 0) o.set("n_gpu_layers", json::Value(*layers));
  TRY_ASSIGN(const auto mmap, q.settings.options.boolean("use_mmap"));
  if (mmap && !*mmap) o.set("load_mode", json::Value("none"));
  TRY_ASSIGN(const auto main_gpu, q.settings.options.integer("main_gpu", 0, 1024));
  if (main_gpu) o.set("main_gpu", json::Value(*main_gpu));
  for (const auto& [variable, option] :
       {std::pair<std::string, std::string>{"LLAMA_ARG_FIT", "fit"},
        {"LLAMA_ARG_FIT_TARGET", "fit_target"}}) {
    const auto found = q.settings.env.find(variable);
    if (found != q.settings.env.end()) o.set(option, json::Value(found->second));
  }
  return d;
}

// The child's question: llama.cpp of the pinned build, with nothing left to a workload.
Question child_question(const Question& q, const Decided& d) {
  Question child = q;
  child.hardware = &d.hardware;
  child.settings.options = d.child;
  child.settings.env.clear();
  child.settings.version = Version();
  child.settings.version.build = int(number(*d.profile, "llama_cpp_build"));
  child.settings.version.given = child.settings.version.build > 0;
  child.settings.version.text = "b" + format_integer(child.settings.version.build);
  child.workload = Workload();
  return child;
}

// The model by the name of Ollama's own library where that name means these weights, else the file.
std::string model_name(const Question& q) {
  const std::string format = q.weights->is_gguf() ? q.weights->gguf->file_type : std::string();
  if (ends_with(q.model->id, ".gguf")) return q.model->id;
  if (const auto entry = catalog::find(catalog::Kind::model, q.model->id)) {
    for (const json::Value& alias : list(entry->value, "aliases")) {
      const std::string& name = alias.as_string();
      if (!contains(name, ":") || contains(name, "/")) continue;
      const auto meant = catalog::resolve_model(name);
      if (!meant) continue;
      // A name without a format is the library's usual one.
      const std::string stored = meant->weights.empty() ? "Q4_K_M" : meant->weights;
      if (stored == format) return name;
    }
  }
  const size_t slash = q.model->id.rfind('/');
  return q.model->id.substr(slash + 1) + "-" + format + ".gguf";
}

std::string command_of(const Question& q, const Decided& d) {
  Options options = q.settings.options;
  options.set("context_length", json::Value(d.num_ctx));
  options.erase("num_ctx");
  if (d.parallel > 1) options.set("num_parallel", json::Value(d.parallel));
  std::map<std::string, std::string> env = q.settings.env;
  env.erase("OLLAMA_CONTEXT_LENGTH");
  env.erase("OLLAMA_NUM_PARALLEL");
  return launch::write_line("ollama", model_name(q), options, env);
}

// The child knows the one GPU that it is shown as the first; the machine may count it otherwise.
void put_on(int device, Assessment& a) {
  const auto move = [&](int& from) {
    if (from == 0) from = device;
  };
  for (Ledger* ledger : {&a.need, &a.reserve, &a.peak}) {
    for (LedgerRow& row : ledger->rows) move(row.device);
  }
  for (Requirement& requirement : a.requirements) move(requirement.device);
  move(a.fullest_device);
}

Result<Assessment> assess_question(const Question& q) {
  TRY_ASSIGN(const Engine* server, find_engine("llama.cpp"));
  TRY_ASSIGN(const Decided d, decide(q));
  const Question child = child_question(q, d);
  TRY_ASSIGN(Assessment a, server->assess(child));

  if (a.fit && !d.hardware.devices.empty() && !d.child.has("n_gpu_layers")) {
    const int64_t all = q.weights->is_gguf() ? q.weights->gguf->block_count + 1
                                             : int64_t(q.model->layers.size()) + 1;
    const bool experts_out = !a.fit->override_tensor.empty();
    Requirement r;
    r.kind = Requirement::Kind::workload;
    r.what = "gpu_layers";
    r.needed = ByteRange::exactly(Bytes(all));
    const int64_t whole =
        std::max<int64_t>(0, a.fit->n_gpu_layers - int64_t(a.fit->override_tensor.size()));
    r.available = ByteRange::exactly(Bytes(whole));
    r.unit = "layers";
    r.phase = "load";
    r.explanation = "Ollama keeps " + format_integer(a.fit->n_gpu_layers) + " of " +
                    format_integer(all) + " layers on the GPUs" +
                    (experts_out ? " and a part of the experts on the CPU" : "") +
                    (whole < all ? "; the rest runs on the CPU" : "");
    a.requirements.push_back(std::move(r));
  }
  // What Ollama prints before it starts the child; the child's own lines follow in the same log.
  // Source: ollama/ollama server/sched.go.
  if (!d.hardware.devices.empty()) {
    const bool metal = d.hardware.backend == Backend::metal;
    const Bytes aside = MiB(number(*d.profile, metal ? "set_aside_metal_mib" : "set_aside_mib"));
    Bytes least = d.hardware.devices.front().free();
    for (const Device& device : d.hardware.devices) least = std::min(least, device.free());
    const Bytes available = std::max(Bytes(), least - aside - d.overhead);
    a.log.insert(a.log.begin(), {{"gpu memory: available", double(available.count()), "bytes"},
                                 {"gpu memory: minimum", double(aside.count()), "bytes"}});
  }
  const auto wants = [&](std::string what, int64_t needed, int64_t available, std::string unit,
                         std::string explanation) {
    if (needed <= 0) return;
    Requirement r;
    r.kind = Requirement::Kind::workload;
    r.what = std::move(what);
    r.needed = ByteRange::exactly(Bytes(needed));
    r.available = ByteRange::exactly(Bytes(available));
    r.unit = std::move(unit);
    r.phase = "serve";
    r.explanation = std::move(explanation);
    a.requirements.push_back(std::move(r));
  };
  wants("context", q.workload.sequence_tokens.count(), a.kv.max_sequence_tokens, "tokens",
        "a sequence may have " + format_grouped(d.num_ctx) + " tokens");
  wants("slots", q.workload.concurrency.count(), d.parallel, "count",
        "Ollama serves " + format_integer(d.parallel) + " requests at a time");

  if (d.only > 0) put_on(d.only, a);

  Options effective;
  effective.set("num_ctx", json::Value(d.num_ctx));
  effective.set("num_parallel", json::Value(d.parallel));
  effective.set("num_batch", json::Value(d.batch));
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{"flash_attn", "flash_attention"},
        {"cache_type_k", "kv_cache_type"},
        {"n_gpu_layers", "num_gpu"}}) {
    if (const json::Value* value = a.effective.find(from)) effective.set(to, *value);
  }
  a.effective = std::move(effective);
  a.deciders.clear();
  a.deciders["num_ctx"] = q.workload.sequence_tokens.count() > 0 ? "workload" : "cards";
  if (q.workload.concurrency.count() > 0) a.deciders["num_parallel"] = "workload";
  a.deciders["num_batch"] = a.deciders["num_gpu"] = "cards";
  if (q.detail == Detail::full) a.command = command_of(q, d);
  Notes notes = d.notes;
  notes.append(a.notes);
  a.notes = std::move(notes);
  return a;
}

// llama.cpp's levers in Ollama's words; those that Ollama has no setting for are left out.
std::vector<LeverCandidate> lever_candidates(const Question& q, const Assessment& assessment) {
  const auto server = find_engine("llama.cpp");
  const auto d = decide(q);
  if (!server || !d) return {};
  std::vector<LeverCandidate> out;
  for (LeverCandidate& c : (*server)->levers(child_question(q, *d), assessment)) {
    if (c.id == "n_cpu_moe" || c.id == "n_gpu_layers" || c.id == "parallel") continue;
    std::vector<std::pair<std::string, json::Value>> options;
    for (const auto& [name, value] : c.options) {
      if (name == "ctx_size" && value.is_integer()) {
        const int64_t tokens = value.as_integer() / std::max<int64_t>(1, d->parallel);
        options.emplace_back("num_ctx", json::Value(tokens));
        c.option = "OLLAMA_CONTEXT_LENGTH=" + format_integer(tokens);
        c.changes_workload = q.workload.sequence_tokens.count() > tokens;
        c.workload = q.workload;
        c.workload.sequence_tokens = Tokens(tokens);
      } else if (name == "ubatch_size") {
        options.emplace_back("num_batch", value);
        c.option = "num_batch " + format_integer(value.as_integer());
      } else if (name == "cache_type_k" && value.is_string()) {
        options.emplace_back("kv_cache_type", value);
        options.emplace_back("flash_attention", json::Value("true"));
        c.option = "OLLAMA_KV_CACHE_TYPE=" + value.as_string() + " OLLAMA_FLASH_ATTENTION=1";
      }
    }
    c.options = std::move(options);
    out.push_back(std::move(c));
  }
  return out;
}

class OllamaEngine final : public Engine {
 public:
  std::string_view name() const override { return "ollama"; }
  Result<Assessment> assess(const Question& question) const override {
    return assess_question(question);
  }
  // The questions that are kept are its child's.
  std::unique_ptr<Memo> new_memo() const override {
    const auto server = find_engine("llama.cpp");
    return server ? (*server)->new_memo() : nullptr;
  }
  std::vector<LeverCandidate> levers(const Question& question,
                                     const Assessment& assessment) const override {
    return lever_candidates(question, assessment);
  }
  std::vector<std::string_view> weight_formats() const override {
    return {"BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"};
  }
  std::string_view option_of(Knob knob) const override {
    switch (knob) {
      case Knob::sequence_tokens: return "num_ctx";
      case Knob::concurrency: return "num_parallel";
      case Knob::batch_tokens: return "num_batch";
      case Knob::lora_slots: break;
    }
    return {};
  }
  std::vector<Layout> layouts(const Question&, int devices) const override {
    if (devices < 1) return {};
    if (devices == 1) return {{}};
    return {{"layer split over " + format_integer(devices), {}}};
  }
  bool runs_on(const catalog::Gpu& gpu) const override {
    return gpu.vendor == "nvidia" || gpu.vendor == "amd" || gpu.vendor == "intel" ||
           gpu.vendor == "apple";
  }
};

}  // namespace
}  // namespace ollama

const Engine& engine_ollama();
const Engine& engine_ollama() {
  static const ollama::OllamaEngine engine;
  return engine;
}

}  // namespace vramwise::engines
