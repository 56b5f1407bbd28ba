#include "engines/llamacpp/extras.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "engines/llamacpp/caches.h"

namespace vramwise::engines::llamacpp {
namespace {

using weights::GgmlType;

constexpr int64_t kFloat = 4;

int64_t number(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_integer() ? value->as_integer() : 0;
}

bool of_projector(const model::Tensor& t) {
  return t.part == model::Part::vision || t.part == model::Part::audio ||
         t.part == model::Part::projector;
}

bool is_set(const Options& options, std::string_view name) {
  const json::Value* value = options.find(name);
  return value != nullptr && (!value->is_string() || !value->as_string().empty());
}

// The type in a file's name ("mmproj-model-Q8_0.gguf"); converters write F16 where nothing is said.
GgmlType type_in_name(const Options& options) {
  for (const std::string_view option : {"mmproj", "mmproj_url"}) {
    const json::Value* value = options.find(option);
    if (value == nullptr || !value->is_string()) continue;
    const std::string name = to_lower(value->as_string());
    if (contains(name, "bf16")) return GgmlType::BF16;
    if (contains(name, "f32")) return GgmlType::F32;
    if (contains(name, "q8_0")) return GgmlType::Q8_0;
  }
  return GgmlType::F16;
}

// The graph of one image: the residual, a norm and the feed-forward's width for every patch, and
// the patches and positions themselves; feature levels for the decoder are kept besides.
// Measured: 223.30 MiB for 1472 x 1472 pixels of Qwen3.5-4B (ggml-org/llama.cpp#22673) and 322.49
// of Qwen3-VL-4B (#17300) come out to the printed digit; without flash attention every head keeps
// its scores of all patches besides, 4728 MiB there and 1132 of Gemma 3
// (gpustack/gguf-parser-go#44).
// A gated feed-forward keeps gate and up beside their product: Gemma 4 31B's weights and graph of
// 256 tokens are printed as 1300.79 MiB together, 1.3 % more than this.
Bytes compute_bytes(const model::VisionTower& tower, bool gated, int64_t patch_floats,
                    int64_t tokens, int64_t heads_with_scores) {
  constexpr int64_t kPositions = 4;
  const int64_t patches = saturating_multiply(tokens, tower.patches_per_token);
  const int64_t levels = saturating_multiply(tower.deepstack_layers, tower.hidden_size);
  const int64_t floats =
      saturating_add(2 * tower.hidden_size + (gated ? 3 : 1) * tower.ffn_size + levels,
                     patch_floats + kPositions + saturating_multiply(patches, heads_with_scores));
  return Bytes(saturating_multiply(kFloat, saturating_multiply(patches, floats)));
}

// Colours of one patch: what the first layer reads.
int64_t patch_floats(const model::Model& model) {
  constexpr int64_t kUsual = 3 * 14 * 14;
  for (const model::Tensor& t : model.tensors) {
    if (!of_projector(t) || !contains(t.name, "patch")) continue;
    if (t.shape.rank != 4) continue;
    const int64_t frames = t.shape[1] % 6 == 0 ? 2 : 1;  // two frames of a video in one tensor
    return t.shape[1] / frames * t.shape[2] * t.shape[3];
  }
  return kUsual;
}

bool takes_any_size(const model::Model& model) {
  return model.vision && model.vision->max_item_tokens > 0;
}

bool has_gates(const model::Model& model) {
  return std::any_of(model.tensors.begin(), model.tensors.end(), [](const model::Tensor& t) {
    return t.part == model::Part::vision && contains(t.name, "gate_proj");
  });
}

// The largest square of tokens up to a limit: images are warmed up square.
int64_t square_of(int64_t limit) {
  int64_t side = 0;
  while ((side + 1) * (side + 1) <= std::min<int64_t>(limit, int64_t{1} << 20)) ++side;
  return side * side;
}

// The tower's widths where the family states no tower: from its first layer, its feed-forwards and
// its table of positions, one for each patch of the only size it takes.
std::optional<model::VisionTower> tower_of(const model::Model& model) {
  if (takes_any_size(model)) return model.vision;
  model::VisionTower tower;
  tower.patches_per_token = 1;
  for (const model::Tensor& t : model.tensors) {
    if (t.part != model::Part::vision) continue;
    if (t.shape.rank == 4 && contains(t.name, "patch")) tower.hidden_size = t.shape[0];
    if (t.shape.rank != 2) continue;
    if (contains(t.name, "position_embedding")) tower.max_item_tokens = t.shape[0];
    if (contains(t.name, "mlp.") || contains(t.name, "feed_forward.")) {
      tower.ffn_size = std::max({tower.ffn_size, t.shape[0], t.shape[1]});
    }
  }
  if (tower.hidden_size == 0 || tower.ffn_size == 0 || tower.max_item_tokens == 0) return {};
  return tower;
}

Result<bool> add_projector(const Question& q, const json::Value& profile, const Request& request,
                           Extras& extras, Notes& notes) {
  const Options& options = q.settings.options;
  TRY_ASSIGN(const auto automatic, options.boolean("mmproj_auto"));
  const bool named = is_set(options, "mmproj") || is_set(options, "mmproj_url");
  const bool has_tower =
      std::any_of(q.model->tensors.begin(), q.model->tensors.end(), of_projector);
  // A repository brings its projector along.
  const bool brought = is_set(options, "hf_repo") && automatic.value_or(true) && has_tower;
  if (!named && !brought) return false;
  if (!has_tower) {
    notes.warn("projector_unknown",
               "the projector (--mmproj) is not counted: this model's shape comes without its "
               "vision tower; name the model by its Hugging Face id or config");
    return false;
  }
  TRY_ASSIGN(const auto offload, options.boolean("mmproj_offload"));
  const bool on_gpu = offload.value_or(true) && !request.devices.empty();
  Extras::Part& part = on_gpu ? extras.parts.front() : extras.parts.back();
  const GgmlType type = type_in_name(options);
  const Bytes weights = projector_bytes(*q.model, type);
  // Which vectors and embeddings stay in 32 bits differs a little between converters.
  part.projector = {weights * 995 / 1000, weights, weights * 1005 / 1000};
  const std::optional<model::VisionTower> found = tower_of(*q.model);
  if (!found) {
    notes.warn(
        "projector_graph_unknown",
        "the projector's compute buffer is not counted: the size of its images is not known");
  } else {
    const json::Value* limits = profile.find("projector");
    const int64_t warm = limits == nullptr ? 0 : number(*limits, "warmup_tokens");
    const int64_t most = limits == nullptr ? 0 : number(*limits, "largest_tokens");
    const model::VisionTower& tower = *found;
    const bool fixed = !takes_any_size(*q.model);
    const int64_t colours = patch_floats(*q.model);
    // The towers of the families that llama.cpp reads have 16 heads.
    const int64_t scores =
        request.context.flash || limits == nullptr ? 0 : number(*limits, "heads");
    const bool gated = has_gates(*q.model);
    // A video is a row of images, so that the limit is an image's where one is stated.
    const int64_t largest =
        tower.image_tokens > 0 ? square_of(tower.image_tokens) : tower.max_item_tokens;
    const auto of = [&](int64_t tokens) {
      return compute_bytes(tower, gated, colours,
                           fixed ? tower.max_item_tokens : std::min(tokens, largest), scores);
    };
    const Bytes likely = of(warm);
    part.projector_compute = {likely / 2, likely, std::max(of(most), likely * 3 / 2)};
  }
  notes.assume("projector_from_config",
               "The projector is counted from the model's vision tower in " +
                   std::string(weights::info(type).name) + ": " + format_bytes(weights) +
                   (on_gpu ? " on the first GPU" : " on the host") +
                   ", and room for one image of the size the server warms up with.",
               "ggml-org/llama.cpp tools/mtmd/clip.cpp");
  return true;
}

// Adapters: two thin matrices for every matrix they adapt, beside its weights.
void add_adapters(const Question& q, const Budget& budget, Extras& extras, Notes& notes) {
  constexpr int64_t kLow = 8, kLikely = 16, kHigh = 64;  // ranks of published adapters
  constexpr int64_t kHalf = 2;
  int64_t adapters = 0;
  for (const std::string_view option : {"lora", "lora_scaled"}) {
    const json::Value* value = q.settings.options.find(option);
    if (value == nullptr) continue;
    if (value->is_array()) {
      adapters += int64_t(value->as_array().size());
    } else if (value->is_string() && !value->as_string().empty()) {
      adapters += int64_t(split(value->as_string(), ',').size());
    }
  }
  if (adapters == 0) return;
  std::vector<int64_t> sides(extras.parts.size(), 0);  // rows and columns of adapted matrices
  for (const model::Tensor& t : q.model->tensors) {
    if (t.part != model::Part::text || t.layer < 0 || t.shape.rank != 2 || t.copies != 1) continue;
    const auto layer = size_t(t.layer);
    if (layer >= budget.placement.layer_device.size()) continue;
    const auto device = size_t(budget.placement.layer_device[layer]);
    if (device < sides.size()) sides[device] += t.shape[0] + t.shape[1];
  }
  for (size_t d = 0; d < sides.size(); ++d) {
    const int64_t one = saturating_multiply(saturating_multiply(sides[d], kHalf), adapters);
    extras.parts[d].adapters = {Bytes(saturating_multiply(one, kLow) / 4),
                                Bytes(saturating_multiply(one, kLikely)),
                                Bytes(saturating_multiply(one, kHigh) * 2)};
  }
  notes.assume("adapter_rank",
               "An adapter's size is that of its file; it is taken as rank 16 over every matrix of "
               "the layers, in 16 bits.",
               "ggml-org/llama.cpp src/llama-adapter.cpp");
}

// Since the server saves prompts of slots that it gives to others, up to a limit.
Result<bool> add_growth(const Question& q, const Shape& shape, const Rules& rules,
                        const json::Value& profile, const Request& request, const Budget& budget,
                        Extras& extras) {
  if (!request.is_server() || shape.encoder) return false;
  const Options& options = q.settings.options;
  const json::Value* server = profile.find("server");
  if (server == nullptr) return false;
  const auto since = [&](std::string_view key) {
    return rules.build == 0 || rules.build >= number(*server, key);
  };
  constexpr int64_t kMostMib = int64_t{1} << 30;
  TRY_ASSIGN(const auto mib, options.integer("cache_ram", -1, kMostMib));
  if (since("prompt_cache_since")) {
    const int64_t limit = mib.value_or(number(*server, "prompt_cache_mib"));
    // Without a limit it may take all the memory there is.
    extras.prompt_cache = limit < 0 ? q.hardware->ram : MiB(limit);
  }
  TRY_ASSIGN(const auto asked, options.integer("ctx_checkpoints", 0, 1 << 20));
  int64_t count = 0;
  if (const json::Value* defaults = server->find("checkpoints");
      defaults != nullptr && defaults->is_array()) {
    for (const json::Value& entry : defaults->as_array()) {
      if (rules.build == 0 || rules.build >= number(entry, "since")) count = number(entry, "count");
    }
  }
  if (asked) count = *asked;
  if (count == 0 || !(shape.has_sliding() || shape.has_state())) return true;
  // One sequence: the cells of its windows, and its states.
  int64_t one = 0;
  const ContextSize& size = budget.size;
  const int64_t cells = std::min(size.sliding_cells, std::max<int64_t>(1, shape.window));
  for (size_t d = 0; d < budget.model.size(); ++d) {
    const int64_t all = saturating_multiply(size.sliding_cells, size.streams);
    if (all > 0) one = saturating_add(one, budget.sliding[d] / all * cells);
    one = saturating_add(one, budget.recurrent[d] / std::max<int64_t>(1, size.sequences));
  }
  extras.checkpoint_count = saturating_multiply(count, size.sequences);
  extras.checkpoints = Bytes(saturating_multiply(one, extras.checkpoint_count));
  return true;
}

}  // namespace

Bytes projector_bytes(const model::Model& model, GgmlType type) {
  Bytes sum;
  for (const model::Tensor& t : model.tensors) {
    if (!of_projector(t)) continue;
    // The first layer and the positions stay in 32 bits. Measured: 800.43 MiB of Qwen3-VL-4B
    // (ggml-org/llama.cpp#17300) to the printed digit.
    const bool wide = t.shape.rank != 2 || contains(t.name, "pos_embed") ||
                      contains(t.name, "position_embedding");
    GgmlType stored = wide ? GgmlType::F32 : type;
    const int64_t row = t.shape.rank > 0 ? t.shape[t.shape.rank - 1] : 1;
    if (!wide && row % weights::info(stored).block_elements != 0) stored = GgmlType::F16;
    if (wide) {
      sum += Bytes(saturating_multiply(kFloat, t.elements()));
    } else {
      sum += weights::row_bytes(weights::info(stored), row) * (t.elements() / row);
    }
  }
  return sum;
}

Result<Extras> extras_of(const Question& q, const Shape& shape, const Rules& rules,
                         const json::Value& profile, const Request& request, const Budget& budget,
                         Notes& notes) {
  Extras extras;
  extras.parts.resize(request.devices.size() + 1);
  TRY(add_projector(q, profile, request, extras, notes));
  add_adapters(q, budget, extras, notes);
  TRY(add_growth(q, shape, rules, profile, request, budget, extras));
  return extras;
}

}  // namespace vramwise::engines::llamacpp
