// Changes worth trying, in order of what they cost.
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/text.h"
#include "catalog/gpu.h"
#include "engines/lever_list.h"
#include "engines/llamacpp/capacity.h"
#include "engines/llamacpp/graph/families.h"
#include "engines/llamacpp/plan_state.h"
#include "weights/file_types.h"
#include "weights/mixtures.h"

namespace vramwise::engines::llamacpp {
namespace {

enum Order {
  kSlots = 5,
  kBatch = 10,
  kCacheType = 20,
  kExperts = 30,
  kLayers = 40,
  kLength = 50,
  kUsers = 55,
  kWeights = 60,
  kDevices = 70,
  kCard = 80,
};

class Finder {
 public:
  Finder(const Question& q, PlanState& s, const Assessment& a) : q_(q), s_(s), a_(a) {}

  std::vector<LeverCandidate> run() {
    limits();
    slots();
    batch();
    cache_type();
    experts();
    layers();
    length();
    users();
    weights();
    devices();
    card();
    return std::move(out_);
  }

 private:
  LeverCandidate& add(std::string id, int order, std::string change, std::string option,
                      std::string cost) {
    return add_lever(out_, std::move(id), order, std::move(change), std::move(option),
                     std::move(cost));
  }

  // Does every device hold its part, bars and all?
  bool holds(const PlacementSettings& placement) {
    const Budget b = s_.measure(s_.request.context, placement);
    for (size_t d = 0; d < s_.devices(); ++d) {
      const Outside& o = s_.outside[d];
      const Bytes need = Bytes(b.total(d)) + o.context.high + o.scratch.high;
      if (need > s_.device(q_, d).free() - s_.device(q_, d).total_uncertainty) return false;
    }
    return true;
  }

  // Slots and cells that were given and are fewer than the workload takes.
  void limits() {
    constexpr std::array kNames = {std::string_view("slots"), std::string_view("context")};
    const bool passed =
        std::any_of(a_.requirements.begin(), a_.requirements.end(), [&](const Requirement& r) {
          return r.needed.likely > r.available.likely &&
                 std::find(kNames.begin(), kNames.end(), r.what) != kNames.end();
        });
    if (!passed) return;
    const int64_t users = std::max<int64_t>(1, q_.workload.concurrency.count());
    const int64_t slots = std::max(users, s_.budget.size.sequences);
    LeverCandidate& c = add("limit", kSlots, "", "", "more memory in use at full load");
    if (slots > s_.budget.size.sequences) {
      c.change = "serve " + format_grouped(slots) + " requests at a time";
      c.option = "--parallel " + format_integer(slots);
      c.options.emplace_back("parallel", json::Value(slots));
    }
    if (const int64_t tokens = q_.workload.sequence_tokens.count(); tokens > 0) {
      const int64_t cells = saturating_multiply(tokens, slots);
      if (!c.change.empty()) c.change += ", and ";
      if (!c.option.empty()) c.option += ' ';
      c.change += "hold " + format_grouped(cells) + " tokens";
      c.option += "--ctx-size " + format_integer(cells);
      c.options.emplace_back("ctx_size", json::Value(cells));
    }
  }

  void slots() {
    if (s_.request.slots_given || s_.request.context.sequences <= 1) return;
    if (q_.workload.concurrency.count() > 0) return;
    LeverCandidate& c = add("parallel", kSlots, "serve one request at a time", "--parallel 1",
                            "no concurrent requests");
    c.options = {{"parallel", json::Value(1)}};
  }

  void batch() {
    for (const int64_t tokens : {int64_t{512}, int64_t{128}}) {
      if (s_.budget.size.n_ubatch <= tokens) continue;
      LeverCandidate& c =
          add("ubatch_size", kBatch + (tokens < 512), "read prompts in smaller pieces",
              "--ubatch-size " + format_integer(tokens), "slower prompts");
      c.options = {{"ubatch_size", json::Value(tokens)}};
    }
  }

