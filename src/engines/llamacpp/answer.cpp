// A plan's rows, requirements, log lines and buffers.
#include <algorithm>

#include "base/text.h"
#include "engines/llamacpp/graph/families.h"
#include "engines/llamacpp/plan_state.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr std::string_view kTensors = "the GGUF's tensor table";
constexpr std::string_view kCache = "ggml-org/llama.cpp src/llama-kv-cache.cpp";
constexpr std::string_view kRecurrent = "ggml-org/llama.cpp src/llama-memory-recurrent.cpp";
constexpr std::string_view kGraph =
    "ggml-org/llama.cpp src/llama-graph.cpp, ggml/src/ggml-alloc.c, ggml/src/ggml-backend.cpp";
constexpr std::string_view kContext = "ggml-org/llama.cpp src/llama-context.cpp";
constexpr std::string_view kRepack = "ggml-org/llama.cpp ggml/src/ggml-cpu/repack.cpp";
constexpr std::string_view kProjector = "ggml-org/llama.cpp tools/mtmd/clip.cpp";
constexpr std::string_view kAdapters = "ggml-org/llama.cpp src/llama-adapter.cpp";
constexpr std::string_view kServer = "ggml-org/llama.cpp tools/server/server-context.cpp";
constexpr std::string_view kHeads = "sgl-project/SpecForge configs of EAGLE-3 and DFlash heads";
constexpr std::string_view kDriver = "driver figures beside printed buffers in public logs";

// Graphs that follow a neighbouring family may be off by a quarter.
ByteRange compute_range(const Shape& shape, int64_t bytes) {
  if (family_of(shape.architecture).checked) return ByteRange::exactly(Bytes(bytes));
  return {Bytes(bytes) * 3 / 4, Bytes(bytes), Bytes(bytes) * 5 / 4};
}

class RowWriter {
 public:
  explicit RowWriter(const PlanState& s) : s_(s) {}

