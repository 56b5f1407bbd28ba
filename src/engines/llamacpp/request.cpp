#include "engines/llamacpp/request.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace vramwise::engines::llamacpp {
namespace {

using weights::GgmlType;

// Bounds of what is accepted: far beyond any machine, near enough that sizes stay in range.
constexpr int64_t kMostContext = int64_t{1} << 31;
constexpr int64_t kMostBatch = int64_t{1} << 24;
constexpr int64_t kMostSlots = int64_t{1} << 16;
constexpr int64_t kMostLayers = int64_t{1} << 20;

constexpr std::array kCacheTypes = {GgmlType::F32,    GgmlType::F16,  GgmlType::BF16,
                                    GgmlType::Q8_0,   GgmlType::Q4_0, GgmlType::Q4_1,
                                    GgmlType::IQ4_NL, GgmlType::Q5_0, GgmlType::Q5_1};

Error bad_option(std::string_view name, std::string message) {
  return Error(ErrorCode::invalid_input, std::move(message))
      .at("engine.options." + std::string(name));
}

Result<GgmlType> cache_type(const Options& options, std::string_view name) {
  TRY_ASSIGN(const auto text, options.string(name));
  if (!text) return GgmlType::F16;
  const auto type = weights::ggml_type_from_name(*text);
  if (type && std::find(kCacheTypes.begin(), kCacheTypes.end(), *type) != kCacheTypes.end()) {
    return *type;
  }
  return fail(bad_option(name, "cache type '" + text->substr(0, 40) + "' is not one of llama.cpp's")
                  .hint("cache types: f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1"));
}

enum class Flash { off, on, automatic };

Result<Flash> flash_mode(const Options& options, const Rules& rules) {
  TRY_ASSIGN(const auto text, options.string("flash_attn"));
  if (!text) return rules.flash_auto ? Flash::automatic : Flash::off;
  const std::string mode = to_lower(*text);
  for (const std::string_view on : {"on", "enabled", "true", "1"}) {
    if (mode == on) return Flash::on;
  }
  for (const std::string_view off : {"off", "disabled", "false", "0"}) {
    if (mode == off) return Flash::off;
  }
  if (mode == "auto" || mode == "-1") return Flash::automatic;
  return fail(bad_option("flash_attn",
                         "flash_attn is '" + text->substr(0, 40) + "', expected on, off or auto"));
}

// -ngl: a number, "auto" or "all".
Result<bool> read_layers(const Options& options, const Rules& rules, Backend backend, Request& r) {
  int64_t& layers = r.placement.n_gpu_layers;
  const json::Value* value = options.find("n_gpu_layers");
  if (value == nullptr) {
    // Before "all" became the default, nothing was offloaded except on Metal.
    layers = rules.all_layers_by_default || backend == Backend::metal ? PlacementSettings::kAll : 0;
    return false;
  }
  if (value->is_string()) {
    const std::string text = to_lower(value->as_string());
    if (text == "auto") return false;
    if (text == "all") return true;
  }
  TRY_ASSIGN(const auto number, options.integer("n_gpu_layers", -2, kMostLayers));
  if (number && *number >= 0) layers = *number;
  return number && *number != -1;
}

Result<int16_t> buffer_index(std::string_view name, const Request& r, Backend backend) {
  const std::string wanted = to_lower(name);
  if (wanted == "cpu" || ends_with(wanted, "_host")) return int16_t(r.devices.size());
  for (size_t i = 0; i < r.devices.size(); ++i) {
    if (to_lower(device_name(backend, r.devices[i])) == wanted) return int16_t(i);
  }
  return fail(
      bad_option("override_tensor", "unknown buffer type '" + std::string(name.substr(0, 40)) + "'")
          .hint("buffers: CPU and the devices of the plan, such as CUDA0"));
}

Result<bool> read_overrides(const Options& options, Backend backend, Request& r) {
  std::vector<std::string> entries;
  if (const json::Value* value = options.find("override_tensor")) {
    if (value->is_array()) {
      for (const json::Value& item : value->as_array()) {
        if (item.is_string()) entries.push_back(item.as_string());
      }
    } else if (value->is_string()) {
      entries.push_back(value->as_string());
    } else {
      return fail(bad_option("override_tensor", "override_tensor is a list of REGEX=BUFFER"));
    }
  }
  for (const std::string& entry : entries) {
    for (const std::string_view part : split(entry, ',')) {
      const size_t equal = part.rfind('=');
      if (equal == std::string_view::npos) {
        return fail(bad_option("override_tensor",
                               "'" + std::string(part.substr(0, 60)) + "' is not REGEX=BUFFER"));
      }
      auto pattern = Pattern::compile(part.substr(0, equal));
      if (!pattern) {
        return fail(std::move(pattern.error()).at("engine.options.override_tensor"));
      }
      TRY_ASSIGN(const int16_t device, buffer_index(part.substr(equal + 1), r, backend));
      r.placement.overrides.push_back({std::move(*pattern), device});
    }
  }
  TRY_ASSIGN(const auto all, options.boolean("cpu_moe"));
  TRY_ASSIGN(const auto some, options.integer("n_cpu_moe", 0, kMostLayers));
  if (all.value_or(false)) {
    r.placement.cpu_moe_layers = -1;
  } else if (some) {
    r.placement.cpu_moe_layers = *some;
  }
  return r.placement.has_overrides();
}

Result<bool> read_devices(const Question& q, Request& r) {
  const Hardware& hardware = *q.hardware;
  const Options& options = q.settings.options;
  const size_t count = hardware.backend == Backend::cpu ? 0 : hardware.devices.size();
  for (size_t i = 0; i < count; ++i) r.devices.push_back(i);
  TRY_ASSIGN(const auto named, options.string("device"));
  if (named) {
    std::vector<size_t> chosen;
    for (const std::string_view part : split(*named, ',')) {
      const std::string name = to_lower(trim(part));
      if (name == "none") continue;
      const auto found = std::find_if(r.devices.begin(), r.devices.end(), [&](size_t i) {
        return to_lower(device_name(hardware.backend, i)) == name;
      });
      if (found == r.devices.end()) {
        return fail(bad_option("device", "unknown device '" + std::string(part.substr(0, 40)) + "'")
                        .hint("devices are named " + device_name(hardware.backend, 0) + " and on"));
      }
      chosen.push_back(*found);
    }
    r.devices = std::move(chosen);
  }
  TRY_ASSIGN(const auto mode, options.string("split_mode"));
  if (mode) {
    const std::string text = to_lower(*mode);
    if (text == "none") {
      r.placement.split = SplitMode::none;
    } else if (text == "layer") {
      r.placement.split = SplitMode::layer;
    } else if (text == "row") {
      r.placement.split = SplitMode::row;
    } else if (text == "tensor") {
      r.placement.split = SplitMode::tensor;
    } else {
      return fail(bad_option("split_mode", "split_mode is '" + mode->substr(0, 40) +
                                               "', expected none, layer, row or tensor"));
    }
  }
  TRY_ASSIGN(const auto main_gpu, options.integer("main_gpu", -1, 1024));
  r.placement.main_gpu = main_gpu.value_or(0);
  if (r.placement.split == SplitMode::none && !r.devices.empty()) {
    // One device only; a negative one means the CPU.
    if (r.placement.main_gpu < 0) {
      r.devices.clear();
    } else if (size_t(r.placement.main_gpu) >= r.devices.size()) {
      return fail(bad_option(
          "main_gpu", "invalid value for main_gpu: " + format_integer(r.placement.main_gpu) +
                          " (available devices: " + format_integer(int64_t(r.devices.size())) +
                          ")"));
    } else {
      r.devices = {r.devices[size_t(r.placement.main_gpu)]};
    }
  }
  TRY_ASSIGN(const auto shares, options.numbers("tensor_split"));
  if (shares) r.placement.tensor_split = *shares;
  const auto positive = [](double x) { return x > 0; };
  if (std::none_of(r.placement.tensor_split.begin(), r.placement.tensor_split.end(), positive)) {
    r.placement.tensor_split.clear();  // all zero: as if not given
  }
  return true;
}

Result<bool> read_context(const Question& q, const Shape& shape, const Rules& rules, Request& r,
                          Notes& notes) {
  const Options& options = q.settings.options;
  ContextSettings& c = r.context;
  const int64_t users = q.workload.concurrency.count();
  const int64_t sequence = q.workload.sequence_tokens.count();

  TRY_ASSIGN(const auto parallel, options.integer("parallel", -1, kMostSlots));
  TRY_ASSIGN(const auto unified, options.boolean("kv_unified"));
  const bool automatic = parallel ? *parallel < 1 : users == 0 && options.has("tool");
  r.slots_given = parallel && *parallel > 0;
  if (r.slots_given) {
    c.sequences = *parallel;
  } else if (automatic && r.is_server() && rules.auto_slots) {
    constexpr int64_t kAutoSlots = 4;  // tools/server: n_parallel = 4, kv_unified = true
    c.sequences = kAutoSlots;
    c.unified = true;
  } else {
    c.sequences = std::max<int64_t>(1, users);
    if (users > 0) {
      notes.assume("slots_from_workload",
                   "One slot for each user, with cells of its own: --parallel " +
                       format_integer(c.sequences));
    }
  }
  if (unified) c.unified = *unified;

  TRY_ASSIGN(const auto ctx, options.integer("ctx_size", 0, kMostContext));
  if (ctx) {
    c.n_ctx = *ctx;
  } else if (q.workload.given()) {
    const int64_t length = sequence > 0 ? sequence : shape.train_ctx;
    c.n_ctx = std::min(kMostContext, saturating_multiply(length, std::max<int64_t>(1, users)));
    notes.assume(
        "context_from_workload",
        "The context holds every user's whole sequence: --ctx-size " + format_integer(c.n_ctx));
  } else {
    c.n_ctx = rules.default_ctx;
  }
  r.ctx_given = c.n_ctx > 0;
  if (c.n_ctx == 0 && shape.train_ctx == 0) {
    return fail(Error(ErrorCode::missing_field, "the model's trained context is not known")
                    .at("engine.options.ctx_size")
                    .hint("give ctx_size, or a workload with sequence_tokens"));
  }

  TRY_ASSIGN(const auto batch, options.integer("batch_size", 1, kMostBatch));
  TRY_ASSIGN(const auto micro, options.integer("ubatch_size", 1, kMostBatch));
  if (batch) c.n_batch = *batch;
  if (micro) c.n_ubatch = *micro;
  TRY_ASSIGN(c.type_k, cache_type(options, "cache_type_k"));
  TRY_ASSIGN(c.type_v, cache_type(options, "cache_type_v"));
  TRY_ASSIGN(const auto full, options.boolean("swa_full"));
  c.swa_full = full.value_or(false);
  TRY_ASSIGN(const auto offload, options.boolean("kv_offload"));
  c.kv_offload = offload.value_or(true);

  TRY_ASSIGN(const Flash flash, flash_mode(options, rules));
  c.flash = flash == Flash::on;
  if (flash == Flash::automatic) {
    c.flash = r.devices.empty() || has_flash_kernel(shape, q.hardware->backend);
    // A quantised V cache needs it, and asks for it.
    if (is_quantized(c.type_v)) c.flash = true;
  }
  return true;
}

// One way of drafting, or several in a list.
std::string drafting_types(const Options& options) {
  std::string types;
  const json::Value* given = options.find("spec_type");
  if (given != nullptr && given->is_array()) {
    for (const json::Value& type : given->as_array()) types += type.as_string() + ",";
  } else if (given != nullptr && given->is_string()) {
    types = given->as_string();
  }
  return types == "none" ? std::string() : types;
}

// File or repository of the drafter.
std::string drafter_of(const Options& options) {
  for (const std::string_view name : {"spec_draft_model", "spec_draft_hf"}) {
    const json::Value* given = options.find(name);
    if (given != nullptr && given->is_string() && !given->as_string().empty()) {
      return given->as_string();
    }
  }
  return {};
}

}  // namespace

