// The pieces that model graphs are made of: embedding, norms, projections, attention over a cache,
// feed-forward, experts, recurrent states, head. One Blocks builds one graph.
//
// The order of ops and of expand() calls is llama.cpp's own: it decides what lives at the same
// time. Source: ggml-org/llama.cpp src/llama-graph.cpp, src/llama-kv-cache.cpp, src/models/*.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engines/llamacpp/context.h"
#include "engines/llamacpp/graph/builder.h"
#include "engines/llamacpp/graph/weight_table.h"

namespace vramwise::engines::llamacpp {

// Where things live and which forms of ops are in force.
struct GraphInput {
  const Shape* shape = nullptr;
  const Rules* rules = nullptr;
  const WeightTable* weights = nullptr;
  ContextSettings settings;
  ContextSize size;
  std::span<const int16_t> layer_device;  // of every layer
  int16_t output_device = 0;
  int16_t cpu = 0;  // index of the CPU, after the devices
  // Norms at the start of a block are bound to their layer's device. A pass without allocation
  // forgets this before it splits the graph.
  bool pins = true;
  bool full_offload = false;  // every layer and the output are on devices
  bool delta_one_token = true, delta_many_tokens = true;

  // The same question for a batch of so many tokens a sequence (start-up probes).
  GraphInput with_batch(int64_t tokens_per_sequence) const;
};

// The per-batch inputs of one attention cache.
struct CacheInputs {
  int64_t cells = 0;
  TensorId k_index = kNoTensor, v_index = kNoTensor, mask = kNoTensor;
  TensorId k_rotation = kNoTensor, v_rotation = kNoTensor;
};

// Indices into the recurrent states: the states of this batch, and those to be moved.
struct StateInputs {
  TensorId main = kNoTensor, extra = kNoTensor;
};

struct LoadedState {
  TensorId rows = kNoTensor;   // gathered for this batch
  TensorId store = kNoTensor;  // the state tensor itself
};

enum class ExpertAct { gated, relu_squared };

struct MoeCall {
  MoeShape moe;
  TensorId logits = kNoTensor;  // computed elsewhere
  int64_t width = 0;            // of the experts' input and output; 0 = as x
};

class Blocks {
 public:
  Blocks(Graph& graph, const GraphInput& input);

  Graph& g;
  const GraphInput& in;
  const Shape& shape;
  const Rules& rules;
  const int64_t hidden, tokens, sequences, sequence_tokens, rows, streams;
  const bool flash;
  const int64_t snapshots;  // 1 + rollback states that the family keeps
  int32_t layer = -1;       // the layer being built; -1 = none

  const LayerShape& now() const { return shape.layers[size_t(layer)]; }
  bool has(Slot slot) const { return in.weights->has(slot, layer); }

  // Leaves.
  TensorId input(GgmlType type, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1);
  TensorId positions(int64_t sections = 1) { return input(GgmlType::I32, tokens * sections); }
  TensorId row_ids() { return input(GgmlType::I32, rows); }
  TensorId weight(Slot slot, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1);
  TensorId rope_factors(int64_t head_dim);

  // Projections and norms.
  TensorId linear(Slot slot, TensorId x, int64_t out);
  TensorId linear_biased(Slot slot, Slot bias, TensorId x, int64_t out);
  // Adds the bias when the file has it.
  TensorId linear_maybe(Slot slot, Slot bias, TensorId x, int64_t out);
  enum class Pin { yes, no };
  TensorId norm(Slot slot, TensorId x, Pin pin = Pin::yes);
  TensorId layer_norm(Slot slot, Slot bias, TensorId x);
  // The layer's kind of norm, with bias where the kind has one.
  TensorId norm_of_kind(model::NormKind kind, Slot slot, Slot bias, TensorId x);
  TensorId norm_grouped(Slot slot, TensorId x);  // weight of the extents of one token

