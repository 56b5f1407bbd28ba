// llama.cpp: the order in which everything is asked and answered.
#include "engines/engine.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engines/launch_command.h"
#include "engines/llamacpp/capacity.h"
#include "engines/llamacpp/plan_state.h"
#include "engines/unknown_options.h"

namespace vramwise::engines {
namespace llamacpp {
namespace {

Options effective_options(const PlanState& s) {
  const ContextSettings& c = s.request.context;
  const ContextSize& size = s.budget.size;
  const auto type_name = [](weights::GgmlType type) {
    return json::Value(to_lower(weights::info(type).name));
  };
  Options o;
  o.set("ctx_size", json::Value(size.n_ctx));
  o.set("parallel", json::Value(size.sequences));
  o.set("kv_unified", json::Value(c.unified));
  o.set("batch_size", json::Value(size.n_batch));
  o.set("ubatch_size", json::Value(size.n_ubatch));
  o.set("flash_attn", json::Value(c.flash ? "on" : "off"));
  o.set("cache_type_k", type_name(c.type_k));
  o.set("cache_type_v", type_name(c.type_v));
  if (s.shape().has_sliding()) o.set("swa_full", json::Value(c.swa_full));
  o.set("kv_offload", json::Value(c.kv_offload));
  if (s.devices() > 0) {
    int64_t layers = 0;
    const Placement& p = s.budget.placement;
    for (const int16_t d : p.layer_device) layers += d != p.cpu;
    o.set("n_gpu_layers", json::Value(layers + (p.output_device != p.cpu ? 1 : 0)));
    o.set("fit", json::Value(s.request.fit ? "on" : "off"));
  }
  return o;
}

std::map<std::string, std::string_view, std::less<>> deciders(const Question& q,
                                                              const PlanState& s) {
  const Request& r = s.request;
  std::map<std::string, std::string_view, std::less<>> who;
  const bool sized = q.workload.sequence_tokens.count() > 0;
  who["ctx_size"] = r.ctx_given && sized       ? "workload"
                    : r.fit && s.devices() > 0 ? "cards"
                                               : "model";
  if (q.workload.concurrency.count() > 0) who["parallel"] = "workload";
  if (r.fit) who["n_gpu_layers"] = "cards";
  return who;
}

// Flags without a negative form; false is their absence.
constexpr std::array<std::string_view, 8> kBareFlags = {"swa_full",  "cpu_moe",         "no_host",
                                                        "embedding", "mlock",           "rerank",
                                                        "metrics",   "backend_sampling"};

std::string joined(const json::Array& items) {
  std::string text;
  for (const json::Value& item : items) {
    if (!text.empty()) text += ",";
    text += item.is_string()    ? item.as_string()
            : item.is_integer() ? format_integer(item.as_integer())
                                : format_number(item.as_double());
  }
  return text;
}

// The file as it is usually named: "Llama-3.1-70B-Q4_K_M.gguf".
std::string usual_name(std::string_view id, std::string_view file_type) {
  if (ends_with(id, ".gguf")) return std::string(id);
  const size_t slash = id.rfind('/');
  if (slash != std::string_view::npos) id.remove_prefix(slash + 1);
  // "org/name-GGUF:Q4_K_M" is a repository with its file's label.
  id = id.substr(0, id.find(':'));
  if (ends_with(to_lower(id), "-gguf")) id.remove_suffix(5);
  const std::string_view mixture = file_type.substr(0, file_type.find(' '));
  return std::string(id) + "-" + std::string(mixture) + ".gguf";
}

std::string file_name(const Question& q, const PlanState& s) {
  return usual_name(q.model->id, s.file->gguf.file_type);
}

std::string draft_file(const model::Model& model, const weights::Weights& weights) {
  return usual_name(model.id, weights.is_gguf() ? weights.gguf->file_type : "F16");
}

std::string command_of(const Question& q, const PlanState& s) {
  Options o;
  const Options given = known_options(q.settings.options, "llamacpp");
  // What the workload settled stands first, then what was given.
  if (q.workload.given() && !given.has("ctx_size")) {
    o.set("ctx_size", json::Value(s.request.context.n_ctx));
  }
  if (!given.has("parallel") && !given.has("tool")) {
    o.set("parallel", json::Value(s.request.context.sequences));
  }
  const bool all_layers = s.request.placement.n_gpu_layers < 0;  // older builds: none unless asked
  if (s.devices() > 0 && !given.has("n_gpu_layers") && !s.fit_decides && all_layers) {
    constexpr int64_t kAllLayers = 99;
    const int64_t every = int64_t(s.shape().layers.size()) + 1;
    o.set("n_gpu_layers", json::Value(std::max(kAllLayers, every)));
  }
  for (const json::Member& m : given.entries()) {
    if (m.key == "tool" || m.key == "n_outputs_max" || m.key == "n_rs_seq") continue;
    const bool bare = std::find(kBareFlags.begin(), kBareFlags.end(), m.key) != kBareFlags.end();
    if (bare && m.value.is_boolean() && !m.value.as_boolean()) continue;
    // Switches that are words on the command line.
    if ((m.key == "flash_attn" || m.key == "fit") && m.value.is_boolean()) {
      o.set(m.key, json::Value(m.value.as_boolean() ? "on" : "off"));
      continue;
    }
    o.set(m.key, m.value.is_array() ? json::Value(joined(m.value.as_array())) : m.value);
  }
  // A file that the program itself fetches needs no path.
  const bool fetched = given.has("hf_repo") || given.has("model_url") || given.has("docker_repo");
  const std::string start =
      s.request.tool + (fetched ? "" : " -m " + shell_quoted(file_name(q, s)));
  if (q.draft.given() && llamacpp::draft_named(given).empty()) {
    o.set("spec_draft_model", json::Value(draft_file(*q.draft.model, *q.draft.weights)));
  }
  return launch_command(start, "", o, q.settings.env, SwitchStyle::paired);
}

// Index among the plan's devices of the fullest one; the host's place when there is none.
size_t fullest_index(const PlanState& s, const Assessment& a) {
  for (size_t d = 0; d < s.devices(); ++d) {
    if (int(s.request.devices[d]) == a.fullest_device) return d;
  }
  return s.devices();
}

KvFacts kv_facts(const Question& q, const PlanState& s, const Assessment& a) {
  const Budget& b = s.budget;
  const size_t d = fullest_index(s, a);
  KvFacts kv;
  kv.bytes_per_token =
      Bytes(bytes_per_token(s.shape(), s.request.context, b.placement.layer_device, int16_t(d)));
  if (s.draft) kv.bytes_per_token += Bytes(s.draft->bytes_per_token(d));
  if (d < s.devices()) {
    const Bytes buffers = Bytes(b.model[d] + b.compute[d]) + s.extras.parts[d].likely();
    const ByteRange beside = {buffers + s.outside[d].context.low,
                              buffers + s.outside[d].context.likely + s.outside[d].scratch.likely,
                              buffers + s.outside[d].context.high + s.outside[d].scratch.high};
    const Bytes free = s.device(q, d).free(), bar = s.device(q, d).total_uncertainty;
    kv.available = {free - bar - beside.high, free - beside.likely, free + bar - beside.low};
  } else if (q.hardware->ram.count() > 0) {
    const Bytes left = q.hardware->ram - Bytes(b.model[d] + b.compute[d] + b.output);
    kv.available = ByteRange::exactly(left);
  }
  kv.pool_tokens = saturating_multiply(b.size.cells, b.size.streams);
  kv.max_sequence_tokens = b.size.cells;
  if (b.size.cells > 0) kv.max_concurrency = double(kv.pool_tokens) / double(b.size.cells);
  return kv;
}

void answer_capacity(const Question& q, PlanState& s, Assessment& a) {
  CapacityQuestion c;
  c.context = s.request.context;
  c.placement = s.request.placement;
  for (size_t d = 0; d < s.devices(); ++d) {
    const Bytes room = s.device(q, d).free() - s.outside[d].context.likely -
                       s.outside[d].scratch.likely - s.extras.parts[d].likely();
    c.room.push_back(std::max<int64_t>(0, room.count()));
  }
  c.room.push_back(q.hardware->ram.count() > 0 ? q.hardware->ram.count() : -1);
  c.sequence_tokens = q.workload.sequence_tokens.count() > 0 ? q.workload.sequence_tokens.count()
                                                             : s.budget.size.cells;
  c.users = std::max<int64_t>(1, q.workload.concurrency.count());
  const ContextSize& size = s.budget.size;
  c.known = c.users == size.sequences && c.sequence_tokens == size.cells &&
            (!s.request.context.unified || size.sequences == 1);
  c.known_excess = excess_of(s.budget, c.room);
  c.want_longest = q.detail == Detail::full;
  if (s.draft) {
    c.beside = [&](const ContextSettings& context, Budget& budget) {
      s.draft->add_to(budget, context, s.shape().train_ctx);
    };
  }
  const Capacity found = find_capacity(*s.budgeter, c);
  a.users = found.users;
  a.longest_sequence = found.longest_sequence;
}

// Host memory that grows while the server runs and that no buffer line shows.
void note_growth(const Question& q, const PlanState& s, Notes& notes) {
  const Bytes prompts = s.extras.prompt_cache, checkpoints = s.extras.checkpoints;
  const Bytes all = prompts + checkpoints;
  if (all.count() == 0) return;
  std::string text = "The server may take more host memory while it runs:";
  if (prompts.count() > 0) {
    text += " a prompt cache of up to " + format_bytes(prompts) + " (--cache-ram)";
  }
  if (checkpoints.count() > 0) {
    if (prompts.count() > 0) text += " and";
    text += " context checkpoints of up to " + format_bytes(checkpoints) + " (--ctx-checkpoints)";
  }
  notes.assume("host_growth", text + ".", "ggml-org/llama.cpp tools/server");
  const Bytes ram = q.hardware->ram;
  if (ram.count() > 0 && all > ram) {
    notes.warn("host_growth_beyond_ram", "saved prompts and checkpoints may outgrow the host's " +
                                             format_bytes(ram) +
                                             "; lower --cache-ram or --ctx-checkpoints");
  }
}

Result<Assessment> assess_question(const Question& q) {
  TRY_ASSIGN(const std::unique_ptr<PlanState> state, plan_state(q));
  PlanState& s = *state;
  Assessment a;
  a.primary = Reading::need;
  a.refusals = refusals_of(s);
  fill_ledgers(q, s, a);
  a.requirements = requirements_of(q, s);
  a.kv = kv_facts(q, s, a);
  if (a.refusals.empty() && q.detail != Detail::verdict) answer_capacity(q, s, a);
  a.log = log_lines_of(q, s);
  a.check = log_check_of(s, fullest_index(s, a));
  a.buffers = buffers_of(q, s);
  a.fit = s.fit;
  a.effective = effective_options(s);
  a.deciders = deciders(q, s);
  a.command = command_of(q, s);
  a.notes = s.notes;
  note_growth(q, s, a.notes);
  return a;
}

}  // namespace
}  // namespace llamacpp

namespace {

class LlamaCppEngine final : public Engine {
 public:
  std::string_view name() const override { return "llama.cpp"; }
  std::string_view program_option() const override { return "tool"; }
  std::unique_ptr<Memo> new_memo() const override { return std::make_unique<llamacpp::FileMemo>(); }
  std::string draft_named(const Settings& settings) const override {
    return llamacpp::draft_named(settings.options);
  }
  Result<Assessment> assess(const Question& question) const override {
    return llamacpp::assess_question(question);
  }
  std::vector<LeverCandidate> levers(const Question& question,
                                     const Assessment& assessment) const override {
    return llamacpp::lever_candidates(question, assessment);
  }
  std::vector<std::string_view> weight_formats() const override {
    return {"BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "Q2_K"};
  }
  std::string_view option_of(Knob knob) const override {
    switch (knob) {
      case Knob::sequence_tokens: return "ctx_size";
      case Knob::concurrency: return "parallel";
      case Knob::batch_tokens: return "ubatch_size";
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

const Engine& engine_llamacpp();
const Engine& engine_llamacpp() {
  static const LlamaCppEngine engine;
  return engine;
}

}  // namespace vramwise::engines
