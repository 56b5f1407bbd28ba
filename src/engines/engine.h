// What a serving engine answers: an engine is a policy over a model, its weights and a machine.
//
// To add an engine: src/engines/<name>/engine.cpp defines `const Engine& engine_<name>();`, a
// profile catalog/engines/<name>.json and golden cases. Nothing to the right of here (plan, report,
// doors) knows which engine it talks to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "engines/calibration.h"
#include "engines/hardware.h"
#include "engines/ledger.h"
#include "engines/options.h"
#include "json/value.h"
#include "model/model.h"
#include "weights/weights.h"

namespace vramwise::engines {

// What is asked of the server; 0 = not given.
struct Workload {
  Tokens sequence_tokens;  // tokens of one sequence, prompt and answer together
  Sequences concurrency;   // sequences at the same time
  bool given() const { return sequence_tokens.count() > 0 || concurrency.count() > 0; }
};

struct Settings {
  Version version;  // absent: the newest profile
  Options options;
  std::map<std::string, std::string> env;          // ordered, so that answers are stable
  std::shared_ptr<const Calibration> calibration;  // null: nothing measured applies
};

// How much of the answer is wanted. A change that is planned again for the list of levers shows its
// verdict, its need and its users; searches and grids only look at the verdict, the need and the
// fullest device. An engine may leave out what costs more and is not among these.
enum class Detail { full, lever, verdict };

// What an engine keeps from one assessment to the next while machine, options and workload vary:
// for one model with one set of weights, made by the engine itself. No answer depends on it.
class Memo {
 public:
  virtual ~Memo() = default;
};

// A second, smaller model that proposes tokens for the first to check (speculative decoding).
struct DraftModel {
  const model::Model* model = nullptr;  // both or neither
  const weights::Weights* weights = nullptr;
  bool given() const { return model != nullptr; }
};

struct Question {
  const model::Model* model = nullptr;
  const weights::Weights* weights = nullptr;
  DraftModel draft;  // where its model is known; an engine may be asked to draft without one
  const Hardware* hardware = nullptr;
  Settings settings;
  Workload workload;
  Detail detail = Detail::full;
  Memo* memo = nullptr;  // of the same engine, model and weights; null: nothing is kept
};

// One thing that must hold. The verdict is made of these by plan/, in order.
struct Requirement {
  enum class Kind {
    engine_refuses,  // the engine checks it itself and refuses with `engine_error`
    out_of_memory,   // an allocation fails (load, profile, capture, first long prompt)
    workload,        // the server starts, but what was asked of it does not fit
  };
  Kind kind = Kind::engine_refuses;
  int device = 0;
  std::string what;  // "kv_cache", "weights", "utilisation", "state slots": binding name
  ByteRange needed;  // bytes, or a count when unit is not "bytes"
  ByteRange available;
  std::string unit = "bytes";
  std::string phase;         // "start", "load", "profile", "sizing", "capture", "serve"
  std::string engine_error;  // the engine's own message with its numbers; empty for workload
  std::string explanation;   // one sentence for people
};

// A refusal that needs no comparison of sizes (impossible option values, heads that do not divide).
struct Refusal {
  std::string what;
  std::string engine_error;
  std::string explanation;
};

struct KvFacts {
  Bytes bytes_per_token;  // per device, in the asked dtype, at long context
  ByteRange available;    // bytes for the cache on the fullest device
  int64_t pool_tokens = 0;
  int64_t blocks = 0;
  int64_t block_tokens = 0;
  double max_concurrency = 0;       // sequences of the maximum length
  int64_t max_sequence_tokens = 0;  // longest sequence that the pool holds and the engine takes
};

// One line the engine will print, with its number.
struct LogLine {
  std::string line;  // the line's fixed words, "Available KV cache memory"
  double value = 0;
  std::string unit;  // "bytes", "tokens", "x", "count"
};

// The figure in the server's own log that tells whether a plan came true.
struct LogCheck {
  std::string line;       // its fixed words, "GPU KV cache size"
  int64_t expected = 0;   // as predicted
  int64_t least = 0;      // what the question needs of it; 0: nothing by itself
  std::string_view unit;  // "tokens", "blocks", "bytes"
};

// Buffers under the program's own names (llama.cpp, Ollama).
struct Buffers {
  std::vector<std::pair<std::string, Bytes>> model, context, compute;  // "CUDA0", "CPU"
  Bytes kv, swa_kv, recurrent, output;
};

// Bytes of weights and cache that one generated token reads, from the memory each buffer is in:
// "CUDA0", "CPU". At a full context, and with the experts that a token is routed to.
using ReadsPerToken = std::vector<std::pair<std::string, Bytes>>;

// What llama.cpp's fit chooses where -c or -ngl is left to it.
struct Fit {
  int64_t ctx_size = 0;
  int64_t n_gpu_layers = 0;
  std::vector<double> tensor_split;
  std::vector<std::string> override_tensor;
  ReadsPerToken reads;

