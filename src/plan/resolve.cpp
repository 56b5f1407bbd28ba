#include "plan/resolve.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/gpu.h"
#include "catalog/model_ref.h"
#include "engines/config_changes.h"
#include "formats/header_json.h"
#include "model/from_config.h"
#include "model/from_gguf.h"
#include "model/from_safetensors.h"
#include "plan/cards.h"
#include "plan/draft.h"
#include "weights/from_files.h"

namespace vramwise::plan {
namespace {

// A bare size is taken at its word; only the catalog's inferred totals carry a bar.
Result<engines::Device> resolve_device(const DeviceSpec& spec) {
  engines::Device device;
  if (spec.gpu.empty()) {
    device.gpu.id = "custom";
    device.gpu.name = "card of " + format_bytes(*spec.total);
    device.gpu.total = *spec.total;
  } else {
    auto gpu = catalog::find_gpu(spec.gpu);
    if (!gpu) return fail(std::move(gpu.error()).at("hardware.gpu"));
    device.gpu = std::move(*gpu);
  }
  device.total = spec.total.value_or(device.gpu.total);
  device.total_uncertainty = spec.total ? Bytes() : device.gpu.total_uncertainty;
  device.used = spec.used;
  if (device.used > device.total) {
    return fail(Error(ErrorCode::inconsistent, "used memory (" + format_bytes(device.used) +
                                                   ") is more than the card's " +
                                                   format_bytes(device.total))
                    .at("hardware.used_bytes"));
  }
  return device;
}

Result<engines::Backend> backend_from_name(std::string_view name) {
  for (const engines::Backend backend :
       {engines::Backend::cuda, engines::Backend::rocm, engines::Backend::vulkan,
        engines::Backend::metal, engines::Backend::sycl, engines::Backend::rpc,
        engines::Backend::cpu}) {
    if (to_string(backend) == name) return backend;
  }
  return fail(
      Error(ErrorCode::not_found, "unknown backend '" + std::string(name.substr(0, 60)) + "'")
          .at("hardware.backend")
          .hint("backends: cuda, rocm, vulkan, metal, sycl, rpc, cpu"));
}

// Replaces shape keys where the config has them: in text_config when that is where they stand.
// A key that the config lacks is set all the same, as a family may read it, and said.
Result<bool> apply_overrides(json::Value& config, const json::Value& overrides, Notes& notes) {
  for (const json::Member& member : overrides.as_object()) {
    if (member.value.is_object() || member.value.is_array()) {
      return fail(
          Error(ErrorCode::invalid_input, "override '" + member.key + "' must be a single value")
              .at("model.overrides." + member.key));
    }
    json::Value* text = config.find("text_config");
    const bool nested = text != nullptr && text->is_object() && config.find(member.key) == nullptr;
    json::Value& target = nested ? *text : config;
    if (target.find(member.key) == nullptr) {
      std::vector<std::string_view> keys;
      for (const json::Member& known : target.as_object()) keys.push_back(known.key);
      std::string note = "the config has no '" + member.key +
                         "'; the override changes something only if this family reads that key";
      const auto near = nearest_names(member.key, keys, 1);
      if (!near.empty()) note += "; a similar key exists: " + near.front();
      notes.warn("override_of_no_key", std::move(note));
    }
    target.set(member.key, member.value);
  }
  return true;
}

}  // namespace

engines::Question Resolved::question(engines::Detail detail) const {
  engines::Question question;
  question.model = model.get();
  question.weights = weights.get();
  question.draft = {draft_model.get(), draft_weights.get()};
  question.hardware = &hardware;
  question.settings = settings;
  question.workload = workload;
  question.detail = detail;
  question.memo = memo.get();
  return question;
}

void Resolved::set_weights(weights::Weights changed) {
  weights = std::make_shared<const weights::Weights>(std::move(changed));
  memo = engine->new_memo();
}

Result<engines::Hardware> resolve_hardware(const HardwareSpec& spec) {
  engines::Hardware hardware;
  hardware.ram = spec.ram;
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    // Equal cards are looked up once.
    if (i > 0 && spec.devices[i].gpu == spec.devices[i - 1].gpu &&
        spec.devices[i].total == spec.devices[i - 1].total &&
        spec.devices[i].used == spec.devices[i - 1].used) {
      hardware.devices.push_back(hardware.devices.back());
      continue;
    }
    TRY_ASSIGN(engines::Device device, resolve_device(spec.devices[i]));
    hardware.devices.push_back(std::move(device));
  }
  hardware.backend =
      hardware.is_cpu_only() ? engines::Backend::cpu : usual_backend(hardware.devices.front().gpu);
  if (!spec.backend.empty()) {
    TRY_ASSIGN(hardware.backend, backend_from_name(to_lower(spec.backend)));
    for (const engines::Device& device : hardware.devices) {
      if (has_backend(device.gpu, hardware.backend)) continue;
      return fail(Error(ErrorCode::inconsistent, device.gpu.id + " has no backend '" +
                                                     std::string(to_string(hardware.backend)) + "'")
                      .at("hardware.backend")
                      .hint("its own: " + std::string(to_string(usual_backend(device.gpu)))));
    }
  }
  return hardware;
}

