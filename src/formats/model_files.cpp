#include "formats/model_files.h"

#include <algorithm>

#include "base/text.h"
#include "formats/gguf/collection.h"
#include "formats/gguf/reader.h"
#include "formats/header_json.h"
#include "formats/safetensors/safetensors.h"
#include "formats/sniff.h"
#include "json/parse.h"

namespace vramwise::formats {
namespace {

using json::Value;

constexpr int64_t kConfigLimit = int64_t{16} << 20;

class Files {
 public:
  explicit Files(std::span<const ModelFile> files) : files_(files) {}

  ByteSource* find(std::string_view name) const {
    const auto it = std::find_if(files_.begin(), files_.end(),
                                 [&](const ModelFile& f) { return f.name == name; });
    return it == files_.end() ? nullptr : it->source;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const ModelFile& file : files_) names.push_back(file.name);
    return names;
  }
  Result<Value> parse(std::string_view name) const {
    ByteSource* source = find(name);
    TRY_ASSIGN(const int64_t size, source->size());
    if (size > kConfigLimit) {
      return fail(Error(ErrorCode::too_large, source->name() + " has " + format_grouped(size) +
                                                  " bytes, more than any config")
                      .at(source->name()));
    }
    std::string text(size_t(size), '\0');
    TRY(source->read(0, text));
    return json::parse(text, source->name());
  }