  // What a device holds; the last index is the host.
  // `grows`: with host memory that a start does not take, as a range up to its limit.
  void write(size_t d, Ledger& ledger, bool with_scratch, bool grows = false) const {
    const Budget& b = s_.budget;
    const bool host = d == s_.devices();
    const int device = host ? kHost : int(s_.request.devices[d]);
    const auto add = [&](Component c, std::string_view item, ByteRange bytes, Basis basis,
                         std::string_view source, Formula formula = {}) {
      LedgerRow row;
      row.device = device;
      row.component = c;
      row.item = std::string(item);
      row.bytes = bytes;
      row.basis = basis;
      row.formula = std::move(formula);
      row.source = source;
      ledger.add(std::move(row));
    };
    const auto exactly = [](int64_t n) { return ByteRange::exactly(Bytes(n)); };
    const int64_t experts = b.placement.expert_bytes[d];
    const int64_t tied =
        host || int16_t(d) != b.placement.output_device ? 0 : b.placement.tied_copy_bytes;
    add(Component::weights, "experts", exactly(experts), Basis::exact, kTensors,
        {"sum of the expert stacks on it", {}});
    add(Component::weights, "second copy of the tied embedding", exactly(tied), Basis::exact,
        kTensors, {"token_embd once more, as output", {}});
    add(Component::weights, host ? "weights left on the host" : "layers and output",
        exactly(b.model[d] - experts - tied), Basis::exact, kTensors,
        {"sum of the tensors on it",
         {{"layers_on_gpus", double(layers_on_gpus())},
          {"layers", double(s_.shape().layers.size() + 1)}}});

    const double cells = double(b.size.cells), streams = double(b.size.streams);
    add(Component::kv_cache, "attention cache", exactly(b.full[d]), Basis::exact, kCache,
        {"cells x streams x bytes of K and V of its layers",
         {{"cells", cells}, {"streams", streams}}});
    add(Component::kv_cache, "sliding-window cache", exactly(b.sliding[d]), Basis::exact, kCache,
        {"cells x streams x bytes of K and V; cells = window (x slots when shared) + ubatch, to "
         "256",
         {{"cells", double(b.size.sliding_cells)},
          {"streams", streams},
          {"window", double(s_.shape().window)},
          {"ubatch", double(b.size.n_ubatch)}}});
    add(Component::kv_cache, "recurrent states", exactly(b.recurrent[d]), Basis::exact, kRecurrent,
        {"slots x (1 + snapshots) x F32 state of its layers",
         {{"slots", double(b.size.sequences)},
          {"snapshots", s_.shape().keeps_rollback ? double(s_.request.context.rollback) : 0}}});
    write_draft(d, add);

    const Basis basis =
        family_of(s_.shape().architecture).checked ? Basis::derived : Basis::modelled;
    add(Component::activations, "compute buffer", compute_range(s_.shape(), b.compute[d]), basis,
        kGraph,
        {"high-water mark of the prompt graph",
         {{"batch_tokens", double(b.size.tokens)},
          {"logit_rows", double(b.size.rows)},
          {"nodes", double(b.nodes)},
          {"splits", double(b.splits)},
          {"input_copies", double(b.copies)}}});
    const Extras::Part& extra = s_.extras.parts[d];
    add(Component::weights, "vision projector", extra.projector, Basis::modelled, kProjector,
        {"matrices as the file has them; vectors, positions and the first layer in F32", {}});
    add(Component::activations, "compute buffer of the vision projector", extra.projector_compute,
        Basis::modelled, kProjector,
        {"4 x patches x (2 x width + feed-forward + kept levels + colours) of one image", {}});
    add(Component::weights, "adapters", extra.adapters, Basis::modelled, kAdapters,
        {"2 x rank x (rows + columns) of every adapted matrix", {}});
    if (host) {
      add(Component::activations, "output buffer", exactly(b.output), Basis::exact, kContext,
          s_.shape().encoder ? Formula{"4 x hidden size x slots",
                                       {{"hidden_size", double(s_.shape().hidden)},
                                        {"slots", double(b.size.sequences)}}}
                             : Formula{"4 x vocabulary x slots",
                                       {{"vocabulary", double(s_.shape().vocab)},
                                        {"slots", double(b.size.sequences)}}});
      add(Component::weights, "repacked copies of CPU weights", exactly(repacked()), Basis::derived,
          kRepack);
      if (!grows) return;
      const auto up_to = [](Bytes limit) { return ByteRange{Bytes(), Bytes(), limit}; };
      add(Component::kv_cache, "saved prompts, growing to", up_to(s_.extras.prompt_cache),
          Basis::derived, kServer, {"the limit of --cache-ram", {}});
      add(Component::kv_cache, "context checkpoints, growing to", up_to(s_.extras.checkpoints),
          Basis::derived, kServer,
          {"checkpoints x (window cells + states) of one sequence",
           {{"checkpoints", double(s_.extras.checkpoint_count)}}});
      return;
    }
    const Outside& o = s_.outside[d];
    add(Component::runtime, "context and kernels of the backend", o.context,
        o.measured ? Basis::measured : Basis::modelled, kDriver);
    if (with_scratch) {
      add(Component::runtime, "scratch of ops at the first long prompt", o.scratch, Basis::modelled,
          kDriver);
    }
  }

  // The drafter's own context; a head of the same file has its weights there.
  template <class Add>
  void write_draft(size_t d, const Add& add) const {
    const Budget& b = s_.budget;
    const auto exactly = [](int64_t n) { return ByteRange::exactly(Bytes(n)); };
    const Shape& shape = s_.draft ? s_.draft->shape() : s_.shape();
    const Basis graph = family_of(shape.architecture).checked ? Basis::derived : Basis::modelled;
    const std::string of = s_.draft ? " of the draft model" : " of the draft head";
    if (s_.draft && s_.draft->is_estimated()) {
      const int64_t compute = b.draft_compute[d];
      const auto part = [&](double f) { return Bytes(int64_t(double(b.draft_model[d]) * f)); };
      add(Component::weights, "weights" + of,
          {part(s_.draft->low()), Bytes(b.draft_model[d]), part(s_.draft->high())}, Basis::modelled,
          kHeads, Formula{"one decoder layer like the target's, and its fusion", {}});
      add(Component::kv_cache, "cache" + of, exactly(b.draft_cache[d]), Basis::modelled, kCache,
          Formula{"layers of the head x the target's widest cache", {}});
      add(Component::activations, "compute buffer" + of,
          {Bytes(compute / 2), Bytes(compute), Bytes(compute * 2)}, Basis::modelled, kGraph,
          Formula{});
      return;
    }
    add(Component::weights, "weights" + of, exactly(b.draft_model[d]), Basis::exact, kTensors,
        Formula{"sum of the tensors on it", {}});
    add(Component::kv_cache, "cache" + of, exactly(b.draft_cache[d]), Basis::exact, kCache,
        Formula{});
    const int64_t compute = b.draft_compute[d];
    if (!s_.draft && !draft_graph_known(shape)) {
      add(Component::activations, "compute buffer" + of,
          {Bytes(compute / 2), Bytes(compute), Bytes(saturating_multiply(compute, 2))},
          Basis::modelled, kGraph, Formula{});
    } else {
      add(Component::activations, "compute buffer" + of, compute_range(shape, compute), graph,
          kGraph, Formula{});
    }
    if (d == s_.devices()) {
      add(Component::activations, "output buffer" + of, exactly(b.draft_output), Basis::exact,
          kContext, Formula{});
    }
  }