Result<std::shared_ptr<const model::Model>> resolve_model(const ModelSpec& spec,
                                                          std::string& weights_of_ref,
                                                          Notes& notes) {
  if (formats::header_format(spec.header) == "gguf") {
    TRY_ASSIGN(const formats::GgufFile file,
               formats::gguf_from_json(json::Reader(spec.header, "model.header")));
    TRY_ASSIGN(model::Model model, model::from_gguf(file, spec.ref.empty() ? file.name : spec.ref));
    return std::make_shared<const model::Model>(std::move(model));
  }
  json::Value config = spec.config;
  std::string id = spec.ref;
  std::string source = "model.config";
  if (config.is_null() && !spec.path.empty()) {
    return fail(
        Error(ErrorCode::unsupported, "a path is read by the command line, not through this door")
            .at("model.path")
            .hint("give the file's config.json as model.config"));
  }
  if (config.is_null()) {
    auto found = catalog::resolve_model(spec.ref);
    if (!found) return fail(std::move(found.error()).at("model.ref"));
    catalog::ModelRef ref = std::move(*found);
    config = std::move(ref.config);
    source = "catalog entry " + ref.id;
    // A short alias stands for the repository; a repository's own name is kept as given.
    if (!contains(id, "/")) id = ref.id;
    weights_of_ref = ref.weights;
    if (!ref.quantization_config.is_null()) {
      config.set("quantization_config", std::move(ref.quantization_config));
    }
    notes.append(ref.notes);
  }
  if (!spec.quantization_config.is_null()) {
    config.set("quantization_config", spec.quantization_config);
  }
  if (spec.changes.is_object()) engines::apply_config_changes(config, spec.changes);
  TRY(apply_overrides(config, spec.overrides, notes));
  if (id.empty()) {
    const json::Value* name = config.find("_name_or_path");
    id = name != nullptr && name->is_string() && !name->as_string().empty() ? name->as_string()
                                                                            : "config.json";
  }
  TRY_ASSIGN(model::Model model,
             model::from_config(json::Reader(config, source), id, spec.assume_family));
  return std::make_shared<const model::Model>(std::move(model));
}