  // x = embedding of the tokens.
  TensorId embed();
  TensorId per_layer_inputs(TensorId x);

  // Attention.
  CacheInputs cache_inputs(bool sliding, bool keys_only = false);
  enum class Project { yes, no };
  struct Attention {
    TensorId q = kNoTensor, k = kNoTensor, v = kNoTensor;  // k and v absent: another's cache
    TensorId sinks = kNoTensor;
    bool softcap = false;
    Project project = Project::yes;
  };
  TensorId attention(const CacheInputs& cache, Attention a);
  // Latent attention: only keys are stored, values are their first part.
  TensorId attention_keys_only(const CacheInputs& cache, TensorId q, TensorId k, TensorId v,
                               TensorId value_up, TensorId mask);
  TensorId heads_of(TensorId x, int64_t head_dim, int64_t heads) {
    return g.reshape(x, head_dim, heads, tokens);
  }
  TensorId cache_tensor(int kind, int32_t of_layer, GgmlType type, int64_t ne0, int64_t ne1,
                        int64_t ne2);
  void store_keys(const CacheInputs& cache, TensorId k, TensorId store);
  void store_values(const CacheInputs& cache, TensorId v, TensorId store);
  TensorId read_keys(TensorId store, int64_t head_dim, int64_t heads);
  TensorId read_values(TensorId store, int64_t head_dim, int64_t heads);
  TensorId attend(TensorId q, TensorId k, TensorId v, TensorId mask, TensorId sinks,
                  TensorId value_up, bool softcap);

  // Feed-forward.
  TensorId combine(TensorId gate, TensorId up);
  TensorId ffn(TensorId x, int64_t width);  // gate, up, down
  TensorId ffn_shared(TensorId x, int64_t width);
  TensorId ffn_plain(TensorId x);  // as the layer says: fused, ungated, biased
  TensorId moe(TensorId x, const MoeCall& call);
  TensorId relu_squared(TensorId x) { return g.sqr(g.unary(x)); }

  // Recurrent states.
  StateInputs state_inputs();
  // kind 0: convolution or shift, 1: state. `direct` builds an op that reads the states itself.
  TensorId state_store(int kind, int64_t size);
  LoadedState load_state(const StateInputs& ids, int kind, int64_t size);
  // Mamba: the scan takes the whole state tensor and the ids.
  template <class Scan>
  LoadedState load_state_with(const StateInputs& ids, int kind, int64_t size, Scan scan);

  // Norm and logits. `select` = the rows, when the last layer did not pick them.
  enum class Select { before_norm, after_norm };
  struct Head {
    TensorId select = kNoTensor;
    Select when = Select::after_norm;
    bool softcap = false;
    bool biased_by_token = false;  // one number a token is added to the logits
    model::NormKind norm = model::NormKind::rms;
  };
  void head(TensorId x, const Head& options);

 private:
  TensorId hadamard(TensorId x, TensorId rotation);
  bool pin_here() const;

  std::vector<TensorId> weight_ids_;
  std::vector<TensorId> cache_ids_;
};

template <class Scan>
LoadedState Blocks::load_state_with(const StateInputs& ids, int kind, int64_t size, Scan scan) {
  const TensorId store = state_store(kind, size);
  const TensorId all = g.reshape(store, size, g[store].ne[1]);
  // The first free state is cleared, in place.
  g.expand(g.in_place(Op::scale, g.view_1d(all, size)));
  const TensorId rows_read = scan(all, ids.main);
  g.expand(rows_read);
  const TensorId moved = g.get_rows(all, ids.extra);
  const int64_t row = g[store].nb[1];
  g.expand(g.copy_into(moved, g.view_2d(store, size, 0, row, sequences * row)));
  return {rows_read, store};
}

// Fills the graph for one context; picks the family by the architecture.
void build_graph(Graph& graph, const GraphInput& input);

}  // namespace vramwise::engines::llamacpp
