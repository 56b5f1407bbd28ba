// Ollama: a policy in front of llama.cpp, since 0.30 of its server as a child. It settles context,
// slots, batch and devices, before 0.30 the layers of each; memory is then llama.cpp's.
// Source: ollama/ollama llm/server.go, server/sched.go, envconfig/config.go.
#include "engines/engine.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/model_ref.h"
#include "engines/launch/write_line.h"
#include "engines/limits.h"
#include "engines/ollama/decide.h"

namespace vramwise::engines {
namespace ollama {
namespace {

// The model by the name of Ollama's own library where that name means these weights, else the file.
std::string model_name(const Question& q) {
  const std::string format = q.weights->is_gguf() ? q.weights->gguf->file_type : std::string();
  if (ends_with(q.model->id, ".gguf")) return q.model->id;
  if (const auto entry = catalog::find(catalog::Kind::model, q.model->id)) {
    for (const json::Value& alias : list(entry->value, "aliases")) {
      const std::string& name = alias.as_string();
      if (!contains(name, ":") || contains(name, "/")) continue;
      const auto meant = catalog::resolve_model(name);
      if (!meant) continue;
      // A name without a format is the library's usual one.
      const std::string stored = meant->weights.empty() ? "Q4_K_M" : meant->weights;
      if (stored == format) return name;
    }
  }
  const size_t slash = q.model->id.rfind('/');
  return q.model->id.substr(slash + 1) + "-" + (format.empty() ? "F16" : format) + ".gguf";
}

std::string command_of(const Question& q, const Decided& d) {
  Options options = q.settings.options;
  if (d.release.context_variable) {
    options.set("context_length", json::Value(d.num_ctx));
    options.erase("num_ctx");
  } else {
    options.set("num_ctx", json::Value(d.num_ctx));
  }
  if (d.parallel > 1) options.set("num_parallel", json::Value(d.parallel));
  std::map<std::string, std::string> env = q.settings.env;
  env.erase("OLLAMA_CONTEXT_LENGTH");
  env.erase("OLLAMA_NUM_PARALLEL");
  return launch::write_line("ollama", model_name(q), options, env);
}

// The child counts the GPUs that it is shown; the machine may count them otherwise.
void put_on(const std::vector<int>& order, Assessment& a) {
  const auto move = [&](int& from) {
    if (from >= 0 && size_t(from) < order.size()) from = order[size_t(from)];
  };
  for (Ledger* ledger : {&a.need, &a.reserve, &a.peak}) {
    for (LedgerRow& row : ledger->rows) move(row.device);
  }
  for (Requirement& requirement : a.requirements) move(requirement.device);
  move(a.fullest_device);
}

// Graphs of Ollama's own engine are not llama.cpp's: public logs print 1.29 to 1.54 times as much
// as llama.cpp's would take (80.0 for 62.0 MiB, 190.5 for 124.0).
void widen_graphs(Assessment& a) {
  for (Ledger* ledger : {&a.need, &a.reserve, &a.peak}) {
    for (LedgerRow& row : ledger->rows) {
      if (row.item != "compute buffer") continue;
      row.bytes.low = row.bytes.likely * 4 / 5;
      row.bytes.high = row.bytes.likely * 7 / 4;
      row.basis = Basis::modelled;
    }
  }
}

// Layers on the GPUs, `whole` of them with all their experts.
void require_layers(int64_t all, int64_t offloaded, int64_t whole, Assessment& a) {
  Requirement r;
  r.kind = Requirement::Kind::workload;
  r.what = "gpu_layers";
  r.needed = ByteRange::exactly(Bytes(all));
  r.available = ByteRange::exactly(Bytes(whole));
  r.unit = "layers";
  r.phase = "load";
  r.explanation = "Ollama keeps " + format_integer(offloaded) + " of " + format_integer(all) +
                  " layers on the GPUs" +
                  (whole < offloaded ? " and a part of the experts on the CPU" : "") +
                  (whole < all ? "; the rest runs on the CPU" : "");
  a.requirements.push_back(std::move(r));
}

// What Ollama prints before the model is loaded; the lines of llama.cpp follow in the same log.
// Source: ollama/ollama server/sched.go, llm/server.go, llm/memory.go.
void add_own_lines(const Question& q, const Decided& d, Assessment& a) {
  std::vector<LogLine> lines;
  const auto bytes = [&](std::string name, int64_t value) {
    lines.push_back({std::move(name), double(value), "bytes"});
  };
  if (!d.hardware.devices.empty() && !d.estimate) {
    const bool metal = d.hardware.backend == Backend::metal;
    const Bytes aside = MiB(number(*d.profile, metal ? "set_aside_metal_mib" : "set_aside_mib"));
    Bytes least = d.hardware.devices.front().free();
    for (const Device& device : d.hardware.devices) least = std::min(least, device.free());
    bytes("gpu memory: available", std::max(Bytes(), least - aside - d.overhead).count());
    bytes("gpu memory: minimum", aside.count());
  }
  if (d.layers >= 0) {
    lines.push_back({"layers.model", double(d.all_layers), "count"});
    lines.push_back({"layers.offload", double(d.layers), "count"});
  }
  if (d.estimate) {
    bytes("memory.required.full", d.estimate->required);
    bytes("memory.required.partial", q.hardware->devices.empty() ? 0 : d.estimate->on_gpus);
    bytes("memory.required.kv", d.estimated_cache);
    bytes("memory.graph.full", d.estimate->graph_full);
    bytes("memory.graph.partial", d.estimate->graph_partial);
  }
  a.log.insert(a.log.begin(), lines.begin(), lines.end());
}

// What the server inside says of its own flags, in the words of who starts it: flags do not reach
// it, its environment does.
// Source: ollama/ollama llm/llama_server.go (the child inherits the environment).
void say_for_ollama(Notes& notes) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {" (--cache-ram)", " (LLAMA_ARG_CACHE_RAM in Ollama's environment)"},
      {" (--ctx-checkpoints)", " (LLAMA_ARG_CTX_CHECKPOINTS there)"},
      {"--cache-ram", "LLAMA_ARG_CACHE_RAM"},
      {"--ctx-checkpoints", "LLAMA_ARG_CTX_CHECKPOINTS"}};
  for (std::vector<Note>* list : {&notes.assumptions, &notes.warnings}) {
    for (Note& note : *list) {
      if (!starts_with(note.id, "host_growth")) continue;
      for (const auto& [flag, word] : kWords) {
        const size_t at = note.text.find(flag);
        if (at != std::string::npos) note.text.replace(at, flag.size(), word);
      }
    }
  }
}

Result<Assessment> assess_question(const Question& q) {
  TRY_ASSIGN(const Engine* server, find_engine("llama.cpp"));
  TRY_ASSIGN(const Decided d, decide(q));
  const Question child = child_question(q, d);
  TRY_ASSIGN(Assessment a, server->assess(child));
  // A placement by patterns of tensors is nothing that Ollama passes on.
  if (a.fit) a.fit->better.reset();
  say_for_ollama(a.notes);

  if (a.fit && !d.hardware.devices.empty() && !d.child.has("n_gpu_layers")) {
    const int64_t all = q.weights->is_gguf() ? q.weights->gguf->block_count + 1
                                             : int64_t(q.model->layers.size()) + 1;
    const int64_t whole =
        std::max<int64_t>(0, a.fit->n_gpu_layers - int64_t(a.fit->override_tensor.size()));
    require_layers(all, a.fit->n_gpu_layers, whole, a);
  } else if (d.layers >= 0 && !q.settings.options.has("num_gpu") && !q.hardware->devices.empty()) {
    require_layers(d.all_layers, d.layers, d.layers, a);
  }
  if (!d.release.child_server && d.release.architecture.own_engine) widen_graphs(a);
  add_own_lines(q, d, a);
  const auto wants = [&](std::string what, int64_t needed, int64_t available, std::string unit,
                         std::string explanation) {
    if (needed <= 0) return;
    Requirement r;
    r.kind = Requirement::Kind::workload;
    r.what = std::move(what);
    r.needed = ByteRange::exactly(Bytes(needed));
    r.available = ByteRange::exactly(Bytes(available));
    r.unit = std::move(unit);
    r.phase = "serve";
    r.explanation = std::move(explanation);
    a.requirements.push_back(std::move(r));
  };
  wants("context", q.workload.sequence_tokens.count(), a.kv.max_sequence_tokens, "tokens",
        "a sequence may have " + format_grouped(d.num_ctx) + " tokens");
  wants("slots", q.workload.concurrency.count(), d.parallel, "count",
        "Ollama serves " + format_integer(d.parallel) + " requests at a time");

  put_on(d.order, a);

  Options effective;
  effective.set("num_ctx", json::Value(d.num_ctx));
  effective.set("num_parallel", json::Value(d.parallel));
  effective.set("num_batch", json::Value(d.batch));
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{"flash_attn", "flash_attention"},
        {"cache_type_k", "kv_cache_type"},
        {"n_gpu_layers", "num_gpu"}}) {
    if (const json::Value* value = a.effective.find(from)) effective.set(to, *value);
  }
  a.effective = std::move(effective);
  a.deciders.clear();
  a.deciders["num_ctx"] = q.workload.sequence_tokens.count() > 0 ? "workload" : "cards";
  if (q.workload.concurrency.count() > 0) a.deciders["num_parallel"] = "workload";
  a.deciders["num_batch"] = a.deciders["num_gpu"] = "cards";
  if (q.detail == Detail::full) a.command = command_of(q, d);
  Notes notes = d.notes;
  notes.append(a.notes);
  a.notes = std::move(notes);
  return a;
}