namespace {

// A checkpoint's own tensors beside what its config leads to.
Result<ResolvedModel> resolve_checkpoint(const ModelSpec& spec, std::string_view format,
                                         Notes& notes) {
  TRY_ASSIGN(const formats::SafetensorsFile files,
             formats::safetensors_from_json(json::Reader(spec.header, "model.header")));
  if (spec.config.is_null()) {
    return fail(Error(ErrorCode::missing_field,
                      "the weights have no config.json beside them, which says what they are")
                    .at(files.name)
                    .hint("put the model's config.json into the same folder"));
  }
  std::string unused;
  auto known = resolve_model(spec, unused, notes);
  if (known) {
    TRY_ASSIGN(weights::Weights weights, weights::choose_weights(**known, format));
    if (format.empty()) {
      weights = weights::from_safetensors_files(files, **known, std::move(weights));
    }
    return ResolvedModel{std::move(*known),
                         std::make_shared<const weights::Weights>(std::move(weights))};
  }
  if (known.error().code != ErrorCode::unsupported) return fail(std::move(known.error()));
  TRY_ASSIGN(model::Model model,
             model::from_safetensors(files, json::Reader(spec.config, "config.json"), spec.ref));
  weights::Weights weights = weights::stored_as_is(files, model);
  return ResolvedModel{std::make_shared<const model::Model>(std::move(model)),
                       std::make_shared<const weights::Weights>(std::move(weights))};
}

Result<ResolvedModel> resolve_gguf(const ModelSpec& spec, std::string_view format) {
  TRY_ASSIGN(const formats::GgufFile file,
             formats::gguf_from_json(json::Reader(spec.header, "model.header")));
  TRY_ASSIGN(model::Model model, model::from_gguf(file, spec.ref.empty() ? file.name : spec.ref));
  weights::Weights weights = weights::from_gguf_file(file, model);
  if (!format.empty() && to_lower(format) != to_lower(weights.format)) {
    return fail(Error(ErrorCode::inconsistent, "the file is " + weights.format + ", asked is " +
                                                   std::string(format.substr(0, 40)))
                    .at("weights")
                    .hint("leave the format out, or give the model's config instead of the file"));
  }
  return ResolvedModel{std::make_shared<const model::Model>(std::move(model)),
                       std::make_shared<const weights::Weights>(std::move(weights))};
}

// 16 bits have the same name in every kind of file.
bool loads_gguf_only(const engines::Engine& engine) {
  const std::vector<std::string_view> formats = engine.weight_formats();
  return std::all_of(formats.begin(), formats.end(), weights::is_gguf_file_type);
}

// Whoever does not name an engine for a GGUF file means one that loads such files.
const engines::Engine* engine_for_gguf() {
  for (const engines::EngineFactory factory : engines::engine_factories()) {
    if (loads_gguf_only(factory())) return &factory();
  }
  return nullptr;
}

}  // namespace

Result<ResolvedModel> resolve_weights(const ModelSpec& spec, std::string_view format,
                                      Notes& notes) {
  const std::string_view header = formats::header_format(spec.header);
  if (header == "gguf") {
    if (spec.overrides.is_object() && !spec.overrides.as_object().empty()) {
      notes.warn("overrides_unused",
                 "the GGUF file's own header says what the model is; the overrides are not used");
    }
    return resolve_gguf(spec, format);
  }
  if (header == "safetensors") return resolve_checkpoint(spec, format, notes);
  if (!spec.header.is_null()) {
    return fail(Error(ErrorCode::unsupported, "the header's format is not known")
                    .at("model.header.format")
                    .hint("gguf and safetensors are"));
  }
  std::string own;
  ResolvedModel resolved;
  TRY_ASSIGN(resolved.model, resolve_model(spec, own, notes));
  TRY_ASSIGN(weights::Weights weights,
             weights::choose_weights(*resolved.model, format.empty() ? own : format));
  resolved.weights = std::make_shared<const weights::Weights>(std::move(weights));
  return resolved;
}