bool drafts_with_own_head(const Options& options) {
  return contains(drafting_types(options), "draft-mtp") && drafter_of(options).empty();
}

namespace {

Result<bool> read_drafting(const Question& q, Request& r) {
  const Options& options = q.settings.options;
  const std::string types = drafting_types(options), drafter = drafter_of(options);
  TRY_ASSIGN(const auto tokens, options.integer("spec_draft_n_max", 0, 1024));
  TRY_ASSIGN(const auto old_tokens, options.integer("draft_max", 0, 1024));
  TRY_ASSIGN(const auto snapshots, options.integer("n_rs_seq", 0, 1024));
  // A drafter alone is drafting enough: draft-simple.
  const bool drafts = !types.empty() || !drafter.empty() || q.draft.given();
  if (drafts) {
    r.draft_head = contains(types, "draft-mtp");
    r.placement.draft_head = drafts_with_own_head(options) && !q.draft.given();
    r.head_kind = head_kind(types, drafter);
    r.draft_model = q.draft.given() || r.head_kind != HeadKind::none || !drafter.empty() ||
                    contains(types, "draft-simple");
    constexpr int64_t kDefaultDraft = 3;  // common/common.h, speculative n_max
    r.draft_tokens = tokens ? *tokens : old_tokens ? *old_tokens : kDefaultDraft;
  }
  r.context.rollback = snapshots ? *snapshots : r.draft_tokens;
  TRY_ASSIGN(r.draft_type_k, cache_type(options, "spec_draft_type_k"));
  TRY_ASSIGN(r.draft_type_v, cache_type(options, "spec_draft_type_v"));
  return true;
}

Result<bool> read_fit(const Options& options, const Rules& rules, Request& r) {
  TRY_ASSIGN(const auto fit, options.string("fit"));
  r.fit = rules.fits_by_default;
  if (fit) r.fit = *fit != "off" && *fit != "false" && *fit != "0";
  TRY_ASSIGN(const auto smallest, options.integer("fit_ctx", 1, kMostContext));
  if (smallest) r.fit_ctx = *smallest;
  TRY_ASSIGN(const auto margins, options.numbers("fit_target"));
  for (size_t i = 0; i < std::max<size_t>(1, r.devices.size()); ++i) {
    double mib = 1024;  // common/common.h, fit_params_target
    if (margins && !margins->empty()) mib = (*margins)[std::min(i, margins->size() - 1)];
    r.fit_margin.push_back(MiB(int64_t(std::clamp(mib, 0.0, 1e9))));
  }
  return true;
}

}  // namespace