// llama.cpp's levers in Ollama's words; those that Ollama has no setting for are left out.
std::vector<LeverCandidate> lever_candidates(const Question& q, const Assessment& assessment) {
  const auto server = find_engine("llama.cpp");
  const auto d = decide(q);
  if (!server || !d) return {};
  std::vector<LeverCandidate> out;
  static constexpr LimitOption kLimits[] = {{"context", "num_ctx", "OLLAMA_CONTEXT_LENGTH="},
                                            {"slots", "num_parallel", "OLLAMA_NUM_PARALLEL="}};
  if (auto raised = raised_limits(assessment, kLimits)) out.push_back(std::move(*raised));
  for (LeverCandidate& c : (*server)->levers(child_question(q, *d), assessment)) {
    if (c.id == "n_cpu_moe" || c.id == "n_gpu_layers" || c.id == "parallel" || c.id == "limit") {
      continue;
    }
    std::vector<std::pair<std::string, json::Value>> options;
    for (const auto& [name, value] : c.options) {
      if (name == "ctx_size" && value.is_integer()) {
        const int64_t tokens = value.as_integer() / std::max<int64_t>(1, d->parallel);
        options.emplace_back("num_ctx", json::Value(tokens));
        c.option = "OLLAMA_CONTEXT_LENGTH=" + format_integer(tokens);
        c.changes_workload = q.workload.sequence_tokens.count() > tokens;
        c.workload = q.workload;
        c.workload.sequence_tokens = Tokens(tokens);
      } else if (name == "ubatch_size") {
        options.emplace_back("num_batch", value);
        c.option = "num_batch " + format_integer(value.as_integer());
      } else if (name == "cache_type_k" && value.is_string()) {
        options.emplace_back("kv_cache_type", value);
        options.emplace_back("flash_attention", json::Value("true"));
        c.option = "OLLAMA_KV_CACHE_TYPE=" + value.as_string() + " OLLAMA_FLASH_ATTENTION=1";
      }
    }
    c.options = std::move(options);
    out.push_back(std::move(c));
  }
  return out;
}