namespace {

// An engine with a library of its own means that library's file by a name without an owner: such a
// name says nothing of 16 bits. Empty where the request or the model says how it is stored.
Result<std::string> library_format(const Request& request, Resolved& resolved) {
  const ModelSpec& spec = request.model;
  if (!request.weights.empty() || spec.ref.empty() || !spec.config.is_null() ||
      !spec.header.is_null() || spec.ref.find('/') != std::string::npos) {
    return std::string();
  }
  const auto profile = catalog::find_shared(catalog::Kind::engine, resolved.engine->name());
  const json::Value* library = profile ? (*profile)->find("library") : nullptr;
  if (library == nullptr) return std::string();
  std::string own;
  Notes unused;
  TRY_ASSIGN(const auto model, resolve_model(spec, own, unused));
  if (!own.empty() || !model->quantization_config.is_null()) return std::string();
  const std::string weights = library->find("weights")->as_string();
  resolved.notes.assume("ollama_file", "\"" + spec.ref + "\" is taken as the usual file of " +
                                           library->find("name")->as_string() + ", " + weights);
  return weights;
}

// A format of checkpoints says nothing of a GGUF file: what is planned is the file that the
// converter makes, in 16 bits. MXFP4 it keeps.
Result<bool> settle_gguf(const Request& request, Resolved& resolved) {
  const std::string asked = resolved.weights->format;
  if (request.weights.empty() || !loads_gguf_only(*resolved.engine) ||
      resolved.weights->is_gguf() || resolved.weights->from_files || asked == "bf16" ||
      asked == "fp16" || asked == "fp32" || asked == "mxfp4") {
    return true;
  }
  TRY_ASSIGN(weights::Weights plain, weights::choose_weights(*resolved.model, "bf16"));
  resolved.weights = std::make_shared<const weights::Weights>(std::move(plain));
  resolved.notes.warn("weights_not_gguf",
                      std::string(resolved.engine->name()) + " loads GGUF files only, and " +
                          asked + " is none: this plans a conversion to 16 bits; name a mixture " +
                          "in its place, such as Q4_K_M for 4 bits or Q8_0 for 8",
                      "ggml-org/llama.cpp convert_hf_to_gguf.py");
  return true;
}

// The engine starts what the command names: a repository in another format than the one planned for
// needs another name there. Commands of engines that load GGUF files name the file.
Result<bool> note_repository(const Request& request, Resolved& resolved) {
  if (request.weights.empty() || request.model.ref.empty() || !request.model.header.is_null() ||
      loads_gguf_only(*resolved.engine)) {
    return true;
  }
  std::string own;
  Notes unused;
  TRY_ASSIGN(const auto model, resolve_model(request.model, own, unused));
  const auto stored = weights::choose_weights(*model, own);
  if (!stored || stored->format == resolved.weights->format) return true;
  std::string text = "the weights are planned in " + resolved.weights->format + ", and " +
                     model->id + " itself holds " + stored->format +
                     ": name a repository in that format in its place";
  // Lookup is case-insensitive; what is shown is the repository's own spelling.
  const std::string listed = model->id + "-" + resolved.weights->format;
  for (const std::string_view id : catalog::ids(catalog::Kind::model)) {
    if (to_lower(id) == to_lower(listed)) text += ", such as " + std::string(id);
  }
  if (resolved.weights->format == "fp8") {
    text += ", or quantise this one while it loads (vLLM's and SGLang's --quantization fp8)";
  }
  resolved.notes.assume("weights_repository", text);
  return true;
}

}  // namespace

Result<Resolved> resolve(const Request& request) {
  Resolved resolved;
  resolved.notes = request.notes;
  resolved.settings = request.settings;
  resolved.workload = request.workload;
  TRY_ASSIGN(resolved.engine, engines::find_engine(request.engine));
  TRY_ASSIGN(resolved.hardware, resolve_hardware(request.hardware));
  TRY_ASSIGN(json::Value changes, resolved.engine->config_changes(request.settings.options));
  std::optional<ModelSpec> changed;
  if (!changes.is_null()) {
    changed = request.model;
    changed->changes = std::move(changes);
  }
  TRY_ASSIGN(const std::string library, library_format(request, resolved));
  TRY_ASSIGN(ResolvedModel model,
             resolve_weights(changed ? *changed : request.model,
                             library.empty() ? request.weights : library, resolved.notes));
  resolved.model = std::move(model.model);
  resolved.weights = std::move(model.weights);
  if (!request.model.header.is_null()) {
    if (resolved.model->layers.empty()) {
      return fail(Error(ErrorCode::unsupported, "the file holds no language model to plan for")
                      .at(resolved.model->id)
                      .hint("`vramwise inspect` lists its tensors"));
    }
    if (!request.engine_given && resolved.weights->is_gguf()) {
      if (const engines::Engine* engine = engine_for_gguf()) resolved.engine = engine;
    }
  }
  TRY(settle_gguf(request, resolved));
  TRY(note_repository(request, resolved));
  TRY(resolve_draft(request, resolved));
  resolved.memo = resolved.engine->new_memo();
  return resolved;
}

}  // namespace vramwise::plan
