#include "verify/log_config.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engines/launch/literal.h"
#include "engines/launch/read_launch.h"

namespace vramwise::verify {
namespace {

using json::Value;

const Capture* capture(const std::vector<Capture>& captures, std::string_view name) {
  for (const Capture& c : captures) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

// Every rank says it.
void set_variable(LogConfig& config, std::string_view name, std::string_view value) {
  for (const auto& [known, set] : config.env) {
    if (known == name) return;
  }
  config.env.emplace_back(name, value);
}

void set_once(LogConfig& config, std::string_view name, Value value) {
  if (!config.options.has(name)) config.options.set(name, std::move(value));
}

// A whole argument dump, by the reader of launch lines.
void read_arguments(std::string_view text, engines::launch::OptionTables& tables,
                    LogConfig& config) {
  const auto reading =
      engines::launch::read_launch(text.substr(0, engines::launch::kMaxPaste), tables, {});
  if (!reading) return;
  if (!reading->model.empty()) config.model = reading->model;
  for (const json::Member& option : reading->options.entries()) {
    config.options.set(option.key, option.value);
  }
  config.whole_options = true;
}

// A literal as Python writes it.
std::string python_text(const Value& value) {
  if (value.is_boolean()) return value.as_boolean() ? "True" : "False";
  if (value.is_null()) return "None";
  if (value.is_array()) {
    std::string text = "[";
    for (const Value& item : value.as_array()) {
      if (text.size() > 1) text += ", ";
      text += python_text(item);
    }
    return text + "]";
  }
  if (value.is_object()) {
    std::string text = "{";
    for (const json::Member& m : value.as_object()) {
      if (text.size() > 1) text += ", ";
      text += json::quote(m.key) + ": " + python_text(m.value);
    }
    return text + "}";
  }
  return json::dump(value);
}

// vLLM up to 0.8: "args: Namespace(model='…', max_model_len=None, …)". Every argument stands there;
// None and False are what was not given.
void read_namespace(std::string_view text, engines::launch::OptionTables& tables,
                    LogConfig& config) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return;
  const auto call = engines::launch::read_call(text.substr(open + 1));
  if (!call) return;
  std::string dump = "non-default args: {";
  bool first = true;
  for (const engines::launch::Argument& a : call->arguments) {
    if (a.name.empty() || a.hole || a.value.is_null()) continue;
    if (a.value.is_boolean() && !a.value.as_boolean()) continue;
    if (!first) dump += ", ";
    first = false;
    dump += json::quote(a.name) + ": " + python_text(a.value);
  }
  read_arguments(dump + "}", tables, config);
}

// The value behind "name=" in vLLM's engine line, quotes taken off; empty: not there.
std::string_view value_of(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || text[at - 1] == ' ' || text[at - 1] == ',';
    const size_t equals = at + name.size();
    if (!starts || equals >= text.size() || text[equals] != '=') continue;
    std::string_view value = text.substr(equals + 1);
    if (!value.empty() && (value[0] == '\'' || value[0] == '"')) {
      const size_t end = value.find(value[0], 1);
      return end == std::string_view::npos ? std::string_view() : value.substr(1, end - 1);
    }
    return trim(value.substr(0, value.find_first_of(",)")));
  }
  return {};
}

// What the engine decided: fills what the arguments left open.
void read_vllm_engine(std::string_view text, const std::vector<Capture>& captures,
                      LogConfig& config) {
  if (const Capture* version = capture(captures, "version")) {
    if (config.version.empty()) config.version = std::string(version->text);
  }
  const std::string_view model = value_of(text, "model");
  if (config.model.empty() && !model.empty()) config.model = std::string(model);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCounts = {
      {{"max_seq_len", "max_model_len"},
       {"tensor_parallel_size", "tensor_parallel_size"},
       {"pipeline_parallel_size", "pipeline_parallel_size"},
       {"data_parallel_size", "data_parallel_size"},
       {"decode_context_parallel_size", "decode_context_parallel_size"}}};
  for (const auto& [printed, option] : kCounts) {
    if (const auto n = parse_integer(value_of(text, printed))) set_once(config, option, Value(*n));
  }
  const std::string_view cache = value_of(text, "kv_cache_dtype");
  if (!cache.empty() && cache != "auto") set_once(config, "kv_cache_dtype", Value(cache));
  std::string_view dtype = value_of(text, "dtype");
  if (starts_with(dtype, "torch.")) dtype.remove_prefix(6);
  if (!dtype.empty()) set_once(config, "dtype", Value(dtype));
  const std::string_view quantization = value_of(text, "quantization");
  // Without arguments there is no telling a flag from what the checkpoint says.
  if (!quantization.empty() && quantization != "None" && quantization != "fp8") {
    set_once(config, "quantization", Value(quantization));
  }
  if (value_of(text, "enforce_eager") == "True") set_once(config, "enforce_eager", Value(true));
  for (const std::string_view flag : {"enable_prefix_caching", "enable_chunked_prefill"}) {
    const std::string_view printed =
        value_of(text, flag == "enable_chunked_prefill" ? "chunked_prefill_enabled" : flag);
    if (printed == "True" || printed == "False") set_once(config, flag, Value(printed == "True"));
  }
}

// "…/Qwen3-8B-Q4_K_M-00001-of-00002.gguf" -> "Qwen3-8B-Q4_K_M"
std::string file_stem(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (ends_with(to_lower(path), ".gguf")) path.remove_suffix(5);
  const size_t of = path.rfind("-of-");
  if (of != std::string_view::npos && of >= 6 && path.size() == of + 9)
    path = path.substr(0, of - 6);
  return std::string(path);
}

// "Q4_K - Medium" -> "Q4_K_M", "IQ4_XS - 4.25 bpw" -> "IQ4_XS"
std::string mixture_name(std::string_view printed) {
  std::string_view head = trim(printed);
  const size_t dash = head.find(" - ");
  const std::string_view tail = dash == std::string_view::npos ? "" : trim(head.substr(dash + 3));
  head = trim(head.substr(0, dash));
  if (starts_with(head, "all ")) head.remove_prefix(4);
  if (starts_with(head, "mostly ")) head.remove_prefix(7);
  std::string name(head);
  if (starts_with(tail, "Medium") && name != "Q2_K") name += "_M";
  if (starts_with(tail, "Small")) name += "_S";
  if (starts_with(tail, "Large")) name += "_L";
  if (starts_with(name, "MXFP4")) name = "MXFP4";
  return name;
}

void complete_llamacpp(const Log& log, LogConfig& config) {
  const auto count = [&](std::string_view field, std::string_view option) {
    if (const Reading* r = log.one(field); r != nullptr && r->number) {
      set_once(config, option, Value(int64_t(r->first)));
    }
  };
  count("n_ctx", "ctx_size");
  count("n_batch", "batch_size");
  count("n_ubatch", "ubatch_size");
  count("n_seq_max", "parallel");
  count("layers_offloaded", "n_gpu_layers");
  const auto word = [&](std::string_view field) {
    const Reading* r = log.one(field);
    return r == nullptr ? std::string() : std::string(trim(r->text));
  };
  const std::string k = to_lower(word("type_k")), v = to_lower(word("type_v"));
  if (!k.empty()) set_once(config, "cache_type_k", Value(k));
  if (!v.empty()) set_once(config, "cache_type_v", Value(v));
  const std::string flash = word("flash_attn");
  if (flash == "1" || flash == "enabled") set_once(config, "flash_attn", Value("on"));
  if (flash == "0" || flash == "disabled") set_once(config, "flash_attn", Value("off"));
  const std::string unified = word("kv_unified");
  if (unified == "true") set_once(config, "kv_unified", Value(true));
  if (unified == "false") set_once(config, "kv_unified", Value(false));
  if (config.weights.empty() && !word("file_type").empty()) {
    config.weights = mixture_name(word("file_type"));
  }
  if (config.gpu.empty()) config.gpu = word("gpu");
}

// Ollama's child prints llama.cpp's words; the plan is asked in Ollama's. Its own command line says
// them where the child is silent.
void complete_ollama(const Log& log, LogConfig& config) {
  LogConfig child;
  child.gpu = config.gpu;
  child.weights = config.weights;
  complete_llamacpp(log, child);
  config.gpu = child.gpu;
  config.weights = child.weights;
  const auto number = [&](std::string_view printed, std::string_view commanded) {
    const Value* value = child.options.find(printed);
    const Reading* r = log.one(commanded);
    if (value != nullptr && value->is_integer()) return value->as_integer();
    return r != nullptr && r->number ? int64_t(r->last) : int64_t{0};
  };
  const int64_t parallel = std::max<int64_t>(1, number("parallel", "child_parallel"));
  const int64_t context = number("ctx_size", "child_context");
  const int64_t batch = number("ubatch_size", "child_batch");
  if (context > 0) set_once(config, "num_ctx", Value(context / parallel));
  if (context > 0) set_once(config, "num_parallel", Value(parallel));
  if (batch > 0) set_once(config, "num_batch", Value(batch));
  for (const auto& [from, to] :
       {std::pair{"n_gpu_layers", "num_gpu"}, std::pair{"cache_type_k", "kv_cache_type"}}) {
    if (const Value* value = child.options.find(from)) set_once(config, to, *value);
  }
  if (const Value* flash = child.options.find("flash_attn")) {
    set_once(config, "flash_attention", Value(flash->as_string() == "on" ? "1" : "0"));
  }
}

// "NVIDIA_H100_80GB_HBM3.json']" of a file of tuned kernels, "NVIDIA L4 (UUID: GPU-…)" of a list.
std::string card_name(std::string_view printed) {
  printed = printed.substr(0, std::min(printed.find(".json"), printed.find(" (UUID")));
  return replace_all(std::string(trim(printed)), "_", " ");
}

// The kernels of the experts decide how much their weights are padded. What was asked for stands.
void read_moe_backend(const std::vector<Capture>& captures, LogConfig& config) {
  const Capture* backend = capture(captures, "moe_backend");
  if (backend == nullptr || config.options.has("kernel_config.moe_backend")) return;
  const std::string name = to_lower(backend->text);
  for (const std::string_view known : {"marlin", "triton"}) {
    if (name == known) set_once(config, "moe_backend", Value(known));
  }
}

// The largest batch of so many captured sizes: 1, 2, 4, then multiples of 8, from 256 on of 16
// (of 8 before 0.11.2; vllm config/compilation.py).
int64_t largest_captured(int64_t graphs, int64_t step) {
  constexpr int64_t kUpTo256 = 35;
  if (graphs <= 3) return graphs < 1 ? 0 : int64_t{1} << (graphs - 1);
  return graphs <= kUpTo256 ? (graphs - 3) * 8 : 256 + (graphs - kUpTo256) * step;
}

// FULL graphs are captured up to max_num_seqs: their number tells it where no option does. What is
// then a default of the card's size and program (vllm engine/arg_utils.py) may be larger than 512,
// where capturing ends.
void read_sequences(const Log& log, LogConfig& config) {
  const Reading* graphs = log.one("decode_graphs");
  const auto version = engines::Version::parse(config.version);
  if (graphs == nullptr || !version) return;
  for (const std::string_view name :
       {"max_num_seqs", "cudagraph_capture_sizes", "max_cudagraph_capture_size",
        "compilation_config", "speculative_config", "num_speculative_tokens"}) {
    if (config.options.has(name)) return;
  }
  for (const json::Member& option : config.options.entries()) {
    if (starts_with(option.key, "compilation_config.") ||
        starts_with(option.key, "speculative_config.")) {
      return;
    }
  }
  const bool by_8 =
      version->major == 0 && (version->minor < 11 || (version->minor == 11 && version->patch < 2));
  const int64_t largest = largest_captured(int64_t(graphs->last), by_8 ? 8 : 16);
  constexpr int64_t kEnd = 512, kLargestDefault = 1024;
  if (largest > kEnd || largest < 1) return;
  config.options.set("max_num_seqs", Value(largest < kEnd ? largest : kLargestDefault));
}

// Before 0.22 the first runner of V1 printed that line too.
void read_runner(std::string_view second, LogConfig& config) {
  const auto version = engines::Version::parse(config.version);
  if (!version || (version->major == 0 && version->minor < 22)) return;
  set_variable(config, "VLLM_USE_V2_MODEL_RUNNER", second);
}

void complete_vllm(const Log& log, LogConfig& config) {
  read_sequences(log, config);
  for (const auto& [field, option] : {std::pair{"max_model_len", "max_model_len"},
                                      std::pair{"max_num_batched_tokens", "max_num_batched_tokens"},
                                      std::pair{"tensor_parallel", "tensor_parallel_size"}}) {
    if (const Reading* r = log.one(field)) set_once(config, option, Value(int64_t(r->last)));
  }
  if (const Reading* r = log.one("utilisation")) {
    set_once(config, "gpu_memory_utilization", Value(r->last));
  }
  if (const Reading* r = log.one("cache_given"); r != nullptr && r->unit == Unit::bytes) {
    set_once(config, "kv_cache_memory_bytes", Value(int64_t(r->last)));
  }
}

void complete_sglang(const Log& log, LogConfig& config) {
  if (const Reading* r = log.one("chunk")) {
    set_once(config, "chunked_prefill_size", Value(int64_t(r->last)));
  }
  if (const Reading* r = log.one("context_length")) {
    set_once(config, "context_length", Value(int64_t(r->last)));
  }
}

void complete_trtllm(const Log& log, LogConfig& config) {
  const auto count = [&](std::string_view field, std::string_view option) {
    if (const Reading* r = log.one(field)) set_once(config, option, Value(int64_t(r->last)));
  };
  count("max_batch_size", "max_batch_size");
  count("max_num_tokens", "max_num_tokens");
  count("max_seq_len", "max_seq_len");
  if (const Reading* r = log.one("fraction")) {
    set_once(config, "free_gpu_memory_fraction", Value(r->last));
  }
}

// The engine with the most readings, where no line named it.
std::string likely_engine(const Log& log) {
  std::string best;
  size_t most = 0;
  for (const Table& table : tables()) {
    if (table.engine.empty()) continue;
    size_t n = 0;
    for (const Reading& r : log.readings) n += r.engine == table.engine ? 1 : 0;
    for (const Failure& f : log.failures) n += f.engine == table.engine ? 1 : 0;
    if (n > most) {
      most = n;
      best = std::string(table.engine);
    }
  }
  return best;
}

struct Completion {
  std::string_view engine;
  void (*complete)(const Log&, LogConfig&);
};
constexpr std::array kCompletions = {
    Completion{"vllm", complete_vllm}, Completion{"sglang", complete_sglang},
    Completion{"trtllm", complete_trtllm}, Completion{"llama.cpp", complete_llamacpp},
    Completion{"ollama", complete_ollama}};

}  // namespace