  // Without a mapping the repacked weights replace the plain ones.
  int64_t repacked() const {
    return s_.request.placement.mmap ? s_.budget.placement.repacked_bytes : 0;
  }

  int64_t layers_on_gpus() const {
    const Placement& p = s_.budget.placement;
    int64_t n = p.output_device != p.cpu ? 1 : 0;
    for (const int16_t d : p.layer_device) n += d != p.cpu;
    return n;
  }

 private:
  const PlanState& s_;
};

// The allocation that fails, in the words of the CUDA backend.
std::string allocation_error(const Question& q, const PlanState& s, size_t d) {
  const Backend backend = q.hardware->backend;
  if (backend != Backend::cuda && backend != Backend::rocm) return {};
  const Budget& b = s.budget;
  int64_t left = (s.device(q, d).free() - s.outside[d].context.likely).count();
  for (const int64_t size : {b.model[d], b.full[d], b.sliding[d], b.recurrent[d], b.compute[d]}) {
    if (size > left) {
      return "ggml_backend_cuda_buffer_type_alloc_buffer: allocating " + format_mib(Bytes(size)) +
             " MiB on device " + format_integer(int64_t(s.request.devices[d])) +
             ": cudaMalloc failed: out of memory";
    }
    left -= size;
  }
  return {};
}

std::string binding_part(const PlanState& s, size_t d, Bytes room) {
  if (Bytes(s.budget.model[d]) > room) return "weights";
  if (Bytes(s.budget.model[d] + s.budget.context(d)) > room) return "kv_cache";
  return "activations";
}

// A draft model on cards that the target does not use.
void write_elsewhere(const Question& q, const PlanState& s, Ledger& ledger) {
  if (!s.draft) return;
  for (const Draft::Elsewhere& e : s.draft->elsewhere()) {
    const Outside o = outside_of(*s.profile, q.hardware->backend, q.hardware->devices[e.device],
                                 s.draft->shape(), s.budget.size, q.settings.calibration.get());
    const auto add = [&](Component c, std::string_view item, ByteRange bytes, Basis basis,
                         std::string_view source) {
      LedgerRow row;
      row.device = int(e.device);
      row.component = c;
      row.item = std::string(item);
      row.bytes = bytes;
      row.basis = basis;
      row.source = source;
      ledger.add(std::move(row));
    };
    add(Component::weights, "weights of the draft model", ByteRange::exactly(Bytes(e.model)),
        Basis::exact, kTensors);
    add(Component::kv_cache, "cache of the draft model", ByteRange::exactly(Bytes(e.cache)),
        Basis::exact, kCache);
    add(Component::activations, "compute buffer of the draft model",
        compute_range(s.draft->shape(), e.compute), Basis::derived, kGraph);
    add(Component::runtime, "context and kernels of the backend", o.context, Basis::modelled,
        kDriver);
    add(Component::runtime, "scratch of ops at the first long prompt", o.scratch, Basis::modelled,
        kDriver);
  }
}

}  // namespace

void fill_ledgers(const Question& q, const PlanState& s, Assessment& a) {
  const RowWriter writer(s);
  for (Ledger* ledger : {&a.need, &a.reserve, &a.peak}) write_elsewhere(q, s, *ledger);
  for (size_t d = 0; d <= s.devices(); ++d) {
    writer.write(d, a.need, true, true);
    writer.write(d, a.reserve, false);
    writer.write(d, a.peak, true, true);
  }
  if (s.devices() == 0) {
    a.fullest_device = kHost;
    return;
  }
  // The device with the least room left.
  Bytes least(kInt64Max);
  for (size_t d = 0; d < s.devices(); ++d) {
    const int index = int(s.request.devices[d]);
    const Bytes left = s.device(q, d).free() - a.need.total(index).likely;
    if (left < least) {
      least = left;
      a.fullest_device = index;
    }
  }
}