 private:
  std::span<const ModelFile> files_;
};

Result<Value> read_gguf_model(const Files& files, const GgufChoice& choice) {
  if (!choice.complete) {
    return fail(Error(ErrorCode::not_found, "the model is split, and " + choice.parts.front() +
                                                " has not all its parts "
                                                "beside it: " +
                                                format_integer(int64_t(choice.parts.size())) +
                                                " are there")
                    .at(choice.parts.front())
                    .hint("every part <name>-0000N-of-0000M.gguf is needed"));
  }
  std::vector<GgufFile> parts;
  for (const std::string& name : choice.parts) {
    TRY_ASSIGN(GgufFile part, read_gguf(*files.find(name)));
    parts.push_back(std::move(part));
  }
  Value model = Value::object();
  if (parts.size() == 1) {
    model.set("header", to_json(parts.front()));
    return model;
  }
  TRY_ASSIGN(const GgufFile whole, join_gguf_parts(std::move(parts)));
  model.set("header", to_json(whole));
  return model;
}

// config.json and what stands beside it.
Result<Value> read_config(const Files& files) {
  Value model = Value::object();
  TRY_ASSIGN(Value config, files.parse("config.json"));
  if (!config.is_object()) {
    return fail(Error(ErrorCode::invalid_input, "config.json must hold an object")
                    .at(files.find("config.json")->name()));
  }
  model.set("config", std::move(config));
  if (files.find("hf_quant_config.json") != nullptr) {
    TRY_ASSIGN(Value quantisation, files.parse("hf_quant_config.json"));
    model.set("quantization_config", std::move(quantisation));
  }
  return model;
}

Result<Value> read_checkpoint(const Files& files, std::vector<std::string> names,
                              const std::string& index_name) {
  std::optional<SafetensorsIndex> index;
  if (!index_name.empty()) {
    TRY_ASSIGN(index, read_safetensors_index(*files.find(index_name)));
    names = index->files;
  }
  std::vector<SafetensorsFile> parts;
  for (const std::string& name : names) {
    ByteSource* source = files.find(name);
    if (source == nullptr) {
      return fail(Error(ErrorCode::not_found, "the index names " + name + ", which is not there")
                      .at(index_name)
                      .hint("fetch the missing file, or give config.json for a plan from the "
                            "config alone"));
    }
    TRY_ASSIGN(const FileKind kind, sniff(*source));
    if (kind != FileKind::safetensors) return fail(not_a_model(kind, source->name()));
    TRY_ASSIGN(SafetensorsFile part, read_safetensors(*source));
    parts.push_back(std::move(part));
  }
  TRY_ASSIGN(const SafetensorsFile whole,
             join_safetensors(std::move(parts), index ? &*index : nullptr));
  Value model = Value::object();
  if (files.find("config.json") != nullptr) {
    TRY_ASSIGN(model, read_config(files));
  }
  model.set("header", to_json(whole, int64_t(names.size())));
  return model;
}

std::vector<std::string> labels_of(const std::vector<GgufChoice>& choices) {
  std::vector<std::string> labels;
  for (const GgufChoice& choice : choices) {
    labels.push_back(choice.label.empty() ? choice.parts.front() : choice.label);
  }
  return labels;
}

Result<Value> read_variant(const Files& files, const std::vector<GgufChoice>& choices,
                           const std::string& variant) {
  const std::string wanted = to_lower(variant);
  for (const GgufChoice& choice : choices) {
    if (to_lower(choice.label) == wanted) return read_gguf_model(files, choice);
  }
  Error error(ErrorCode::not_found, "there is no GGUF file '" + variant.substr(0, 60) + "' here");
  if (!choices.empty()) {
    error.hints.push_back("there are: " + join(labels_of(choices), ", "));
  }
  return fail(std::move(error));
}

// The file that was named; with its siblings where it is a part of something.
Result<Value> read_named(const Files& files, const std::string& name) {
  ByteSource* source = files.find(name);
  if (source == nullptr) {
    const std::vector<std::string> names = files.names();
    Error error(ErrorCode::not_found, "there is no file '" + name.substr(0, 120) + "' here");
    const std::vector<std::string_view> views(names.begin(), names.end());
    for (const std::string& near : nearest_names(name, views)) {
      error.hints.push_back("a file with a similar name exists: " + near);
    }
    return fail(std::move(error));
  }
  TRY_ASSIGN(const FileKind kind, sniff(*source));
  switch (kind) {
    case FileKind::gguf: {
      for (const GgufChoice& choice : gguf_choices(files.names())) {
        if (std::find(choice.parts.begin(), choice.parts.end(), name) != choice.parts.end()) {
          return read_gguf_model(files, choice);
        }
      }
      return read_gguf_model(files, GgufChoice{"", {name}, true});
    }
    case FileKind::safetensors: {
      const CheckpointChoice choice = choose_checkpoint(files.names());
      const bool part =
          std::find(choice.files.begin(), choice.files.end(), name) != choice.files.end();
      if (part && choice.files.size() > 1) {
        return read_checkpoint(files, choice.files, choice.index);
      }
      return read_checkpoint(files, {name}, "");
    }
    case FileKind::json: {
      if (ends_with(name, ".index.json")) return read_checkpoint(files, {}, name);
      if (name == "config.json") return read_config(files);
      TRY_ASSIGN(Value config, files.parse(name));
      Value model = Value::object();
      model.set("config", std::move(config));
      return model;
    }
    default: return fail(not_a_model(kind, source->name()));
  }
}

Result<Value> read_habitual(const Files& files) {
  const std::vector<std::string> names = files.names();
  const CheckpointChoice checkpoint = choose_checkpoint(names);
  const bool has_config = files.find("config.json") != nullptr;
  if (!checkpoint.files.empty() || !checkpoint.index.empty()) {
    return read_checkpoint(files, checkpoint.files, checkpoint.index);
  }
  const std::vector<GgufChoice> choices = gguf_choices(names);
  if (choices.size() == 1) return read_gguf_model(files, choices.front());
  if (!choices.empty()) {
    return fail(Error(ErrorCode::invalid_input, "there are " +
                                                    format_integer(int64_t(choices.size())) +
                                                    " GGUF models here, one must be named")
                    .hint("put ':' and its label behind the name, or give --file")
                    .hint("there are: " + join(labels_of(choices), ", ")));
  }
  if (has_config) return read_config(files);
  return fail(Error(ErrorCode::not_found,
                    "there is no model here: no config.json, safetensors or "
                    "GGUF file"));
}

}  // namespace

Result<Value> read_model_files(std::span<const ModelFile> given, const ModelQuery& query) {
  const Files files(given);
  Value model;
  if (!query.file.empty()) {
    TRY_ASSIGN(model, read_named(files, query.file));
  } else if (!query.variant.empty()) {
    TRY_ASSIGN(model, read_variant(files, gguf_choices(files.names()), query.variant));
  } else {
    TRY_ASSIGN(model, read_habitual(files));
  }
  std::string id = query.id;
  if (id.empty() && !query.file.empty()) id = query.file;
  if (id.empty() && !given.empty()) id = given.front().name;
  model.set("ref", id);
  return model;
}

}  // namespace vramwise::formats
