#include "model/wrapped.h"

#include "base/text.h"
#include "model/dispatch.h"

namespace vramwise::model {
namespace {

bool says(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && !value->is_null();
}

// The config that the language model's own rule reads.
json::Value language_config(const json::Reader& config, const Wrapped& family) {
  const auto inner = config.find({"text_config", "llm_config", "language_config"});
  const bool nested = inner && inner->is_object();
  json::Value language = nested ? inner->value() : config.value();
  if (!nested) {
    // The keys stand at the top, beside those of the towers.
    language.set("model_type", family.language);
    for (const std::string_view tower : {"vision_config", "audio_config"}) {
      language.set(tower, json::Value());
    }
  } else if (!says(language, "model_type")) {
    language.set("model_type", family.language);
  }
  for (const Fields::Default& absent : family.defaults) {
    if (!says(language, absent.key)) language.set(absent.key, absent.value);
  }
  if (const auto tied = config.find({"tie_word_embeddings"})) {
    language.set("tie_word_embeddings", tied->value());
  } else if (family.tied && !says(language, "tie_word_embeddings")) {
    language.set("tie_word_embeddings", *family.tied);
  }
  return language;
}

void rename(std::vector<Tensor>& tensors, const Wrapped& family) {
  constexpr std::string_view kStem = "model.";
  for (Tensor& tensor : tensors) {
    if (starts_with(tensor.name, kStem)) {
      tensor.name.replace(0, kStem.size(), family.stem);
    } else {
      tensor.name.insert(0, family.head);
    }
  }
}

}  // namespace

Result<Model> build_wrapped(const json::Reader& config, const Wrapped& family) {
  const Fields top(config);
  const json::Value language = language_config(config, family);
  const json::Reader text(language, config.where().source);
  TRY_ASSIGN(Model built, build_by_type(text));
  rename(built.tensors, family);
  Builder b(top, Fields(text), {});
  b.adopt(std::move(built), "");
  if (family.towers != nullptr) family.towers(b, top);
  if (top.failed()) return fail(*top.fault());
  return b.finish();
}

Fields section_of(const Fields& top, std::string_view key, Absent absent) {
  if (const auto section = top.section({key})) return *section;
  if (absent == Absent::fault) {
    top.fail(top.reader().error(ErrorCode::missing_field,
                                "field '" + std::string(key) + "' is missing"));
    return top;
  }
  static const json::Value kEmpty = json::Value::object();
  return Fields(json::Reader(kEmpty, top.reader().where().source));
}

const Wrapped& wrapped_row(std::span<const Wrapped> rows, const json::Reader& config) {
  const std::string type = Fields(config).text_or({"model_type"}, "");
  const Wrapped* best = &rows.front();
  size_t length = 0;
  for (const Wrapped& row : rows) {
    if (row.type.size() < length || !starts_with(type, row.type)) continue;
    best = &row;
    length = row.type.size();
  }
  return *best;
}

}  // namespace vramwise::model
