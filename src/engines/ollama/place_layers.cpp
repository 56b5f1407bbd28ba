// Releases of Ollama before 0.30: which GPUs, how many slots and how many layers, by its own
// estimate or by layouts. The bytes that then stand on the devices are llama.cpp's; Ollama's own
// engine is taken to need the same graph.
#include <algorithm>
#include <numeric>

#include "base/sort.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/llamacpp/extras.h"
#include "engines/llamacpp/memo.h"
#include "engines/ollama/decide.h"
#include "engines/ollama/graph_size.h"
#include "engines/ollama/layout.h"

namespace vramwise::engines::ollama {
namespace {

constexpr int64_t kMicroBatch = 512;  // llama.cpp's own, where the batch does not set it
constexpr int64_t kCellPadding = 256;

int64_t padded(int64_t tokens) { return (tokens + kCellPadding - 1) / kCellPadding * kCellPadding; }

// The weights of a file by what the estimate calls a layer.
struct FileParts {
  std::vector<int64_t> layers;
  int64_t output = 0, largest = 0;
};

FileParts parts_of(const weights::GgufModel& gguf) {
  FileParts parts;
  parts.layers.assign(size_t(std::max<int64_t>(0, gguf.block_count)), 0);
  int64_t norm = 0, head = 0, embedding = 0;
  for (const weights::GgufTensor& t : gguf.tensors) {
    const int64_t bytes = t.bytes().count();
    if (t.layer >= 0 && size_t(t.layer) < parts.layers.size()) {
      int64_t& layer = parts.layers[size_t(t.layer)];
      layer = saturating_add(layer, bytes);
    } else if (starts_with(t.name, "output_norm.")) {
      norm = saturating_add(norm, bytes);
    } else if (starts_with(t.name, "output.")) {
      head = saturating_add(head, bytes);
    } else if (starts_with(t.name, "token_embd.")) {
      embedding = saturating_add(embedding, bytes);
    }
  }
  parts.output = saturating_add(norm, head > 0 ? head : embedding);
  parts.largest = std::max(head, embedding);
  for (const int64_t bytes : parts.layers) parts.largest = std::max(parts.largest, bytes);
  return parts;
}

// Cache bytes that Ollama's own engine allocates for every layer.
std::vector<int64_t> engine_caches(const model::Model& model, const Decided& d, size_t layers,
                                   int64_t bits) {
  std::vector<int64_t> caches(layers, 0);
  const int64_t all = padded(saturating_multiply(d.num_ctx, d.parallel));
  for (size_t i = 0; i < layers && i < model.layers.size(); ++i) {
    for (const model::Mixer& mixer : model.layers[i].mixers) {
      int64_t values = 0, tokens = all;
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        if (a->shared_with >= 0) continue;
        values = a->kv_heads * (a->key_dim + a->value_dim);
        const int64_t kept =
            d.release.architecture.window > 0 ? d.release.architecture.window : a->window;
        if (a->window > 0 && kept < d.num_ctx) {
          tokens = std::min(all, padded(saturating_multiply(d.parallel, kept) + d.batch));
        }
      } else if (const auto* m = std::get_if<model::LatentBlock>(&mixer)) {
        values = m->kv_lora_rank + m->rope_dim;
      } else if (const auto* r = std::get_if<model::RecurrentBlock>(&mixer)) {
        model::CacheTypes floats;
        floats.conv = floats.recurrent = DType::float32;
        caches[i] = saturating_add(
            caches[i],
            saturating_multiply(d.parallel, model::fixed_bytes(r->state, floats).count()));
        continue;
      }
      caches[i] = saturating_add(
          caches[i], saturating_multiply(tokens, saturating_multiply(values, bits)) / 8);
    }
  }
  return caches;
}

// The tower inside of a file, without what joins it to the text model: matrices in 16 bits.
int64_t tower_bytes(const model::Model& model) {
  int64_t bytes = 0;
  for (const model::Tensor& t : model.tensors) {
    if (t.part != model::Part::vision) continue;
    bytes = saturating_add(bytes, saturating_multiply(t.elements(), t.shape.rank > 1 ? 2 : 4));
  }
  return bytes;
}

class Placer {
 public:
  Placer(const Question& q, const llamacpp::ModelFile& file, Decided& d)
      : q_(q),
        gguf_(file.gguf),
        d_(d),
        parts_(parts_of(file.gguf)),
        latent_files_(file.shape.latent.absorbed) {}

  Result<bool> run(std::optional<bool> flash);

