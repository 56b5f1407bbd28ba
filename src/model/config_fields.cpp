#include "model/config_fields.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::model {

Fields Fields::nested(Keys keys) const {
  const auto inner = reader_.find(keys);
  return inner && inner->is_object() ? Fields(*inner, state_) : *this;
}

std::optional<Fields> Fields::section(Keys keys) const {
  const auto inner = reader_.find(keys);
  if (!inner) return std::nullopt;
  if (!inner->is_object()) {
    fail(inner->error(ErrorCode::invalid_input,
                      "'" + std::string(*keys.begin()) + "' is not an object"));
    return std::nullopt;
  }
  return Fields(*inner, state_);
}

Fields Fields::with_defaults(std::initializer_list<Default> defaults) const {
  Fields fields = *this;
  fields.defaults_.assign(defaults);
  return fields;
}

std::optional<int64_t> Fields::class_default(Keys keys) const {
  for (const std::string_view key : keys) {
    for (const Default& entry : defaults_) {
      if (entry.key == key) return entry.value;
    }
  }
  return std::nullopt;
}

bool Fields::says_null(std::string_view key) const {
  const json::Value* value = reader_.value().find(key);
  return value != nullptr && value->is_null();
}

int64_t Fields::required(Keys keys, int64_t min, int64_t max) const {
  auto value = reader_.require_integer(keys, min, max);
  if (value) return *value;
  Error error = std::move(value.error());
  if (error.code == ErrorCode::missing_field) {
    if (const auto known = class_default(keys)) return *known;
    error.hints.push_back("take the config.json of the model's own repository, or add '" +
                          std::string(*keys.begin()) + "'");
  }
  fail(std::move(error));
  return min;
}

int64_t Fields::number(Keys keys, int64_t fallback, int64_t min, int64_t max) const {
  auto value = reader_.optional_integer(keys, min, max);
  if (value) return *value ? **value : class_default(keys).value_or(fallback);
  fail(std::move(value.error()));
  return fallback;
}

bool Fields::flag(Keys keys, bool fallback) const {
  auto value = reader_.boolean_or(keys, fallback);
  if (value) return *value;
  fail(std::move(value.error()));
  return fallback;
}

double Fields::real(Keys keys, double fallback, double min, double max) const {
  auto value = reader_.optional_number(keys, min, max);
  if (value) return value->value_or(fallback);
  fail(std::move(value.error()));
  return fallback;
}

std::string Fields::text_or(Keys keys, std::string_view fallback) const {
  auto value = reader_.optional_string(keys);
  if (value) return value->value_or(std::string(fallback));
  fail(std::move(value.error()));
  return std::string(fallback);
}

std::vector<int64_t> Fields::any_integers(Keys keys, int64_t max) const {
  std::vector<int64_t> values;
  const auto list = reader_.find(keys);
  if (!list) return values;
  auto items = list->items();
  if (!items) {
    fail(std::move(items.error()));
    return values;
  }
  values.reserve(items->size());
  for (const json::Reader& item : *items) {
    auto value = item.integer(0, max);
    if (!value) {
      fail(std::move(value.error()));
      return {};
    }
    values.push_back(*value);
  }
  return values;
}

namespace {

// Lists with an entry a layer: longer is fine (MTP layers), shorter is not.
template <class T>
bool fits_layers(const Fields& fields, Keys keys, std::vector<T>& values, int64_t layers) {
  if (values.empty() || fields.failed()) return false;
  if (int64_t(values.size()) < layers) {
    const auto list = fields.reader().find(keys);
    fields.fail(list->error(ErrorCode::inconsistent, "'" + std::string(*keys.begin()) + "' has " +
                                                         format_integer(int64_t(values.size())) +
                                                         " entries for " + format_integer(layers) +
                                                         " layers"));
    return false;
  }
  values.resize(size_t(layers));
  return true;
}

}  // namespace

std::vector<int64_t> Fields::integers(Keys keys, int64_t layers, int64_t max) const {
  std::vector<int64_t> values = any_integers(keys, max);
  return fits_layers(*this, keys, values, layers) ? values : std::vector<int64_t>();
}

std::vector<std::string> Fields::names(Keys keys, int64_t layers) const {
  std::vector<std::string> values;
  const auto list = reader_.find(keys);
  if (!list) return values;
  auto items = list->items();
  if (!items) {
    fail(std::move(items.error()));
    return values;
  }
  for (const json::Reader& item : *items) {
    auto value = item.string();
    if (!value) {
      fail(std::move(value.error()));
      return {};
    }
    values.push_back(std::move(*value));
  }
  return fits_layers(*this, keys, values, layers) ? values : std::vector<std::string>();
}

