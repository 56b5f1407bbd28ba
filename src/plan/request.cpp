#include "plan/request.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::plan {
namespace {

constexpr int64_t kMaxDevices = 4096;
constexpr int64_t kMaxBytes = kLargestExactInteger;

void warn_unknown(const json::Reader& object, std::initializer_list<std::string_view> known,
                  std::string_view where, Notes& notes) {
  for (const json::Member& member : object.value().as_object()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    std::string text =
        "field '" + std::string(where) + member.key + "' is not known and was not used";
    const auto near = nearest_names(member.key, std::vector<std::string_view>(known), 1);
    if (!near.empty()) text += "; a similar field exists: " + near[0];
    notes.warn("unknown_field", std::move(text));
  }
}

// `place` is where the object stands that holds "model": empty, or "draft.".
Result<ModelSpec> read_model(const json::Reader& root, const std::string& place, Notes& notes) {
  ModelSpec spec;
  const auto model = root.find("model");
  if (!model) {
    return fail(root.error(ErrorCode::missing_field, "field '" + place + "model' is missing")
                    .hint("give \"model\":{\"ref\":\"Qwen/Qwen3-8B\"} or {\"config\":{…}}"));
  }
  if (!model->is_object()) {
    return fail(model->error(ErrorCode::invalid_input, "'" + place + "model' must be an object")
                    .hint("write \"model\":{\"ref\":\"Qwen/Qwen3-8B\"}"));
  }
  warn_unknown(
      *model,
      {"ref", "config", "quantization_config", "overrides", "path", "header", "assume_family"},
      place + "model.", notes);
  TRY_ASSIGN(const auto ref, model->optional_string({"ref"}));
  TRY_ASSIGN(const auto path, model->optional_string({"path"}));
  TRY_ASSIGN(const auto family, model->optional_string({"assume_family"}));
  spec.ref = ref.value_or("");
  spec.path = path.value_or("");
  spec.assume_family = family.value_or("");
  const auto take_object = [&](std::string_view key, json::Value& out) -> Result<bool> {
    if (const auto member = model->find(key)) {
      if (!member->is_object()) {
        return fail(member->error(ErrorCode::invalid_input,
                                  "'" + place + "model." + std::string(key) + "' is " +
                                      std::string(json::to_string(member->value().kind())) +
                                      ", expected an object"));
      }
      out = member->value();
    }
    return true;
  };
  TRY(take_object("config", spec.config));
  TRY(take_object("quantization_config", spec.quantization_config));
  TRY(take_object("overrides", spec.overrides));
  TRY(take_object("header", spec.header));
  if (model->has("blob") || model->has("files")) {
    return fail(
        model->error(ErrorCode::unsupported, "files are not read through this door")
            .hint("give the model's config.json as \"config\", or a catalog id as \"ref\""));
  }
  if (spec.ref.empty() && spec.config.is_null() && spec.path.empty() && spec.header.is_null()) {
    return fail(model->error(ErrorCode::missing_field, "the model has neither ref nor config")
                    .hint("give \"ref\", \"config\" or \"path\""));
  }
  if (spec.ref.size() > 300) {
    return fail(
        model->error(ErrorCode::too_large, "the model's name is longer than 300 characters"));
  }
  return spec;
}

Result<DraftSpec> read_draft(const json::Reader& root, Notes& notes) {
  DraftSpec draft;
  const auto from = root.find("draft");
  if (!from) return draft;
  if (!from->is_object()) {
    return fail(from->error(ErrorCode::invalid_input, "'draft' must be an object")
                    .hint("write \"draft\":{\"model\":{\"ref\":\"Qwen/Qwen3-0.6B\"}}"));
  }
  warn_unknown(*from, {"model", "weights"}, "draft.", notes);
  draft.given = true;
  TRY_ASSIGN(draft.model, read_model(*from, "draft.", notes));
  TRY_ASSIGN(const auto weights, from->optional_string({"weights"}));
  draft.weights = weights.value_or("");
  return draft;
}

Result<DeviceSpec> read_device(const json::Reader& from) {
  DeviceSpec device;
  TRY_ASSIGN(const auto gpu, from.optional_string({"gpu"}));
  TRY_ASSIGN(const auto total, from.optional_integer({"total_bytes"}, 1, kMaxBytes));
  TRY_ASSIGN(const int64_t used, from.integer_or({"used_bytes"}, 0, 0, kMaxBytes));
  device.gpu = gpu.value_or("");
  if (total) device.total = Bytes(*total);
  device.used = Bytes(used);
  if (device.gpu.empty() && !device.total) {
    return fail(
        from.error(ErrorCode::missing_field, "the hardware has neither gpu nor total_bytes")
            .hint("give \"gpu\":\"h100-sxm\" (ids: vramwise catalog gpus) or \"total_bytes\""));
  }
  return device;
}

Result<HardwareSpec> read_hardware(const json::Reader& root, Notes& notes) {
  HardwareSpec spec;
  const auto hardware = root.find("hardware");
  if (!hardware) {
    return fail(root.error(ErrorCode::missing_field, "field 'hardware' is missing")
                    .hint("give \"hardware\":{\"gpu\":\"h100-sxm\",\"count\":1}"));
  }
  if (!hardware->is_object()) {
    return fail(hardware->error(ErrorCode::invalid_input, "'hardware' must be an object"));
  }
  warn_unknown(*hardware,
               {"gpu", "count", "total_bytes", "used_bytes", "backend", "ram_bytes", "devices"},
               "hardware.", notes);
  TRY_ASSIGN(const auto backend, hardware->optional_string({"backend"}));
  spec.backend = backend.value_or("");
  TRY_ASSIGN(const int64_t ram, hardware->integer_or({"ram_bytes"}, 0, 0, kMaxBytes));
  spec.ram = Bytes(ram);
  if (const auto devices = hardware->find("devices")) {
    TRY_ASSIGN(const auto items, devices->items());
    if (items.empty() || int64_t(items.size()) > kMaxDevices) {
      return fail(devices->error(ErrorCode::invalid_input, "'devices' must list 1 to 4096 cards"));
    }
    for (const json::Reader& item : items) {
      TRY_ASSIGN(DeviceSpec device, read_device(item));
      spec.devices.push_back(std::move(device));
    }
    // Of one kind of card; these are listed one by one.
    for (const std::string_view name : {"gpu", "count", "total_bytes", "used_bytes"}) {
      if (!hardware->has(name)) continue;
      notes.warn("beside_devices",
                 "hardware." + std::string(name) + " is ignored: the cards are listed one by one");
    }
    return spec;
  }
  TRY_ASSIGN(const int64_t count, hardware->integer_or({"count"}, 1, 0, kMaxDevices));
  TRY_ASSIGN(const auto gpu, hardware->optional_string({"gpu"}));
  if (gpu && count == 0 && to_lower(*gpu) != "none") {
    return fail(Error(ErrorCode::invalid_input, "a count of 0 leaves no " + *gpu + " to plan on")
                    .at("hardware.count")
                    .hint("--count 1 or more; without cards: --gpu none"));
  }
  if ((gpu && to_lower(*gpu) == "none") || count == 0) {
    spec.cpu_only = true;
    return spec;
  }
  TRY_ASSIGN(const DeviceSpec device, read_device(*hardware));
  spec.devices.assign(size_t(count), device);
  return spec;
}

Result<engines::Workload> read_workload(const json::Reader& root, Notes& notes) {
  engines::Workload workload;
  const auto from = root.find("workload");
  if (!from) return workload;
  if (!from->is_object()) {
    return fail(from->error(ErrorCode::invalid_input, "'workload' must be an object"));
  }
  warn_unknown(*from,
               {"sequence_tokens", "concurrency", "lengths", "arrivals", "trace", "requests"},
               "workload.", notes);
  TRY_ASSIGN(const auto tokens,
             from->optional_integer({"sequence_tokens"}, 1, kMostSequenceTokens));
  TRY_ASSIGN(const auto concurrency, from->optional_integer({"concurrency"}, 1, kMostConcurrency));
  workload.sequence_tokens = Tokens(tokens.value_or(0));
  workload.concurrency = Sequences(concurrency.value_or(0));
  return workload;
}

Result<bool> read_engine(const json::Reader& root, Request& request) {
  const auto engine = root.find("engine");
  if (!engine) return true;
  if (!engine->is_object()) {
    return fail(engine->error(ErrorCode::invalid_input, "'engine' must be an object")
                    .hint("write \"engine\":{\"name\":\"vllm\"}"));
  }
  warn_unknown(*engine, {"name", "version", "options", "env"}, "engine.", request.notes);
  TRY_ASSIGN(const auto name, engine->optional_string({"name"}));
  if (name) request.engine = *name;
  request.engine_given = name.has_value();
  TRY_ASSIGN(const auto version, engine->optional_string({"version"}));
  TRY_ASSIGN(request.settings.version, engines::Version::parse(version.value_or("")));
  if (const auto options = engine->find("options")) {
    if (!options->is_object()) {
      return fail(options->error(ErrorCode::invalid_input, "'engine.options' must be an object"));
    }
    request.settings.options = engines::Options::from_json(options->value());
  }
  if (const auto env = engine->find("env")) {
    TRY_ASSIGN(const auto members, env->members());
    for (const auto& [key, value] : members) {
      if (!value.value().is_string() && !value.value().is_number() && !value.value().is_boolean()) {
        return fail(value.error(ErrorCode::invalid_input,
                                "environment variable '" + key + "' must be text"));
      }
      request.settings.env[key] =
          value.value().is_string() ? value.value().as_string() : json::dump(value.value());
    }
  }
  return true;
}

}  // namespace