std::vector<Requirement> requirements_of(const Question& q, const PlanState& s) {
  std::vector<Requirement> list;
  Ledger ledger;
  const RowWriter writer(s);
  for (size_t d = 0; d <= s.devices(); ++d) writer.write(d, ledger, true);
  for (size_t d = 0; d < s.devices(); ++d) {
    const Device& device = s.device(q, d);
    const int index = int(s.request.devices[d]);
    Requirement r;
    r.kind = Requirement::Kind::out_of_memory;
    r.device = index;
    r.needed = ledger.total(index);
    r.available = {device.free() - device.total_uncertainty, device.free(),
                   device.free() + device.total_uncertainty};
    const Bytes room = device.free() - s.outside[d].context.likely;
    r.what = binding_part(s, d, room);
    r.phase = r.what == "weights" ? "load" : "start";
    const std::string name = s.budgeter->backends()[d].name;
    const bool over = r.needed.likely > r.available.likely;
    if (over) {
      r.explanation = name + " needs " + format_bytes(r.needed.likely) + " and has " +
                      format_bytes(r.available.likely) + " free";
      r.engine_error = allocation_error(q, s, d);
      if (s.fit_would_change && s.fit) {
        r.explanation += "; without -ngl, llama.cpp's fit would start it with " +
                         format_integer(s.fit->n_gpu_layers) + " of " +
                         format_integer(int64_t(s.shape().layers.size()) + 1) +
                         " layers on the GPUs";
        if (!s.fit->override_tensor.empty()) r.explanation += " and some experts on the CPU";
      }
    } else {
      r.explanation = name + " holds " + format_bytes(r.needed.likely) + " of " +
                      format_bytes(r.available.likely) + " free";
    }
    list.push_back(std::move(r));
  }
  if (s.draft) {
    write_elsewhere(q, s, ledger);
    for (const Draft::Elsewhere& e : s.draft->elsewhere()) {
      const Device& device = q.hardware->devices[e.device];
      Requirement r;
      r.kind = Requirement::Kind::out_of_memory;
      r.device = int(e.device);
      r.what = "draft_model";
      r.phase = "load";
      r.needed = ledger.total(int(e.device));
      r.available = {device.free() - device.total_uncertainty, device.free(),
                     device.free() + device.total_uncertainty};
      r.explanation = "the draft model needs " + format_bytes(r.needed.likely) + " on device " +
                      format_integer(int64_t(e.device)) + ", which has " +
                      format_bytes(r.available.likely) + " free";
      list.push_back(std::move(r));
    }
  }
  if (q.hardware->ram.count() > 0) {
    Requirement r;
    // Mapped weights are page cache: too little RAM is slow, not fatal.
    const bool mapped = s.request.placement.mmap;
    r.kind = mapped ? Requirement::Kind::workload : Requirement::Kind::out_of_memory;
    r.device = kHost;
    r.what = "host_memory";
    r.needed = ledger.total(kHost);
    r.available = ByteRange::exactly(q.hardware->ram);
    r.phase = "load";
    r.explanation = "the host needs " + format_bytes(r.needed.likely) + " and has " +
                    format_bytes(q.hardware->ram);
    list.push_back(std::move(r));
  }

  const ContextSize& size = s.budget.size;
  const int64_t users = q.workload.concurrency.count();
  const int64_t tokens = q.workload.sequence_tokens.count();
  const auto count_requirement = [&](std::string what, int64_t needed, int64_t available,
                                     std::string unit, std::string explanation) {
    Requirement r;
    r.kind = Requirement::Kind::workload;
    r.what = std::move(what);
    r.needed = ByteRange::exactly(Bytes(needed));
    r.available = ByteRange::exactly(Bytes(available));
    r.unit = std::move(unit);
    r.phase = "serve";
    r.explanation = std::move(explanation);
    list.push_back(std::move(r));
  };
  if (users > 0) {
    count_requirement("slots", users, size.sequences, "count",
                      format_integer(users) + " users want a slot each, there are " +
                          format_integer(size.sequences));
  }
  if (tokens > 0) {
    const int64_t together = size.streams == 1 ? std::max<int64_t>(1, users) : 1;
    count_requirement("context", saturating_multiply(tokens, together), size.cells, "tokens",
                      "sequences of " + format_grouped(tokens) + " tokens want " +
                          format_grouped(saturating_multiply(tokens, together)) +
                          " cells, a stream has " + format_grouped(size.cells));
  }
  return list;
}

