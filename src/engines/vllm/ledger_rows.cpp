#include "engines/vllm/ledger_rows.h"

#include <algorithm>

namespace vramwise::engines::vllm {
namespace {

constexpr std::string_view kWorker = "vllm v1/worker/gpu_worker.py";
constexpr std::string_view kRunner = "vllm v1/worker/gpu_model_runner.py";
constexpr std::string_view kCacheUtils = "vllm v1/core/kv_cache_utils.py";
constexpr std::string_view kLayers = "vllm model_executor/layers";
constexpr std::string_view kFitted = "public server logs";
constexpr std::string_view kMeasured = "logs saved on this machine";
const Calibration kNothing;

class Rows {
 public:
  Rows(const Build& b, const DeviceBudget& d, const Calibration& measured)
      : b_(b), d_(d), measured_(measured) {}

  void weights(Ledger& ledger) const;
  void ngrams(Ledger& ledger) const;
  void activations(Ledger& ledger) const;
  void runtime(Ledger& ledger) const;
  void pool(Ledger& ledger, int64_t blocks, Bytes block, std::string_view item) const;
  void graphs(Ledger& ledger, const ByteRange& bytes, std::string_view item,
              Bytes workspace = {}) const;

 private:
  LedgerRow row(Component component, std::string_view item, ByteRange bytes, Basis basis) const {
    LedgerRow r;
    r.device = d_.device;
    r.component = component;
    r.item = std::string(item);
    r.bytes = bytes;
    r.basis = basis;
    return r;
  }
  // Its share of the part's bar, so that rows add up to the part.
  static ByteRange share(Bytes part, const ByteRange& whole) {
    if (whole.likely.count() <= 0) return ByteRange::exactly(part);
    const double f = double(part.count()) / double(whole.likely.count());
    return {part - Bytes(int64_t(double((whole.likely - whole.low).count()) * f)), part,
            part + Bytes(int64_t(double((whole.high - whole.likely).count()) * f))};
  }