Result<Request> read_request(const json::Reader& root) {
  if (!root.is_object()) {
    return fail(root.error(ErrorCode::invalid_input, "a request must be a JSON object"));
  }
  Request request;
  if (const json::Value* id = root.value().find("id")) request.id = *id;
  TRY_ASSIGN(const int64_t schema, root.integer_or({"schema_version"}, 1));
  if (schema != 1) {
    return fail(root.error(ErrorCode::unsupported, "schema_version " + format_integer(schema) +
                                                       " is not known, this build speaks 1"));
  }
  TRY_ASSIGN(const auto ask, root.optional_string({"ask"}));
  request.ask = ask.value_or("plan");
  warn_unknown(root,
               {"schema_version",
                "id",
                "ask",
                "model",
                "weights",
                "engine",
                "hardware",
                "workload",
                "line",
                "kind",
                "name",
                "of",
                "max_count",
                "include_tight",
                "only",
                "slo",
                "scheduler",
                "step_time",
                "count",
                "seed",
                "price_per_hour",
                "acceptance",
                "replicas",
                "router",
                "electricity",
                "utilisation",
                "detail",
                "a",
                "b",
                "grid",
                "levers",
                "emit",
                "show_options",
                "prices",
                "log",
                "calibration",
                "draft"},
               "", request.notes);
  TRY_ASSIGN(const auto line, root.optional_string({"line"}));
  request.line = line.value_or("");
  if (const auto runs = root.find("calibration")) {
    if (!runs->value().is_array()) {
      return fail(runs->error(ErrorCode::invalid_input, "'calibration' must be a list of runs"));
    }
    request.calibration = runs->value();
  }
  TRY_ASSIGN(const auto weights, root.optional_string({"weights"}));
  request.weights = weights.value_or("");
  TRY(read_engine(root, request));
  TRY_ASSIGN(request.workload, read_workload(root, request.notes));
  TRY_ASSIGN(request.model, read_model(root, "", request.notes));
  TRY_ASSIGN(request.draft, read_draft(root, request.notes));
  TRY_ASSIGN(request.hardware, read_hardware(root, request.notes));
  return request;
}

}  // namespace vramwise::plan