class OllamaEngine final : public Engine {
 public:
  std::string_view name() const override { return "ollama"; }
  Result<Assessment> assess(const Question& question) const override {
    return assess_question(question);
  }
  // The questions that are kept are its child's.
  std::unique_ptr<Memo> new_memo() const override {
    const auto server = find_engine("llama.cpp");
    return server ? (*server)->new_memo() : nullptr;
  }
  std::vector<LeverCandidate> levers(const Question& question,
                                     const Assessment& assessment) const override {
    return lever_candidates(question, assessment);
  }
  std::vector<std::string_view> weight_formats() const override {
    return {"BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"};
  }
  std::string_view option_of(Knob knob) const override {
    switch (knob) {
      case Knob::sequence_tokens: return "num_ctx";
      case Knob::concurrency: return "num_parallel";
      case Knob::batch_tokens: return "num_batch";
      case Knob::lora_slots: break;
    }
    return {};
  }
  std::vector<Layout> layouts(const Question&, int devices) const override {
    if (devices < 1) return {};
    if (devices == 1) return {{}};
    return {{"layer split over " + format_integer(devices), {}}};
  }
  bool runs_on(const catalog::Gpu& gpu) const override {
    return gpu.vendor == "nvidia" || gpu.vendor == "amd" || gpu.vendor == "intel" ||
           gpu.vendor == "apple";
  }
};

}  // namespace
}  // namespace ollama

const Engine& engine_ollama();
const Engine& engine_ollama() {
  static const ollama::OllamaEngine engine;
  return engine;
}

}  // namespace vramwise::engines