void ConfigReader::line(std::string_view id, std::string_view text,
                        const std::vector<Capture>& captures, LogConfig& config) {
  if (id == "vllm_engine") read_vllm_engine(text, captures, config);
  const bool dump = id == "vllm_args" || id == "sglang_args";
  if (dump || id == "vllm_namespace") {
    if (text == last_arguments_) return;
    last_arguments_ = std::string(text.substr(0, engines::launch::kMaxPaste));
    if (dump) read_arguments(text, tables_, config);
    if (!dump) read_namespace(text, tables_, config);
  }
  if (id == "vllm_moe_backend") read_moe_backend(captures, config);
  if (id == "vllm_fp8_cache") set_once(config, "kv_cache_dtype", Value("fp8"));
  if (id == "vllm_no_all_reduce") set_once(config, "disable_custom_all_reduce", Value(true));
  if (id == "vllm_flashinfer_sampler") config.env.emplace_back("VLLM_USE_FLASHINFER_SAMPLER", "1");
  if (id == "vllm_second_runner") read_runner("1", config);
  if (id == "vllm_first_runner") read_runner("0", config);
  if (id == "vllm_compiled_before") set_variable(config, "VLLM_FORCE_AOT_LOAD", "1");
  if (id == "wsl") config.wsl = true;
  if (id == "card_of_kernels" || (id == "card_of_list" && config.gpu.empty())) {
    if (const Capture* card = capture(captures, "card")) config.gpu = card_name(card->text);
  }
  if (ends_with(id, "_version")) {
    if (const Capture* v = capture(captures, "version")) config.version = std::string(v->text);
  }
  // Ollama's release counts, not the build of the llama.cpp that it started.
  if (id == "llamacpp_build" && (config.version.empty() || config.version.front() == 'b')) {
    if (const Capture* v = capture(captures, "version")) {
      config.version = "b" + std::string(v->text);
    }
  }
  // A draft model or a projector is loaded after the model: the first counts.
  if (id == "llamacpp_file" && config.path.empty()) {
    if (const Capture* path = capture(captures, "path")) {
      config.path = std::string(path->text);
      if (config.model.empty()) config.model = file_stem(path->text);
    }
  }
  if (id == "llamacpp_key" && config.architecture.empty()) {
    if (const Capture* a = capture(captures, "architecture")) {
      config.architecture = std::string(a->text);
    }
  }
}

void complete_config(const Log& log, LogConfig& config) {
  if (config.engine.empty()) config.engine = likely_engine(log);
  for (const Completion& c : kCompletions) {
    if (c.engine == config.engine) c.complete(log, config);
  }
}

}  // namespace vramwise::verify