  void cache_type() {
    const ContextSettings& c = s_.request.context;
    if (is_quantized(c.type_k) && is_quantized(c.type_v)) return;
    const auto offer = [&](std::string_view type, int order, std::string cost) {
      ContextSettings changed = c;
      changed.flash = true;
      changed.type_k = changed.type_v = *weights::ggml_type_from_name(type);
      if (!cache_refusal(s_.shape(), changed).explanation.empty()) return;
      const std::string name(type);
      LeverCandidate& lever =
          add("cache_type", order, "store the cache as " + name,
              "--cache-type-k " + name + " --cache-type-v " + name, std::move(cost));
      lever.options = {{"cache_type_k", json::Value(name)}, {"cache_type_v", json::Value(name)}};
      if (!c.flash) lever.options.push_back({"flash_attn", json::Value("on")});
    };
    if (!s_.shape().has_attention()) return;
    offer("q8_0", kCacheType, "hardly any loss of quality");
    offer("q4_0", kCacheType + 5, "some loss of quality at long context");
  }

  void experts() {
    if (s_.devices() == 0 || s_.request.placement.cpu_moe_layers != 0) return;
    const bool moe = std::any_of(s_.shape().layers.begin(), s_.shape().layers.end(),
                                 [](const LayerShape& l) { return l.moe.experts > 0; });
    if (!moe) return;
    const int64_t count = int64_t(s_.shape().layers.size());
    PlacementSettings p = asked_placement();
    const int64_t n = smallest_that(1, count, [&](int64_t layers) {
      p.cpu_moe_layers = layers;
      return holds(p);
    });
    if (n > count) return;
    LeverCandidate& c =
        add("n_cpu_moe", kExperts, "keep the experts of " + format_integer(n) + " layers in RAM",
            "--n-cpu-moe " + format_integer(n), "slower tokens");
    c.options = {{"n_cpu_moe", json::Value(n)}};
  }

  void layers() {
    if (s_.devices() == 0) return;
    const int64_t every = int64_t(s_.shape().layers.size()) + 1;
    PlacementSettings p = asked_placement();
    const int64_t now = p.n_gpu_layers < 0 ? every : std::min(p.n_gpu_layers, every);
    const int64_t off = smallest_that(1, now, [&](int64_t fewer) {
      p.n_gpu_layers = now - fewer;
      return holds(p);
    });
    if (off > now) return;
    LeverCandidate& c =
        add("n_gpu_layers", kLayers,
            "leave " + format_integer(off) + " of " + format_integer(every) + " layers on the CPU",
            "--n-gpu-layers " + format_integer(now - off), "much slower tokens");
    c.options = {{"n_gpu_layers", json::Value(now - off)}};
  }

  void length() {
    const int64_t asked = q_.workload.sequence_tokens.count();
    const int64_t now = asked > 0 ? asked : s_.budget.size.cells;
    const int64_t longest = a_.longest_sequence / 256 * 256;
    if (longest <= 0 || longest >= now) return;
    const int64_t users = std::max<int64_t>(1, s_.budget.size.streams);
    const int64_t ctx = saturating_multiply(longest, users);
    LeverCandidate& c =
        add("ctx_size", kLength, "sequences of at most " + format_grouped(longest) + " tokens",
            "--ctx-size " + format_integer(ctx), "shorter sequences");
    if (asked > 0) {
      c.changes_workload = true;
      c.workload = q_.workload;
      c.workload.sequence_tokens = Tokens(longest);
    }
    c.options = {{"ctx_size", json::Value(ctx)}};
  }

  void users() {
    const int64_t asked = q_.workload.concurrency.count();
    if (asked <= 1 || a_.users <= 0 || a_.users >= asked) return;
    // Whoever has the line of all users at hand has their cells in it, too.
    const int64_t cells = saturating_multiply(q_.workload.sequence_tokens.count() > 0
                                                  ? q_.workload.sequence_tokens.count()
                                                  : s_.shape().train_ctx,
                                              a_.users);
    LeverCandidate& c = add(
        "users", kUsers,
        "serve " + format_integer(a_.users) + (a_.users == 1 ? " user" : " users") + " at a time",
        "--parallel " + format_integer(a_.users) + " --ctx-size " + format_integer(cells),
        "fewer users");
    c.changes_workload = true;
    c.workload = q_.workload;
    c.workload.concurrency = Sequences(a_.users);
    c.options = {{"parallel", json::Value()}, {"ctx_size", json::Value()}};
  }