 private:
  const Release& release() const { return d_.release; }
  const ArchitectureRule& rule() const { return d_.release.architecture; }
  bool on_cpu() const { return q_.hardware->devices.empty() || requested_ == 0; }
  int64_t context(int64_t slots) const { return saturating_multiply(d_.num_ctx, slots); }
  int64_t aside() const {
    const bool metal = q_.hardware->backend == Backend::metal;
    return MiB(number(*d_.profile, metal ? "set_aside_metal_mib" : "set_aside_mib")).count();
  }
  GraphSize sizes(int64_t slots) const {
    GraphQuestion g;
    g.context = context(slots);
    g.batch = std::min(d_.batch, g.context);
    g.parallel = slots;
    g.cache_bits = cache_bits_;
    g.flash = flash_;
    return graph_size(shape_, g, release());
  }

  Result<bool> settle_cache(std::optional<bool> flash);
  void settle_tower();
  Estimate estimate(const std::vector<size_t>& devices, int64_t slots) const;
  void place_by_estimate();
  Result<bool> place_by_layout();
  void use(const std::vector<size_t>& devices, int64_t layers, const std::vector<int64_t>& split);
  void set_child(int64_t layers, const std::vector<int64_t>& split);

  const Question& q_;
  const weights::GgufModel& gguf_;
  Decided& d_;
  FileParts parts_;
  bool latent_files_;
  GraphShape shape_;
  int64_t requested_ = -1, cache_bits_ = 16;
  std::string cache_type_ = "f16";
  bool flash_ = false, flash_open_ = false, spread_ = false;
  int64_t tower_weights_ = 0, tower_graph_ = 0;
};

// Cache types other than f16 need flash attention, which needs K and V of one width.
Result<bool> Placer::settle_cache(std::optional<bool> flash) {
  const bool possible =
      shape_.key_dim > 0 && shape_.key_dim == shape_.value_dim && !q_.model->is_encoder_only;
  // llama.cpp's engine may be left to decide; Ollama's own goes by the architecture.
  flash_open_ = !flash && release().flash_auto && !rule().own_engine;
  flash_ = flash.value_or(rule().flash) && possible;
  const std::string asked =
      to_lower(server_text(q_.settings, "kv_cache_type", "OLLAMA_KV_CACHE_TYPE"));
  if (asked.empty() || asked == "f16") return true;
  if (asked != "q8_0" && asked != "q4_0") {
    d_.notes.warn("cache_type_ignored",
                  "This release of Ollama knows the cache types f16, q8_0 "
                  "and q4_0; it keeps f16.");
  } else if (!flash_) {
    d_.notes.warn("cache_type_ignored",
                  "A quantised cache needs OLLAMA_FLASH_ATTENTION=1; Ollama keeps f16.");
  } else if (!rule().quantised_cache) {
    d_.notes.warn("cache_type_ignored",
                  "This release of Ollama keeps an f16 cache for this architecture.");
  } else {
    cache_type_ = asked;
    cache_bits_ = asked == "q8_0" ? 8 : 4;
  }
  return true;
}

void Placer::settle_tower() {
  if (!release().tower_counted) return;
  tower_weights_ = llamacpp::projector_bytes(*q_.model, weights::GgmlType::F16).count();
  if (tower_weights_ == 0 || !rule().own_engine) return;
  tower_graph_ = tower_graph_bytes(*q_.model, rule());
  if (!release().layouts) tower_weights_ = tower_bytes(*q_.model);
}

Estimate Placer::estimate(const std::vector<size_t>& devices, int64_t slots) const {
  // The estimate alone reckons with at least 2,048 tokens where towers may be inside of the file.
  const GraphSize size = sizes(slots);
  EstimateModel m;
  m.layers = parts_.layers;
  m.caches = size.cache;
  m.buffer_layer = release().largest_part_as_buffer ? parts_.largest
                   : parts_.layers.empty()          ? 0
                                                    : parts_.layers.front();
  m.output = parts_.output;
  m.graph_partial = size.partial;
  m.graph_full = size.full;
  const bool inside = rule().own_engine && release().tower_with_output;
  (inside ? m.beside_output : m.first_gpu) = saturating_add(tower_weights_, tower_graph_);
  m.overhead = d_.overhead.count();
  m.requested = requested_;
  std::vector<EstimateGpu> gpus;
  for (const size_t i : devices) {
    gpus.push_back({std::max<int64_t>(0, q_.hardware->devices[i].free().count()), aside()});
  }
  if (devices.empty()) {  // the host stands in for a GPU
    const int64_t ram = q_.hardware->ram.count();
    gpus.push_back({ram > 0 ? ram : kLargestExactInteger, 0});
  }
  return estimate_layers(m, gpus, q_.hardware->backend == Backend::metal, release());
}

void Placer::place_by_estimate() {
  const auto all = int64_t(parts_.layers.size()) + 1;
  std::vector<int64_t> tries = release().slots;
  if (d_.slots_asked) tries = {d_.parallel};
  const auto keep = [&](const std::vector<size_t>& devices, int64_t slots, Estimate e) {
    d_.parallel = slots;
    d_.estimated_cache = sizes(slots).cache_total();
    use(devices, devices.empty() ? 0 : e.layers, e.split);
    d_.estimate = std::move(e);
  };
  if (on_cpu()) return keep({}, tries.front(), estimate({}, tries.front()));
  std::vector<size_t> as_counted(q_.hardware->devices.size());
  std::iota(as_counted.begin(), as_counted.end(), size_t{0});
  std::vector<size_t> by_room = as_counted;
  sort_stable(by_room, [&](size_t a, size_t b) {
    return q_.hardware->devices[a].free() > q_.hardware->devices[b].free();
  });
  const int64_t wanted = requested_ < 0 ? all : requested_;
  const auto fits = [&](const Estimate& e) { return e.layers > 0 && e.layers >= wanted; };
  for (const int64_t slots : tries) {
    if (spread_) break;
    for (const size_t i : by_room) {
      Estimate e = estimate({i}, slots);
      if (!fits(e)) continue;
      if (as_counted.size() > 1) {
        d_.notes.assume("one_gpu", "Ollama's estimate fits one GPU, so it uses one.",
                        "ollama/ollama server/sched.go");
      }
      return keep({i}, slots, std::move(e));
    }
  }
  for (const int64_t slots : tries) {
    Estimate e = estimate(by_room, slots);
    if (fits(e)) return keep(by_room, slots, std::move(e));
  }
  const int64_t slots = d_.slots_asked ? d_.parallel : 1;
  Estimate e = estimate(as_counted, slots);
  if (e.layers == 0) return keep({}, slots, std::move(e));
  keep(as_counted, slots, std::move(e));
}

Result<bool> Placer::place_by_layout() {
  if (!d_.slots_asked) d_.parallel = release().slots.back();
  LayoutQuestion layout;
  layout.requested = requested_;
  layout.spread = spread_;
  const GraphSize size = sizes(d_.parallel);
  const std::vector<int64_t> caches =
      rule().own_engine ? engine_caches(*q_.model, d_, parts_.layers.size(), cache_bits_)
                        : size.cache;
  d_.estimated_cache = 0;
  for (size_t i = 0; i < parts_.layers.size(); ++i) {
    d_.estimated_cache = saturating_add(d_.estimated_cache, caches[i]);
    layout.layers.push_back(saturating_add(parts_.layers[i], caches[i]));
  }
  layout.layers.push_back(saturating_add(parts_.output, rule().own_engine ? tower_weights_ : 0));
  if (on_cpu()) {
    use({}, 0, {});
    return true;
  }
  // llama.cpp's engine keeps a layer's room free, and its projector's on the first GPU.
  const int64_t reserve = rule().own_engine || parts_.layers.empty() ? 0 : layout.layers.front();
  for (size_t i = 0; i < q_.hardware->devices.size(); ++i) {
    const int64_t beside =
        saturating_add(reserve, i == 0 && !rule().own_engine ? tower_weights_ : 0);
    const int64_t free = q_.hardware->devices[i].free().count();
    layout.gpus.push_back({std::max<int64_t>(0, free - beside), aside(), d_.overhead.count()});
  }
  Result<bool> asked = true;
  const auto take = [&](const Layout& l) {
    std::vector<size_t> devices;
    std::vector<int64_t> split;
    for (const int gpu : l.order()) {
      devices.push_back(size_t(gpu));
      split.push_back(std::count(l.gpu_of_layer.begin(), l.gpu_of_layer.end(), gpu));
    }
    use(devices, l.on_gpus(), split);
  };
  if (!rule().own_engine) {
    const bool metal = q_.hardware->backend == Backend::metal;
    take(settle_layout(layout, metal ? size.full : std::max(size.partial, size.full)));
    return true;
  }
  const auto server = find_engine("llama.cpp");
  if (!server) return fail(server.error());
  const auto graphs_of = [&](const Layout& l) {
    std::vector<int64_t> graphs(layout.gpus.size(), 0);
    take(l);
    Question child = child_question(q_, d_);
    child.detail = Detail::verdict;
    const auto answer = (*server)->assess(child);
    if (!answer) {
      asked = fail(answer.error());
      return graphs;
    }
    const int output = l.gpu_of_layer.empty() ? -1 : l.gpu_of_layer.back();
    for (size_t n = 0; n < d_.order.size() && n < answer->buffers->compute.size(); ++n) {
      const auto gpu = size_t(d_.order[n]);
      graphs[gpu] = answer->buffers->compute[n].second.count();
      if (d_.order[n] == output) graphs[gpu] = std::max(graphs[gpu], tower_graph_);
    }
    return graphs;
  };
  const Layout settled = settle_layout(layout, graphs_of);
  if (!asked) return asked;
  take(settled);
  d_.notes.assume("own_engine_graph",
                  "This release runs the model in Ollama's own engine; its graph is taken to need "
                  "what llama.cpp's of that day needs.",
                  "ollama/ollama runner/ollamarunner");
  return true;
}

// Hands devices and layers to the child, in the order in which Ollama names them.
void Placer::use(const std::vector<size_t>& devices, int64_t layers,
                 const std::vector<int64_t>& split) {
  d_.hardware = *q_.hardware;
  d_.hardware.devices.clear();
  d_.order.clear();
  for (const size_t i : devices) {
    d_.hardware.devices.push_back(q_.hardware->devices[i]);
    d_.order.push_back(int(i));
  }
  d_.layers = layers;
  set_child(layers, split);
}

void Placer::set_child(int64_t layers, const std::vector<int64_t>& split) {
  Options& o = d_.child;
  o = Options();
  o.set("ctx_size", json::Value(context(d_.parallel)));
  o.set("parallel", json::Value(d_.parallel));
  o.set("kv_unified", json::Value(rule().own_engine || !release().own_cells));
  o.set("batch_size", json::Value(saturating_multiply(d_.batch, d_.parallel)));
  o.set("ubatch_size",
        json::Value(release().micro_batch_follows || rule().own_engine ? d_.batch : kMicroBatch));
  if (!flash_open_) o.set("flash_attn", json::Value(flash_ ? "on" : "off"));
  o.set("cache_type_k", json::Value(cache_type_));
  o.set("cache_type_v", json::Value(cache_type_));
  if (rule().own_engine) {
    o.set("n_outputs_max", json::Value(d_.parallel));  // one row a slot is reserved
    o.set("op_offload", json::Value(release().own_op_offload));
    // Any override turns pipeline copies off, which this engine does not make.
    o.set("override_tensor", json::Value("no tensor=CPU"));
  } else {
    o.set("swa_full", json::Value(true));  // the library's own default
  }
  o.set("n_gpu_layers", json::Value(layers));
  o.set("fit", json::Value("off"));
  if (split.size() > 1) {
    json::Array shares;
    for (const int64_t n : split) shares.push_back(json::Value(n));
    o.set("tensor_split", json::Value(std::move(shares)));
  }
  if (tower_weights_ > 0) o.set("mmproj", json::Value("the model's own"));
}

Result<bool> Placer::run(std::optional<bool> flash) {
  TRY_ASSIGN(const auto batch, q_.settings.options.integer("num_batch", 1, int64_t{1} << 24));
  d_.batch = std::min(batch.value_or(kMicroBatch), d_.num_ctx);
  TRY_ASSIGN(const auto layers, q_.settings.options.integer("num_gpu", -1, 1 << 20));
  requested_ = layers.value_or(-1);
  spread_ = is_true(server_text(q_.settings, "sched_spread", "OLLAMA_SCHED_SPREAD"));
  shape_ = graph_shape(*q_.model, gguf_, latent_files_);
  if (rule().tokens > 0 && shape_.vocab > rule().tokens) shape_.vocab = rule().tokens;
  d_.all_layers = int64_t(parts_.layers.size()) + 1;
  TRY(settle_cache(flash));
  settle_tower();
  if (release().layouts) {
    TRY(place_by_layout());
  } else {
    place_by_estimate();
  }
  TRY_ASSIGN(const auto mmap, q_.settings.options.boolean("use_mmap"));
  if (mmap && !*mmap) d_.child.set("load_mode", json::Value("none"));
  return true;
}

}  // namespace

Result<bool> place_layers(const Question& q, std::optional<bool> flash, Decided& d) {
  const ArchitectureRule& rule = d.release.architecture;
  if (rule.own_engine && rule.window > 0) {
    auto windowed = std::make_shared<model::Model>(*q.model);
    for (model::Layer& layer : windowed->layers) {
      for (model::Mixer& mixer : layer.mixers) {
        auto* a = std::get_if<model::AttentionBlock>(&mixer);
        if (a != nullptr && a->window > 0) a->window = rule.window;
      }
    }
    d.model = std::move(windowed);
  }
  // The file as the build inside reads it.
  TRY_ASSIGN(const auto profile, catalog::find_shared(catalog::Kind::engine, "llamacpp"));
  TRY_ASSIGN(const llamacpp::Rules rules,
             llamacpp::rules_for(*profile, int(d.release.llama_cpp_build)));
  TRY_ASSIGN(const auto file, llamacpp::model_file_of(child_question(q, d), rules));
  return Placer(q, *file, d).run(flash);
}

}  // namespace vramwise::engines::ollama