std::vector<int64_t> Fields::per_layer(Keys keys, int64_t layers, int64_t fallback,
                                       int64_t max) const {
  const auto value = reader_.find(keys);
  if (value && value->value().is_array()) {
    std::vector<int64_t> list = integers(keys, layers, max);
    if (!list.empty()) return list;
    return std::vector<int64_t>(size_t(layers), fallback);
  }
  return std::vector<int64_t>(size_t(layers), number(keys, fallback, 0, max));
}

int64_t Fields::divide(int64_t a, std::string_view a_name, int64_t b,
                       std::string_view b_name) const {
  if (b > 0 && a % b == 0) return a / b;
  const auto place = reader_.find(b_name);
  fail((place ? *place : reader_)
           .error(ErrorCode::inconsistent, std::string(a_name) + " " + format_integer(a) +
                                               " does not divide by " + std::string(b_name) + " " +
                                               format_integer(b)));
  return 1;
}

void Fields::fail(Error error) const {
  if (!state_->fault) state_->fault = std::move(error);
}

Heads read_heads(const Fields& text, HeadDefaults defaults) {
  Heads heads;
  heads.hidden = text.extent({"hidden_size", "n_embd", "d_model", "n_embed"});
  heads.query = text.small({"num_attention_heads", "n_head", "n_heads"});
  heads.kv = text.divisor_or({"num_key_value_heads", "num_kv_heads", "n_head_kv",
                              "multi_query_group_num", "num_attention_groups"},
                             defaults.kv_heads > 0 ? defaults.kv_heads : heads.query);
  heads.dim = text.small_or({"head_dim", "kv_channels", "attention_head_dim"}, defaults.head_dim);
  if (heads.dim == 0) {
    heads.dim = text.divide(heads.hidden, "hidden_size", heads.query, "num_attention_heads");
  }
  text.divide(heads.query, "num_attention_heads", heads.kv, "num_key_value_heads");
  return heads;
}

std::vector<std::string> layer_types(const Fields& text, int64_t layers, int64_t every,
                                     std::string_view rare, std::string_view usual) {
  std::vector<std::string> types = text.names({"layer_types", "layers_block_type"}, layers);
  if (!types.empty()) return types;
  types.assign(size_t(layers), std::string(usual));
  for (int64_t i = every - 1; every > 0 && i < layers; i += every) types[size_t(i)] = rare;
  return types;
}

bool read_tied(const Fields& top, const Fields& text, bool fallback) {
  return top.flag({"tie_word_embeddings"}, text.flag({"tie_word_embeddings"}, fallback));
}

DType read_dtype(const Fields& top, const Fields& text) {
  for (const Fields& place : {text, top}) {
    const std::string name = place.text_or({"dtype", "torch_dtype"}, "");
    if (name.empty() || name == "auto") continue;
    if (const auto type = dtype_from_name(name)) {
      if (*type == DType::float32) {
        top.notes().assume("float32_checkpoint",
                           "the checkpoint is stored in float32; engines load it in 16 bits unless "
                           "told otherwise, and its cache is counted so",
                           "vllm config/model.py, _resolve_auto_dtype");
      }
      return *type;
    }
    place.fail(place.reader()
                   .find({"dtype", "torch_dtype"})
                   ->error(ErrorCode::unsupported, "'" + name + "' is no known element type")
                   .hint("bfloat16, float16 and float32 are known"));
    return DType::bfloat16;
  }
  top.notes().assume("dtype_default", "the config names no dtype; bfloat16 is assumed",
                     "config.json key dtype or torch_dtype");
  return DType::bfloat16;
}

std::optional<DType> demanded_dtype(const Fields& text, Keys keys) {
  const std::string name = text.text_or(keys, "");
  if (name.empty() || name == "auto") return std::nullopt;
  const auto type = dtype_from_name(name);
  if (!type) {
    text.fail(text.reader().find(keys)->error(ErrorCode::unsupported,
                                              "'" + name + "' is no known element type"));
  }
  return type;
}

json::Value read_quantization(const Fields& top, const Fields& text) {
  for (const Fields& place : {top, text}) {
    // compression_config is the name that compressed-tensors used at first.
    if (const auto found = place.reader().find({"quantization_config", "compression_config"})) {
      json::Value config = found->value();
      // DeepSeek-V4 says beside its quantisation that the experts are stored in fp4.
      const json::Value* experts = top.reader().value().find("expert_dtype");
      if (experts && config.is_object()) config.set("expert_dtype", *experts);
      return config;
    }
  }
  // Earlier MLX checkpoints say it under this name alone.
  const auto mlx = top.reader().find({"quantization"});
  if (mlx && mlx->is_object() && mlx->has("bits") && mlx->has("group_size")) return mlx->value();
  return {};
}

}  // namespace vramwise::model