  const Build& b_;
  const DeviceBudget& d_;
  const Calibration& measured_;
};

void Rows::weights(Ledger& ledger) const {
  const RankWeights& w = d_.stage->weights;
  const RankWeights left = without_offloaded(w, b_.given.offload);
  const ByteRange& drafter = d_.stage->drafter;
  // The bar of the rest is shared out; an estimated head has its own.
  ByteRange whole = d_.weights;
  if (!drafter.is_exact()) {
    whole = {whole.low - drafter.low, whole.likely - drafter.likely, whole.high - drafter.high};
  }
  for (size_t i = 0; i < kWeightItems; ++i) {
    const bool head = WeightItem(i) == WeightItem::drafter && !drafter.is_exact();
    if (left.bytes[i].count() == 0 && !head) continue;
    const Basis basis = measured_.weights ? Basis::measured : Basis::derived;
    LedgerRow r = row(Component::weights, to_string(WeightItem(i)),
                      head ? drafter : share(left.bytes[i], whole), head ? Basis::modelled : basis);
    r.source = kLayers;
    r.formula = {head ? "estimated from the shape of its target"
                      : "this rank's share of the tensors, as loaded",
                 {{"tensor_parallel", double(b_.given.tensor)}}};
    ledger.add(std::move(r));
  }
  if (measured_.weights) {
    LedgerRow here = row(Component::weights, "measured here",
                         ByteRange::exactly(measured_.weights->shift), Basis::measured);
    here.source = kMeasured;
    here.formula = {"measured on this machine less the rule", {}};
    ledger.add(std::move(here));
  }
  const Bytes deepstack = d_.stage->shape.weights_per_batch_token * b_.decided.batch_tokens;
  LedgerRow r =
      row(Component::weights, "buffers of a batch", share(deepstack, d_.weights), Basis::derived);
  r.source = kLayers;
  r.formula = {"batch_tokens x bytes_per_token",
               {{"batch_tokens", double(b_.decided.batch_tokens)},
                {"bytes_per_token", double(d_.stage->shape.weights_per_batch_token.count())}}};
  ledger.add(std::move(r));
  if (b_.given.offload.count() > 0) {
    LedgerRow host;
    host.device = kHost;
    host.component = Component::weights;
    host.item = "offloaded weights";
    host.bytes = ByteRange::exactly(std::min(b_.given.offload, w.total()));
    host.basis = Basis::derived;
    host.source = kLayers;
    ledger.add(std::move(host));
  }
}

void Rows::ngrams(Ledger& ledger) const {
  if (b_.ngrams_on_host.count() == 0) return;
  LedgerRow host;
  host.device = kHost;
  host.component = Component::weights;
  host.item = "n-gram table";
  host.bytes = ByteRange::exactly(b_.ngrams_on_host);
  host.basis = Basis::derived;
  host.source = "vllm models/qwen4_exp/nvidia/ple_layer.py";
  host.formula = {"VLLM_PLE_CPU_OFFLOAD: one process keeps the whole table", {}};
  ledger.add(std::move(host));
}

void Rows::activations(Ledger& ledger) const {
  const VllmActivations& a = d_.totals.activations;
  const VllmShape& s = d_.stage->shape;
  const Bytes fixed = s.stays_fixed;
  const Bytes experts_stay = s.expert_workspace_stays ? a.experts : Bytes();
  const Bytes indexer = a.stays - fixed - experts_stay;
  // The bar is that of the other rows.
  const Bytes exact = fixed + s.measured_shift + indexer;
  const ByteRange open = d_.activations + ByteRange::exactly(Bytes() - exact);
  const auto add_range = [&](std::string_view item, ByteRange bytes, Formula formula) {
    if (bytes.likely.count() == 0) return;
    LedgerRow r = row(Component::activations, item, bytes,
                      measured_.activations ? Basis::measured : Basis::derived);
    r.source = kRunner;
    r.formula = std::move(formula);
    ledger.add(std::move(r));
  };
  const auto add_exact = [&](std::string_view item, Bytes bytes, Formula formula) {
    add_range(item, ByteRange::exactly(bytes), std::move(formula));
  };
  const auto add = [&](std::string_view item, Bytes bytes, Formula formula) {
    add_range(item, share(bytes, open), std::move(formula));
  };
  const double t = double(b_.decided.batch_tokens), n = double(b_.decided.max_seqs);
  add_exact("cuBLAS workspace", fixed, {"fixed by the card", {}});
  add_exact("measured here", s.measured_shift, {"measured on this machine less the rule", {}});
  add("expert workspace", experts_stay,
      {"batch_tokens x experts_per_token x row_bytes",
       {{"batch_tokens", t},
        {"experts_per_token", double(s.experts_per_token)},
        {"row_bytes", double(s.expert_row_bytes)}}});
  add_exact("indexer buffers", indexer,
            {"max_model_len x bytes_per_token",
             {{"max_model_len", double(b_.decided.max_model_len)},
              {"bytes_per_token", double(s.stays_per_length)}}});
  add("encoder inputs and outputs", a.outputs,
      {"items x (patches x values of a patch + tokens x hidden_size) x element", {}});
  if (a.compile > std::max({a.sampler, a.layer, a.encoder})) {
    add("first compilation", a.compile,
        {"vocabulary / tensor_parallel x hidden_size x element, until a restart",
         {{"tensor_parallel", double(b_.given.tensor)}}});
  } else if (a.layer >= a.sampler && a.layer >= a.encoder) {
    add("one layer's forward pass", a.layer,
        {"batch_tokens x bytes_per_token (+ MLA rows, expert rows)",
         {{"batch_tokens", t}, {"bytes_per_token", double(s.layer_per_token)}}});
  } else if (a.sampler >= a.encoder) {
    add("sampler warm-up", a.sampler,
        {"sequences x bytes_per_sequence + batch_tokens x bytes_per_token + scratch",
         {{"sequences", n},
          {"bytes_per_sequence", double(s.sampler_per_sequence)},
          {"batch_tokens", t},
          {"bytes_per_token", double(s.sampler_per_token)},
          {"scratch", double(sampler_buffer(s, int64_t(n)).count())}}});
  } else {
    add("vision encoder", a.encoder,
        {"items x patches x (2 ffn_size / tensor_parallel + 4 hidden_size) x element", {}});
  }
}

void Rows::runtime(Ledger& ledger) const {
  LedgerRow context = row(Component::runtime, "CUDA context and communication", d_.before_snapshot,
                          Basis::modelled);
  context.source = kFitted;
  context.formula = {"gone before vLLM looks at the card, outside of its budget", {}};
  ledger.add(std::move(context));
  const Bytes fused = d_.totals.all_reduce;
  const Bytes state = d_.totals.sampler_state, left = d_.totals.compile_left;
  LedgerRow outside =
      row(Component::runtime, "kernels and libraries",
          d_.non_torch + ByteRange{-fused - state, -fused - state - left, -fused - state - left},
          measured_.non_torch ? Basis::measured : Basis::modelled);
  outside.source = kFitted;
  outside.formula = {"memory outside of torch after the profile run", {}};
  ledger.add(std::move(outside));
  const VllmShape& s = d_.stage->shape;
  if (state.count() > 0) {
    LedgerRow counters =
        row(Component::runtime, "sampler counters", ByteRange::exactly(state), Basis::derived);
    counters.source = "vllm v1/worker/gpu/sample/penalties.py";
    counters.formula = {"sequences x (4 vocabulary + vocabulary / 8)",
                        {{"sequences", double(b_.decided.max_seqs)}}};
    ledger.add(std::move(counters));
  }
  if (left.count() > 0) {
    LedgerRow stays = row(Component::runtime, "left by the first compilation",
                          ByteRange{Bytes(), left, left}, Basis::modelled);
    stays.source = kFitted;
    stays.formula = {"vocabulary / tensor_parallel x hidden_size x element, until a restart",
                     {{"tensor_parallel", double(b_.given.tensor)}}};
    ledger.add(std::move(stays));
  }
  if (fused.count() == 0) return;
  LedgerRow buffers =
      row(Component::runtime, "all-reduce buffers", ByteRange::exactly(fused), Basis::derived);
  buffers.source = "flashinfer comm/trtllm_ar.py";
  buffers.formula = {
      "4 x tokens x ranks x hidden_size x element, in three buffers rounded up to a step",
      {{"tokens", double(std::min(s.all_reduce_tokens, b_.decided.batch_tokens))},
       {"ranks", double(b_.given.tensor)},
       {"step", double(s.all_reduce_step.count())}}};
  ledger.add(std::move(buffers));
}

void Rows::graphs(Ledger& ledger, const ByteRange& bytes, std::string_view item,
                  Bytes workspace) const {
  LedgerRow r =
      row(Component::runtime, item, bytes, measured_.graphs ? Basis::measured : Basis::modelled);
  r.source = kWorker;
  const VllmShape& shape = d_.stage->shape;
  const GraphCounts& sizes = d_.totals.graph_counts;
  r.formula = {"piecewise x bytes_a_piecewise + full x bytes_a_full",
               {{"piecewise", double(sizes.piecewise)},
                {"bytes_a_piecewise", double(shape.graph_piece_bytes.count())},
                {"full", double(sizes.full)},
                {"bytes_a_full", double(shape.graph_full_bytes.count())}}};
  if (workspace.count() > 0) {
    r.formula.words = "piecewise x bytes_a_piecewise + full x bytes_a_full + workspace";
    r.formula.operands.push_back({"workspace", double(workspace.count())});
  }
  ledger.add(std::move(r));
}

void Rows::pool(Ledger& ledger, int64_t blocks, Bytes block, std::string_view item) const {
  LedgerRow r = row(Component::kv_cache, item, ByteRange::exactly(block * blocks), Basis::derived);
  r.source = kCacheUtils;
  r.formula = {"blocks x block_bytes",
               {{"blocks", double(blocks)}, {"block_bytes", double(block.count())}}};
  ledger.add(std::move(r));
}

}  // namespace

void fill_ledgers(const Question& question, const Build& build, const Budget& budget,
                  const Demand& demand, Assessment& out) {
  const Calibration& measured =
      question.settings.calibration ? *question.settings.calibration : kNothing;
  for (const DeviceBudget& d : budget.devices) {
    // A change that is tried, or a choice of cards, looks at the fullest card only.
    if (question.detail == Detail::lever && &d != &budget.full()) continue;
    const Rows rows(build, d, measured);
    const bool charged = d.stage->shape.graphs_charged;
    rows.weights(out.reserve);
    rows.ngrams(out.reserve);
    const Bytes block = d.stage->shape.block_bytes;
    rows.pool(out.reserve, budget.blocks, block, "cache pool");
    rows.activations(out.reserve);
    rows.runtime(out.reserve);
    if (charged) {
      const bool full = d.totals.graph_counts.full > 0;
      rows.graphs(out.reserve, d.graphs, "CUDA graphs (estimate)",
                  full ? d.stage->shape.graph_workspace : Bytes());
    }

    const int64_t pages = pages_of(d.stage->shape, demand.tokens, build.decided.batch_tokens);
    rows.weights(out.need);
    rows.ngrams(out.need);
    // Without a workload the question is the start's own: what its check asks for.
    rows.pool(out.need, saturating_multiply(pages, demand.requests),
              question.workload.given() ? block : asked_block(d.stage->shape),
              "cache of the sequences");
    rows.activations(out.need);
    rows.runtime(out.need);
    rows.graphs(out.need, d.graphs_taken, "CUDA graphs");

    if (question.detail != Detail::full) continue;
    rows.weights(out.peak);
    rows.ngrams(out.peak);
    rows.pool(out.peak, budget.blocks, block, "cache pool");
    rows.activations(out.peak);
    rows.runtime(out.peak);
    rows.graphs(out.peak, d.graphs_taken, "CUDA graphs");
  }
}

}  // namespace vramwise::engines::vllm