  // A placement at the same context, in the same memory, that reads less from the host.
  struct Better {
    int64_t n_gpu_layers = 0;
    std::vector<double> tensor_split;
    std::vector<std::string> override_tensor;
    ReadsPerToken reads;
  };
  std::optional<Better> better;
};

enum class Reading { need, reserve, peak };

struct Assessment {
  Ledger need, reserve, peak;  // rows of each reading (need: what this workload needs; reserve:
                               // what the engine takes up front; peak: the worst transient)
  Reading primary = Reading::reserve;  // which one `ledger` and `totals` of the answer show
  int fullest_device = 0;
  std::vector<Refusal> refusals;
  std::vector<Requirement> requirements;
  KvFacts kv;
  // Users at the asked (else the maximum) sequence length, and the longest sequence at the asked
  // (else one) concurrency, both bounded by the engine's limits. -1 = not answered.
  int64_t users = -1;
  int64_t longest_sequence = -1;
  std::vector<LogLine> log;
  std::optional<LogCheck> check;  // empty: the log has no such figure
  std::optional<Buffers> buffers;
  std::optional<Fit> fit;
  Options effective;  // options after defaults, those that matter for memory
  // Who decided those that nobody gave, where it was not the program's own default: "workload",
  // "model", "cards" (their number or memory), "weights" (the checkpoint says so).
  std::map<std::string, std::string_view, std::less<>> deciders;
  std::string command;  // the line that runs this
  Notes notes;
};

// A change worth trying, proposed by the engine that knows its knobs. Plan re-plans each.
struct LeverCandidate {
  std::string id;      // "max_model_len", "kv_cache_dtype", "weights", "tensor_parallel", …
  std::string change;  // "store the cache in fp8"
  std::string option;  // "--kv-cache-dtype fp8"
  std::string cost;    // side effect in a few words: "small accuracy risk"
  int order = 0;       // cost to the user: lower is tried and shown first
  // What changes in the question; empty parts stay.
  std::vector<std::pair<std::string, json::Value>> options;
  std::string weights_format;     // re-choose weights
  int devices = 0;                // number of devices of the same kind
  std::string gpu;                // another GPU
  bool changes_workload = false;  // asks for less (shorter, fewer)
  Workload workload;
};

// What people turn, whatever an engine calls it.
enum class Knob { sequence_tokens, concurrency, batch_tokens, lora_slots };

// A way to spread a model over several equal devices.
struct Layout {
  std::string label;  // "TP4", "TP4 x PP2", "layer split"; empty for one device
  std::vector<std::pair<std::string, json::Value>> options;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;  // "vllm", "llama.cpp"
  // Everything: ledger, verdict material, log lines, command. Errors are for bad input only; "does
  // not fit" is an answer.
  virtual Result<Assessment> assess(const Question& question) const = 0;
  // An empty memo for questions about one model with one set of weights; null: it keeps none.
  virtual std::unique_ptr<Memo> new_memo() const { return nullptr; }
  // Changes in order of cost, given the assessment of the question as asked.
  virtual std::vector<LeverCandidate> levers(const Question& question,
                                             const Assessment& assessment) const = 0;
  // Weight formats that this engine loads, best quality first, for levers and sweeps.
  virtual std::vector<std::string_view> weight_formats() const = 0;
  // The canonical option behind a knob; empty: the engine has none.
  virtual std::string_view option_of(Knob) const { return {}; }
  // Layouts over that many devices which the engine accepts for this model, best first. One device
  // has one layout without options.
  virtual std::vector<Layout> layouts(const Question& question, int devices) const {
    (void)question;
    return devices >= 1 ? std::vector<Layout>{{}} : std::vector<Layout>{};
  }
  // The option that takes the program of a pasted line ("llama-server"), where an engine's programs
  // have defaults of their own; empty: they do not.
  virtual std::string_view program_option() const { return {}; }
  // The separate draft model that the options name; empty: none, or a head that is no model of its
  // own.
  virtual std::string draft_named(const Settings&) const { return {}; }
  // Keys of the model's config.json that the options replace (config_changes.h); null: none.
  virtual Result<json::Value> config_changes(const Options&) const { return json::Value(); }
  // Devices that the options themselves speak of (parallel sizes); 0: they do not say.
  virtual int64_t devices_asked(const Options&) const { return 0; }
  // Whether it runs on such a card at all.
  virtual bool runs_on(const catalog::Gpu&) const { return true; }
};

using EngineFactory = const Engine& (*)();
// All engines, sorted by folder. Defined in registry.gen.cpp by the build.
std::span<const EngineFactory> engine_factories();

// By name ("vllm", "llama.cpp", "llamacpp", "llama-server"). Errors: not_found with nearest names.
Result<const Engine*> find_engine(std::string_view name);

}  // namespace vramwise::engines
