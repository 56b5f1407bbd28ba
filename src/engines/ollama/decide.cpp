#include "engines/ollama/decide.h"
#include "engines/known_versions.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/llamacpp/extras.h"
#include "engines/unknown_options.h"

namespace vramwise::engines::ollama {

int64_t number(const json::Value& object, std::string_view key, int64_t fallback) {
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

namespace {

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
  } else if (d.release.context_variable && standard && *standard > 0) {
    d.num_ctx = *standard;
  } else if (d.release.context > 0) {
    d.num_ctx = d.release.context;
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
  const ArchitectureRule& rule = d.release.architecture;
  if (rule.smallest_context > 0) {
    Bytes vram;
    for (const Device& device : q.hardware->devices) vram += device.total;
    if (vram >= GiB(rule.smallest_context_gib)) {
      d.num_ctx = std::max(d.num_ctx, rule.smallest_context);
    }
  }
  if (q.model->max_positions > 0) d.num_ctx = std::min(d.num_ctx, q.model->max_positions);
  d.num_ctx = std::max(d.num_ctx, number(*d.profile, "smallest_context"));
  if (q.model->vision) {
    d.num_ctx = std::max(d.num_ctx, number(*d.profile, "smallest_vision_context"));
  }

  TRY_ASSIGN(const auto slots,
             server_integer(q.settings, "num_parallel", "OLLAMA_NUM_PARALLEL", 65536));
  const int64_t users = q.workload.concurrency.count();
  d.slots_asked = (slots && *slots > 0) || users > 0;
  d.parallel = slots && *slots > 0 ? *slots : std::max<int64_t>(1, users);
  const bool single = rule.one_request || q.model->is_encoder_only;
  if (single) d.slots_asked = true;
  if (single && d.parallel > 1) {
    d.parallel = 1;
    d.notes.warn("one_request",
                 "Ollama serves this architecture one request at a time, whatever "
                 "OLLAMA_NUM_PARALLEL says.");
  }
  return true;
}

// Why the child keeps the projector on the host; empty: it does not.
// Source: ollama/ollama llm/llama_server.go (shouldDisableMMProjOffload), pull requests 16866 and
// 16996.
std::string_view why_on_host(const Decided& d, std::optional<int64_t> layers, int64_t all_layers,
                             Bytes needed) {
  if (d.hardware.devices.empty()) return "there is no GPU";
  if (layers && *layers >= 0 && *layers < all_layers) return "num_gpu leaves text layers there";
  for (const Device& card : d.hardware.devices) {
    if (!d.release.projector_padded && card.gpu.unified_memory &&
        d.hardware.backend != Backend::metal) {
      return "this release offloads none to a GPU that shares the host's memory";
    }
    if (card.free() < needed) return "a GPU has too little memory free";
  }
  return {};
}

// The child loads the tower of a model that has one at its start, from the model's file or beside
// it. Its margin is then the projector's size and as much as its buffers may take.
// Source: ollama/ollama llm/llama_server.go (appendMMProjArgs, extraEnvsForStart).
Result<bool> settle_projector(const Question& q, std::optional<int64_t> layers, Decided& d) {
  const Bytes projector = llamacpp::projector_bytes(*q.model, weights::GgmlType::F16);
  if (projector == Bytes()) return true;
  const json::Value* rule = d.profile->find("projector");
  if (rule == nullptr) return fail(ErrorCode::internal, "the profile of Ollama has no projector");
  const Bytes padded = projector + MiB(number(*rule, "headroom_mib"));
  const Bytes needed =
      d.release.projector_by_size ? padded : GiB(number(*rule, "small_card_gib")) + Bytes(1);
  const int64_t text_layers =
      q.weights->is_gguf() ? q.weights->gguf->block_count : int64_t(q.model->layers.size());
  Options& o = d.child;
  o.set("mmproj", json::Value("the model's own"));
  const std::string_view why = why_on_host(d, layers, text_layers + 1, needed);
  if (!why.empty()) {
    o.set("mmproj_offload", json::Value(false));
    d.notes.assume("projector_on_host",
                   "Ollama keeps the vision projector on the host: " + std::string(why) + ".",
                   "ollama/ollama llm/llama_server.go");
  } else if (d.release.projector_padded && !o.has("fit_target")) {
    o.set("fit_target", json::Value(ceil_div(padded.count(), MiB(1).count())));
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
  d.order = {int(freest - d.hardware.devices.begin())};
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

}  // namespace

Result<Decided> decide(const Question& q) {
  Decided d;
  TRY_ASSIGN(d.profile, catalog::find_shared(catalog::Kind::engine, "ollama"));
  const bool new_estimates =
      is_true(server_text(q.settings, "new_estimates", "OLLAMA_NEW_ESTIMATES"));
  const bool new_engine = is_true(server_text(q.settings, "new_engine", "OLLAMA_NEW_ENGINE"));
  // A build of llama.cpp names no release of Ollama.
  const Version& asked = q.settings.version;
  if (asked.build != 0) {
    d.notes.warn("build_of_llamacpp", "'" + asked.text +
                                          "' is a build of llama.cpp, not a release of Ollama; the "
                                          "newest release was taken");
  }
  TRY_ASSIGN(d.release, release_for(*d.profile, asked.build != 0 ? Version() : asked, *q.model,
                                    new_estimates, new_engine));
  if (!d.release.known) {
    d.notes.warn("older_ollama", "Ollama before 0.1.33 is answered as 0.1.33.");
  }
  if (q.detail == Detail::full) {
    TRY(warn_of_options(q.settings.options, "ollama", "Ollama", d.notes));
    warn_of_variables(q.settings.env, "ollama", "Ollama", d.notes);
    if (asked.build == 0) TRY(note_version(asked, "ollama", d.notes));
  }
  TRY(settle_context(q, d));
  const std::string flash = server_text(q.settings, "flash_attention", "OLLAMA_FLASH_ATTENTION");
  if (!d.release.child_server) {
    TRY(place_layers(q, flash.empty() ? std::nullopt : std::optional<bool>(is_true(flash)), d));
    return d;
  }
  const weights::GgufModel* gguf = q.weights->is_gguf() ? &*q.weights->gguf : nullptr;
  d.predicted = predicted_bytes(q, gguf, saturating_multiply(d.num_ctx, d.parallel));
  choose_devices(q, d);
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
        {"LLAMA_ARG_FIT_TARGET", "fit_target"},
        {"LLAMA_ARG_CACHE_RAM", "cache_ram"},
        {"LLAMA_ARG_CTX_CHECKPOINTS", "ctx_checkpoints"}}) {
    const auto found = q.settings.env.find(variable);
    if (found != q.settings.env.end()) o.set(option, json::Value(found->second));
  }
  TRY(settle_projector(q, layers, d));
  return d;
}

Question child_question(const Question& q, const Decided& d) {
  Question child = q;
  child.hardware = &d.hardware;
  child.settings.options = d.child;
  // What llama-server saves on the host, Ollama's own runners do not.
  if (!d.release.child_server) {
    child.settings.options.set("cache_ram", json::Value(0));
    child.settings.options.set("ctx_checkpoints", json::Value(0));
  }
  child.settings.env.clear();
  child.settings.version = Version();
  child.settings.version.build = int(d.release.llama_cpp_build);
  child.settings.version.given = child.settings.version.build > 0;
  child.settings.version.text = "b" + format_integer(child.settings.version.build);
  child.workload = Workload();
  if (d.model) child.model = d.model.get();
  return child;
}

}  // namespace vramwise::engines::ollama