std::string draft_named(const Options& options) {
  const std::string types = drafting_types(options), drafter = drafter_of(options);
  if (contains(types, "draft-mtp") || head_kind(types, drafter) != HeadKind::none) return {};
  return drafter;
}

bool has_flash_kernel(const Shape& shape, Backend backend) {
  if (backend != Backend::cuda && backend != Backend::rocm) return true;
  // Source: ggml/src/ggml-cuda/fattn.cu, ggml_cuda_get_best_fattn_kernel.
  struct Pair {
    int64_t k, v;
  };
  static constexpr Pair kHeads[] = {{40, 40},   {64, 64},   {72, 72},   {80, 80},
                                    {96, 96},   {112, 112}, {128, 128}, {256, 256},
                                    {192, 128}, {320, 256}, {512, 512}, {576, 512}};
  return std::all_of(shape.layers.begin(), shape.layers.end(), [](const LayerShape& l) {
    if (l.heads == 0) return true;
    return std::any_of(std::begin(kHeads), std::end(kHeads),
                       [&](const Pair& p) { return p.k == l.key_dim && p.v == l.value_dim; });
  });
}

std::string device_name(Backend backend, size_t index) {
  std::string_view prefix = "CUDA";
  switch (backend) {
    case Backend::cuda: break;
    case Backend::rocm: prefix = "ROCm"; break;
    case Backend::vulkan: prefix = "Vulkan"; break;
    case Backend::metal: prefix = "MTL"; break;
    case Backend::sycl: prefix = "SYCL"; break;
    case Backend::rpc: prefix = "RPC"; break;
    case Backend::cpu: return "CPU";
  }
  return std::string(prefix) + format_integer(int64_t(index));
}