  void weights() {
    struct Step {
      std::string_view format, cost;
    };
    static constexpr Step kSteps[] = {
        {"Q8_0", "no visible loss of quality"}, {"Q6_K", "hardly any loss of quality"},
        {"Q5_K_M", "a small loss of quality"},  {"Q4_K_M", "some loss of quality"},
        {"IQ4_XS", "some loss of quality"},     {"Q3_K_M", "a visible loss of quality"},
        {"Q2_K", "a large loss of quality"}};
    const Bytes now = s_.file->gguf.tensor_bytes();
    const auto converted = vramwise::weights::gguf_tensors(*q_.model);
    if (!converted) return;
    // None of these mixtures gives a matrix less than its plain type.
    int64_t elements = 0;
    for (const vramwise::weights::GgufTensor& t : converted->tensors) {
      if (t.extent[1] > 1) elements = saturating_add(elements, t.elements());
    }
    const auto too_heavy = [&](const Step& step) {
      const auto type = vramwise::weights::file_type_from_name(step.format);
      const auto& plain = info(info(*type).plain);
      return double(elements) / double(plain.block_elements) * double(plain.block_bytes) * 100 >
             double(now.count()) * 97;
    };
    int shown = 0;
    for (const Step& step : kSteps) {
      if (shown == 3) return;
      if (too_heavy(step)) continue;
      auto lighter = vramwise::weights::quantize(*q_.model, *converted, step.format);
      if (!lighter || lighter->tensor_bytes() * 100 > now * 97) continue;
      LeverCandidate& c =
          add("weights", kWeights + shown, "use weights in " + std::string(step.format),
              "(the model's " + std::string(step.format) + " file)", std::string(step.cost));
      c.weights_format = std::string(step.format);
      ++shown;
    }
  }

  void devices() {
    if (s_.devices() == 0 || q_.hardware->devices.size() >= 8) return;
    const int next = int(q_.hardware->devices.size()) * 2;
    add("devices", kDevices, "split the layers over " + format_integer(next) + " GPUs",
        "(" + format_integer(next) + " GPUs)", "more GPUs")
        .devices = next;
  }

  void card() {
    if (q_.hardware->devices.empty()) return;
    const Bytes total = q_.hardware->devices.front().total;
    int shown = 0;
    for (const std::string_view id :
         {"rtx-4090", "rtx-5090", "l40s", "rtx-pro-6000-ws", "h200-sxm"}) {
      const auto gpu = catalog::find_gpu(id);
      if (!gpu || gpu->total <= total + GiB(2)) continue;
      LeverCandidate& c =
          add("gpu", kCard + shown, "use " + gpu->name, "(another GPU)", "another machine");
      c.gpu = std::string(id);
      if (++shown == 2) return;
    }
  }

  // As asked, without what fit has made of it.
  PlacementSettings asked_placement() const {
    PlacementSettings p = s_.request.placement;
    if (s_.fit_decides) {
      p.n_gpu_layers = PlacementSettings::kAll;
      p.overrides.clear();
      p.tensor_split.clear();
    }
    return p;
  }

  const Question& q_;
  PlanState& s_;
  const Assessment& a_;
  std::vector<LeverCandidate> out_;
};

}  // namespace

std::vector<LeverCandidate> lever_candidates(const Question& question,
                                             const Assessment& assessment) {
  Question asked = question;
  asked.detail = Detail::lever;
  auto state = plan_state(asked);
  if (!state) return {};
  return Finder(question, **state, assessment).run();
}

}  // namespace vramwise::engines::llamacpp
