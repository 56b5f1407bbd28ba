// Sources of flags and defaults: catalog/options/koboldcpp__about.json (LostRuins/koboldcpp
// koboldcpp.py 1.115) and lmstudio__about.json (lmstudio.ai/docs). One batch size for both batches,
// every row kept and neither prompt cache nor checkpoints are taken for KoboldCpp, not measured.
#include "engines/launch/embedded.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace vramwise::engines::launch {
namespace {

using json::Value;

// An option that means the same; `fixed` is the value where the other is a switch.
struct Same {
  std::string_view program, from, to;
  enum class Kind { value, on, off } kind = Kind::value;
};
using K = Same::Kind;
constexpr std::array kSame = {
    Same{"koboldcpp", "contextsize", "ctx_size"},
    Same{"koboldcpp", "overridetensors", "override_tensor"},
    Same{"koboldcpp", "splitmode", "split_mode"},
    Same{"koboldcpp", "maingpu", "main_gpu"},
    Same{"koboldcpp", "parallelrequests", "parallel"},
    Same{"koboldcpp", "tensor_split", "tensor_split"},
    Same{"koboldcpp", "noswa", "swa_full", K::on},
    Same{"koboldcpp", "lowvram", "kv_offload", K::off},
    Same{"lmstudio", "load.context_length", "ctx_size"},
    Same{"lmstudio", "load.parallel", "parallel"},
    Same{"lmstudio", "config.contextLength", "ctx_size"},
    Same{"lmstudio", "config.llamaKCacheQuantizationType", "cache_type_k"},
    Same{"lmstudio", "config.llamaVCacheQuantizationType", "cache_type_v"},
    Same{"lmstudio", "config.offloadKVCacheToGpu", "kv_offload"},
    Same{"lmstudio", "config.gpu.mainGpu", "main_gpu"},
};
// Read below, or without effect on memory.
constexpr std::array<std::string_view, 16> kRead = {"model",
                                                    "model_param",
                                                    "gpulayers",
                                                    "batchsize",
                                                    "quantkv",
                                                    "flashattention",
                                                    "noflashattention",
                                                    "moecpu",
                                                    "usecuda",
                                                    "usevulkan",
                                                    "usecpu",
                                                    "load.path",
                                                    "load.gpu",
                                                    "config.gpu.ratio",
                                                    "config.evalBatchSize",
                                                    "config.flashAttention"};

// The options of the program, by their own names.
class Line {
 public:
  Line(const Reading& reading) : options_(reading.options), prefix_(reading.engine + ".") {}

  const Value* find(std::string_view name) const {
    return options_.find(prefix_ + std::string(name));
  }
  bool is_on(std::string_view name) const {
    const Value* value = find(name);
    return value != nullptr && value->is_boolean() && value->as_boolean();
  }
  template <typename Use>
  void each(const Use& use) const {
    for (const json::Member& m : options_.entries()) {
      if (starts_with(m.key, prefix_)) use(std::string_view(m.key).substr(prefix_.size()));
    }
  }

 private:
  const Options& options_;
  std::string prefix_;
};

// Both programs give one size to the batch and the micro-batch, 512 by themselves.
void set_batch(const Value* given, Options& out) {
  const Value size = given != nullptr ? *given : Value(int64_t{512});
  out.set("batch_size", size);
  out.set("ubatch_size", size);
}

void kobold(const Line& line, Options& out) {
  // Of 1.115; 4,096 and 8,192 in older ones.
  if (!out.has("ctx_size")) out.set("ctx_size", Value(int64_t{16384}));
  if (!out.has("parallel")) out.set("parallel", Value(int64_t{1}));
  set_batch(line.find("batchsize"), out);
  // A context of the library keeps every row of a batch unless it is told otherwise.
  out.set("n_outputs_max", *out.find("batch_size"));
  // llama-server's prompt cache and checkpoints are its own.
  out.set("cache_ram", Value(int64_t{0}));
  out.set("ctx_checkpoints", Value(int64_t{0}));
  const bool flash = !line.is_on("noflashattention");
  out.set("flash_attn", Value(flash ? "on" : "off"));
  if (const Value* type = line.find("quantkv"); type != nullptr && type->is_string()) {
    out.set("cache_type_k", *type);
    if (flash) out.set("cache_type_v", *type);
  }
  if (const Value* layers = line.find("gpulayers");
      layers != nullptr && layers->is_integer() && layers->as_integer() >= 0) {
    out.set("n_gpu_layers", *layers);
  }
  if (const Value* experts = line.find("moecpu")) {
    if (experts->is_string()) {
      out.set("cpu_moe", Value(true));
    } else {
      out.set("n_cpu_moe", *experts);
    }
  }
}

void lm_studio(const Line& line, Options& out, std::vector<std::string>& left) {
  if (!out.has("ctx_size")) out.set("ctx_size", Value(int64_t{4096}));
  // Since 0.4: four at a time. That they share the cells is taken, not read anywhere.
  if (!out.has("parallel")) out.set("parallel", Value(int64_t{4}));
  out.set("kv_unified", Value(true));
  set_batch(line.find("config.evalBatchSize"), out);
  if (const Value* flash = line.find("config.flashAttention");
      flash != nullptr && flash->is_boolean()) {
    out.set("flash_attn", Value(flash->as_boolean() ? "on" : "off"));
  }
  const Value* share = line.find("load.gpu");
  if (share == nullptr) share = line.find("config.gpu.ratio");
  if (share == nullptr) return;
  const std::string text = share->is_string() ? to_lower(share->as_string()) : std::string();
  if (text == "max" || text == "1" || text == "1.0") {
    out.set("n_gpu_layers", Value("all"));
  } else if (text == "off" || text == "0") {
    out.set("n_gpu_layers", Value(int64_t{0}));
  } else {
    left.push_back("gpu (a share of the layers: say how many by -ngl)");
  }
}

}  // namespace

std::optional<Embedded> as_llamacpp(const Reading& reading) {
  const bool is_kobold = reading.engine == "koboldcpp";
  if (!is_kobold && reading.engine != "lmstudio") return std::nullopt;
  Embedded out;
  out.name = is_kobold ? "KoboldCpp" : "LM Studio";
  out.engine = "llama.cpp";
  const Line line(reading);
  line.each([&](std::string_view name) {
    for (const Same& same : kSame) {
      if (same.program != reading.engine || same.from != name) continue;
      if (same.kind == K::value) out.options.set(same.to, *line.find(name));
      if (same.kind == K::on && line.is_on(name)) out.options.set(same.to, Value(true));
      if (same.kind == K::off && line.is_on(name)) out.options.set(same.to, Value(false));
      return;
    }
    if (std::find(kRead.begin(), kRead.end(), name) == kRead.end()) {
      out.left.emplace_back(name);
    }
  });
  if (is_kobold) {
    kobold(line, out.options);
  } else {
    lm_studio(line, out.options, out.left);
  }
  return out;
}

}  // namespace vramwise::engines::launch