Result<Request> read_request(const Question& q, const Shape& shape, const Rules& rules,
                             Notes& notes) {
  const Options& options = q.settings.options;
  Request r;
  TRY_ASSIGN(const auto tool, options.string("tool"));
  if (tool) {
    // "compose llama-server" says how it was started too; `llama serve` is the same server.
    const std::string_view name = std::string_view(*tool).substr(tool->rfind(' ') + 1);
    r.tool = name == "serve" ? "llama-server" : std::string(name);
  }
  TRY(read_devices(q, r));
  TRY(read_context(q, shape, rules, r, notes));
  TRY(read_drafting(q, r));
  TRY_ASSIGN(const bool layers, read_layers(options, rules, q.hardware->backend, r));
  TRY_ASSIGN(const bool overrides, read_overrides(options, q.hardware->backend, r));
  r.layers_given = layers || overrides || !r.placement.tensor_split.empty() ||
                   r.placement.split == SplitMode::row || r.placement.split == SplitMode::tensor;
  TRY(read_fit(options, rules, r));
  TRY_ASSIGN(const auto pull, options.boolean("op_offload"));
  r.op_offload = pull.value_or(true);
  TRY_ASSIGN(const auto repack, options.boolean("repack"));
  r.placement.repack = repack.value_or(true);
  TRY_ASSIGN(const auto mmap, options.boolean("mmap"));
  TRY_ASSIGN(const auto load, options.string("load_mode"));
  r.placement.mmap = mmap.value_or(true) && (!load || contains(*load, "mmap") || *load == "auto");

  r.context.mtp_caches = rules.drafting_layers_cached;

  // Logit rows: the server asks for one a slot and draft token, other tools for all.
  TRY_ASSIGN(const auto rows, options.integer("n_outputs_max", 0, kMostBatch));
  TRY_ASSIGN(const auto embedding, options.boolean("embedding"));
  r.rows_given = rows.has_value();
  if (rows) {
    r.context.output_rows = *rows;
  } else if (rules.rows_follow_tool && r.is_server()) {
    r.context.output_rows = embedding.value_or(false) || shape.encoder
                                ? r.context.n_batch
                                : r.context.sequences * (1 + r.draft_tokens);
  }
  return r;
}

}  // namespace vramwise::engines::llamacpp
