// Reading a Hugging Face config the way the model classes read it: aliases of keys, null as absent,
// nested text_config, class defaults.
//
// A fault sticks: the first one is kept, and whatever is read after it answers a harmless small
// number, so that a family's rule reads straight through and the builder reports once at the end.
// Callers: the rules in model/archs/ and model/towers/.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "json/reader.h"
#include "model/model.h"

namespace vramwise::model {

// Bounds of what a config may say. Products of a width, a head count and a layer count stay inside
// 64 bits; shapes multiply with saturation anyway.
inline constexpr int64_t kMaxLayers = 10'000;
inline constexpr int64_t kMaxExperts = 100'000;
inline constexpr int64_t kMaxExtent = int64_t{1} << 32;  // widths, vocabularies, positions
inline constexpr int64_t kMaxSmall = int64_t{1} << 20;   // heads, head widths, kernels, image sides

using Keys = std::initializer_list<std::string_view>;

class Fields {
 public:
  explicit Fields(const json::Reader& config)
      : reader_(config), state_(std::make_shared<State>()) {}

  // The object under the first key that is there; this one itself when none is (v4 configs keep the
  // text model's keys at the top).
  Fields nested(Keys keys) const;
  // The text model's keys: text_config, llm_config or language_config.
  Fields text() const { return nested({"text_config", "llm_config", "language_config"}); }
  // The object under the first key that is there.
  std::optional<Fields> section(Keys keys) const;

  // The same object with class defaults for keys that are absent (null included).
  struct Default {
    std::string_view key;
    int64_t value;
  };
  Fields with_defaults(std::initializer_list<Default> defaults) const;

  bool has(Keys keys) const { return reader_.find(keys).has_value(); }
  // The key is there and says null: some classes tell that from an absent key.
  bool says_null(std::string_view key) const;
  const json::Reader& reader() const { return reader_; }

  // Must be there and positive.
  int64_t extent(Keys keys) const { return required(keys, 1, kMaxExtent); }
  int64_t small(Keys keys) const { return required(keys, 1, kMaxSmall); }
  int64_t layers(Keys keys = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}) const {
    return required(keys, 1, kMaxLayers);
  }
  int64_t required(Keys keys, int64_t min, int64_t max) const;

  // May be absent or null. 0 is accepted: it says "none" for many of them.
  int64_t extent_or(Keys keys, int64_t fallback) const {
    return number(keys, fallback, 0, kMaxExtent);
  }
  int64_t small_or(Keys keys, int64_t fallback) const {
    return number(keys, fallback, 0, kMaxSmall);
  }
  // Positive when there: what divides something.
  int64_t divisor_or(Keys keys, int64_t fallback) const {
    return number(keys, fallback, 1, kMaxSmall);
  }
  int64_t experts_or(Keys keys, int64_t fallback) const {
    return number(keys, fallback, 0, kMaxExperts);
  }
  int64_t number(Keys keys, int64_t fallback, int64_t min, int64_t max) const;

  bool flag(Keys keys, bool fallback) const;
  double real(Keys keys, double fallback, double min, double max) const;
  std::string text_or(Keys keys, std::string_view fallback) const;

  // A list with one entry a layer (longer lists hold MTP layers: the rest is left out), or empty
  // when the key is absent. Shorter than `layers` is an inconsistency.
  std::vector<std::string> names(Keys keys, int64_t layers) const;
  std::vector<int64_t> integers(Keys keys, int64_t layers, int64_t max = kMaxExtent) const;
  // A list of any length, of whole numbers below `max`.
  std::vector<int64_t> any_integers(Keys keys, int64_t max = kMaxExtent) const;
  // One number for all layers, or a list with one each.
  std::vector<int64_t> per_layer(Keys keys, int64_t layers, int64_t fallback,
                                 int64_t max = kMaxExtent) const;

  // a / b where it has to come out even; else an inconsistency that names both.
  int64_t divide(int64_t a, std::string_view a_name, int64_t b, std::string_view b_name) const;

  void fail(Error error) const;
  bool failed() const { return state_->fault.has_value(); }
  const std::optional<Error>& fault() const { return state_->fault; }
  Notes& notes() const { return state_->notes; }

 private:
  struct State {
    std::optional<Error> fault;
    Notes notes;
  };
  Fields(json::Reader reader, std::shared_ptr<State> state)
      : reader_(std::move(reader)), state_(std::move(state)) {}

  // The class default under the first of `keys` that has one.
  std::optional<int64_t> class_default(Keys keys) const;

  json::Reader reader_;
  std::shared_ptr<State> state_;
  std::vector<Default> defaults_;
};

// Heads of an attention. A default of 0 stands for "as the query heads" and "hidden / heads".
struct HeadDefaults {
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};
struct Heads {
  int64_t hidden = 1, query = 1, kv = 1, dim = 1;
};
Heads read_heads(const Fields& text, HeadDefaults defaults = {});

// "full_attention", "sliding_attention", … for each layer: the key layer_types (or its older name
// layers_block_type), else `every`-th layer is `rare` and the others are `usual` (0: all usual).
std::vector<std::string> layer_types(const Fields& text, int64_t layers, int64_t every,
                                     std::string_view rare = "full_attention",
                                     std::string_view usual = "sliding_attention");

// tie_word_embeddings: the outer value, else the inner one, else the class default.
bool read_tied(const Fields& top, const Fields& text, bool fallback);

// The type of the weights: dtype or torch_dtype, outer or inner. Absent: bfloat16, as assumption.
DType read_dtype(const Fields& top, const Fields& text);
// A type that a key demands ("mamba_ssm_dtype"); empty when absent or "auto".
std::optional<DType> demanded_dtype(const Fields& text, Keys keys);

// quantization_config wherever the config keeps it; null when there is none.
json::Value read_quantization(const Fields& top, const Fields& text);

}  // namespace vramwise::model