namespace {

// Split mode row: rows that lie on a device, and those printed under its name.
int64_t rows_on(const Placement& p, size_t device) {
  return p.row_bytes.empty() ? 0 : p.row_bytes[device];
}
int64_t printed_rows(const Placement& p, size_t device) {
  return p.printed_row_bytes.empty() ? 0 : p.printed_row_bytes[device];
}

}  // namespace

Buffers buffers_of(const Question&, const PlanState& s) {
  Buffers buffers;
  const Budget& b = s.budget;
  int64_t full = 0, sliding = 0, recurrent = 0;
  for (size_t d = 0; d < b.model.size(); ++d) {
    const std::string& name = s.budgeter->backends()[d].name;
    buffers.model.emplace_back(name, Bytes(b.model[d] - rows_on(b.placement, d)));
    if (const int64_t rows = printed_rows(b.placement, d); rows > 0) {
      buffers.model.emplace_back(name + "_Split", Bytes(rows));
    }
    buffers.context.emplace_back(name, Bytes(b.context(d)));
    buffers.compute.emplace_back(name, Bytes(b.compute[d]));
    full = saturating_add(full, b.full[d]);
    sliding = saturating_add(sliding, b.sliding[d]);
    recurrent = saturating_add(recurrent, b.recurrent[d]);
  }
  buffers.kv = Bytes(full);
  buffers.swa_kv = Bytes(sliding);
  buffers.recurrent = Bytes(recurrent);
  buffers.output = Bytes(b.output);
  return buffers;
}

LogCheck log_check_of(const PlanState& s, size_t device) {
  return {s.budgeter->backends()[device].name + " buffer sizes", s.budget.total(device), 0,
          "bytes"};
}

std::vector<LogLine> log_lines_of(const Question& q, const PlanState& s) {
  std::vector<LogLine> lines;
  const Budget& b = s.budget;
  const auto add = [&](std::string line, int64_t value, std::string_view unit = "bytes") {
    if (value == 0 && unit == "bytes") return;
    lines.push_back({std::move(line), double(value), std::string(unit)});
  };
  const std::string host = s.devices() > 0 && s.budgeter->backends().front().host_pinned
                               ? replace_all(device_name(q.hardware->backend, 0), "0", "") + "_Host"
                               : std::string("CPU");
  for (size_t d = 0; d < s.devices(); ++d) {
    const std::string& name = s.budgeter->backends()[d].name;
    add(name + " model buffer size", b.model[d] - rows_on(b.placement, d));
    add(name + "_Split model buffer size", printed_rows(b.placement, d));
  }
  add("n_ctx", b.size.n_ctx, "tokens");
  add("n_ctx_seq", b.size.cells, "tokens");
  add("n_batch", b.size.n_batch, "tokens");
  add("n_ubatch", b.size.n_ubatch, "tokens");
  add("n_seq_max", b.size.sequences, "count");
  add(host + "  output buffer size", b.output);
  for (size_t d = 0; d < b.model.size(); ++d) {
    const std::string& name = s.budgeter->backends()[d].name;
    add(name + " KV buffer size", b.full[d]);
    add(name + " KV buffer size (SWA)", b.sliding[d]);
    add(name + " RS buffer size", b.recurrent[d]);
  }
  for (size_t d = 0; d < b.model.size(); ++d) {
    const bool cpu = d == s.devices();
    add((cpu ? host : s.budgeter->backends()[d].name) + " compute buffer size", b.compute[d]);
  }
  // The draft model's context prints the same lines a second time.
  for (size_t d = 0; d < b.model.size(); ++d) {
    const std::string of = s.draft ? "draft model, " : "draft head, ";
    const std::string& name = s.budgeter->backends()[d].name;
    add(of + name + " model buffer size", b.draft_model[d]);
    add(of + name + " KV buffer size", b.draft_cache[d]);
    add(of + (d == s.devices() ? host : name) + " compute buffer size", b.draft_compute[d]);
  }
  add("graph nodes", b.nodes, "count");
  add("graph splits", b.splits, "count");
  return lines;
}

}  // namespace vramwise::engines::llamacpp
