#include "workload/step_model.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/catalog.h"
#include "json/reader.h"
#include "model/model.h"
#include "model/served_type.h"
#include "workload/numbers.h"
#include "workload/occupancy.h"
#include "workload/step_parameters.h"

namespace vramwise::workload {
namespace {

// Steps beyond this many tokens go on along a straight line: all arithmetic by then.
constexpr int64_t kMostTabled = 16384;
constexpr int64_t kReuseGrain = 16;

struct WeightBytes {
  double dense = 0, experts = 0, head = 0;  // bytes, the whole model
};

bool is_expert(model::Role role) {
  switch (role) {
    case model::Role::expert_gate:
    case model::Role::expert_up:
    case model::Role::expert_down:
    case model::Role::expert_fused_gate_up:
    case model::Role::expert_gate_bias:
    case model::Role::expert_up_bias:
    case model::Role::expert_down_bias:
    case model::Role::expert_fused_gate_up_bias: return true;
    default: return false;
  }
}

WeightBytes weight_bytes(const model::Model& model, const weights::Weights& weights) {
  WeightBytes sum;
  if (weights.gguf) {
    const bool own_head = weights.gguf->find("output.weight") != nullptr;
    for (const weights::GgufTensor& t : weights.gguf->tensors) {
      if (t.mtp) continue;
      const double bytes = double(t.bytes().count());
      if (t.name == "token_embd.weight") {
        if (!own_head) sum.head += bytes;
      } else if (t.name == "output.weight") {
        sum.head += bytes;
      } else if (contains(t.name, "_exps.")) {
        sum.experts += bytes;
      } else {
        sum.dense += bytes;
      }
    }
    return sum;
  }
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const model::Tensor& t = model.tensors[i];
    if (t.part != model::Part::text && t.part != model::Part::head &&
        t.part != model::Part::tied_head) {
      continue;
    }
    if (t.role == model::Role::per_layer_embedding || t.role == model::Role::position_embedding) {
      continue;  // looked up, not read
    }
    const double bytes =
        double(weights::at_rest_bytes(model, t, weights.recipe->scheme(i)).count());
    if (t.role == model::Role::token_embedding) continue;
    if (t.role == model::Role::output_head) {
      // In 16 bits, unless the checkpoint has it smaller.
      sum.head += std::min(bytes, double(t.shape.elements()) * 2);
    } else if (is_expert(t.role)) {
      sum.experts += bytes;
    } else {
      sum.dense += bytes;
    }
  }
  return sum;
}

// Arithmetic of attention: multiply-adds per pair of tokens and what a window costs per token.
struct AttentionWork {
  double per_pair = 0;   // FLOP per unit of chunk·(2·start + chunk)
  double per_token = 0;  // FLOP per prompt token in layers with a window
};

AttentionWork attention_work(const model::Model& model) {
  AttentionWork work;
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      double width = 0;
      double window = 0;
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        width = double(a->query_heads) * double(a->key_dim + a->value_dim);
        window = double(a->window);
      } else if (const auto* l = std::get_if<model::LatentBlock>(&mixer)) {
        width = double(l->query_heads) * double(l->nope_dim + l->rope_dim + l->value_dim);
        window = double(l->indexer_top_k);
      }
      if (window > 0) {
        work.per_token += 2 * width * window;
      } else {
        work.per_pair += width;
      }
    }
  }
  return work;
}

double fourth_root_of_sum(double a, double b) {
  const double a2 = a * a;
  const double b2 = b * b;
  return square_root(square_root(a2 * a2 + b2 * b2));
}

// States and windows that a step reads (and states that it writes) per decoding sequence. A window
// is as full as the requests are long.
double fixed_reads(const model::Model& model, const std::vector<Pair>& sample) {
  const model::CacheTypes types = model::served_cache_types(model);
  double bytes = 0;
  for (const model::Layer& layer : model.layers) {
    for (const model::CacheLayout& cache : layer.caches) {
      const double state = double(model::fixed_bytes(cache, types).count());
      const double full = double(model::window_bytes(cache, types).count());
      const double token = double(model::bytes_at(cache, Tokens(1), types).count()) - state;
      if (full > 0 && token > 0) bytes += token * held_within(sample, full / token);
      bytes += model::is_recurrent(cache) ? 2 * state : state;
    }
  }
  return bytes;
}

// Layers by the kernels that a step has to start, not by their number: a layer that is a mixer or a
// feed-forward alone (Nemotron-H) is half of one.
struct LayerCount {
  double whole = 0;   // of a mixer and a feed-forward
  double routed = 0;  // with routed experts, which need kernels to choose, gather and add up
};

LayerCount count_layers(const model::Model& model) {
  LayerCount count;
  for (const model::Layer& layer : model.layers) {
    const bool fed = !std::holds_alternative<model::NoFeedForward>(layer.feed_forward);
    count.whole += 0.5 * double(layer.mixers.size()) + (fed ? 0.5 : 0.0);
    if (std::holds_alternative<model::MoeFeedForward>(layer.feed_forward)) count.routed += 1;
  }
  return count;
}

double layer_seconds(const LayerCount& count, const StepParameters& parameters) {
  return (count.whole + count.routed * parameters.routed_layer) * parameters.layer_seconds;
}

// Experts of the routed feed-forwards: how many there are and how many a token visits.
struct Routing {
  double experts = 0, active = 0;
};

Routing routing_of(const model::Model& model) {
  Routing routing;
  for (const model::Layer& layer : model.layers) {
    if (const auto* moe = std::get_if<model::MoeFeedForward>(&layer.feed_forward)) {
      routing = {double(moe->experts), double(moe->active)};
    }
  }
  return routing;
}

}  // namespace

Result<StepModel> step_model(const plan::Plan& plan, const std::vector<Pair>& sample,
                             Notes& notes) {
  const plan::Resolved& resolved = plan.resolved;
  if (resolved.hardware.is_cpu_only()) {
    return fail(Error(ErrorCode::unsupported, "no speed is known of a machine without a GPU")
                    .at("hardware")
                    .hint("give your own measurement as \"step_time\" (docs/workload.md)"));
  }
  const catalog::Gpu& gpu = resolved.hardware.devices.front().gpu;
  if (gpu.bandwidth_gbs <= 0 || gpu.bf16_tflops <= 0) {
    return fail(Error(ErrorCode::unsupported,
                      "the memory bandwidth or the arithmetic of '" + gpu.id + "' is not known")
                    .at("hardware.gpu")
                    .hint("give your own measurement as \"step_time\" (docs/workload.md)"));
  }
  TRY_ASSIGN(const StepParameters parameters,
             StepParameters::load(resolved.engine->name(), gpu,
                                  weights::bits_per_weight(*resolved.model, *resolved.weights)));
  const model::Model& model = *resolved.model;
  const int64_t cards = int64_t(resolved.hardware.devices.size());
  int64_t tp = 1;
  if (!parameters.tensor_parallel_option.empty()) {
    if (const json::Value* asked =
            plan.assessment.effective.find(parameters.tensor_parallel_option)) {
      tp = std::clamp<int64_t>(asked->as_integer(), 1, cards);
    }
  }
  if (cards > tp * replicas_of(plan) * stages_of(plan)) {
    notes.assume("cards_in_turn",
                 "cards beyond the tensor-parallel ones hold other layers and work one after the "
                 "other: they add memory, not speed");
  }
  StepModel m;
  m.memory_class = parameters.memory_class;
  m.weight_share = parameters.weight_share;
  m.compute_share = parameters.compute_share;
  m.bandwidth = gpu.bandwidth_gbs * 1e9;
  m.peak = gpu.bf16_tflops * 1e12;
  m.low_factor = parameters.low_factor;
  m.high_factor = parameters.high_factor;
  m.validated = parameters.validated;
  m.source = parameters.source;
  const double ranks = double(tp);
  const WeightBytes weight = weight_bytes(model, *resolved.weights);
  m.weight_bytes = Bytes(int64_t((weight.dense + weight.experts + weight.head) / ranks));
  const double rate = m.bandwidth * m.weight_share;
  const double compute = m.peak * m.compute_share;
  const double head_parameters = double(model.vocab_size) * double(model.hidden_size);
  const double active = std::max(
      0.0, double(active_parameter_count(model)) - head_parameters * (model.tied_head ? 1.0 : 2.0));
  const Routing routing = routing_of(model);
  const double expert_part =
      weight.experts > 0 ? active * 0.75 : 0;  // where the arithmetic of a token happens
  m.expert_share = weight.experts > 0 ? parameters.expert_factor : 0;
  m.cache_share = parameters.cache_share;
  StepTime& t = m.time;
  const LayerCount layers = count_layers(model);
  m.layers = layers.whole;
  m.routed_layers = layers.routed;
  t.fixed = layer_seconds(layers, parameters) + parameters.step_seconds;
  const double cache_rate = m.bandwidth * parameters.cache_share;
  t.per_context_token = double(plan.assessment.kv.bytes_per_token.count()) / cache_rate;
  m.state_read = fixed_reads(model, sample) / ranks / cache_rate;
  m.head_work = 2 * head_parameters / ranks / compute;
  t.per_decode = m.state_read + m.head_work;
  const AttentionWork attention = attention_work(model);
  t.per_prefill_pair = attention.per_pair / ranks / compute;
  t.per_prefill_token = attention.per_token / ranks / compute;
  const int64_t tabled = kMostTabled;
  t.by_tokens.resize(size_t(tabled) + 1);
  // (1 - k/E)^m by repeated multiplication: experts that no token of the step visits.
  const double miss = routing.experts > 0 ? 1 - routing.active / routing.experts : 0;
  m.dense_read = (weight.dense + weight.head) / ranks / rate;
  m.dense_work = 2 * (active - expert_part) / ranks / compute;
  if (weight.experts > 0) {
    m.expert_read = weight.experts / ranks / (rate * parameters.expert_factor);
    m.expert_work = 2 * expert_part / ranks / compute / parameters.expert_factor;
    m.expert_miss = miss;
  }
  double untouched = 1;
  for (int64_t tokens = 1; tokens <= tabled; ++tokens) {
    untouched *= miss;
    double seconds = fourth_root_of_sum(m.dense_read, double(tokens) * m.dense_work);
    if (weight.experts > 0) {
      seconds +=
          fourth_root_of_sum(m.expert_read * (1 - untouched), double(tokens) * m.expert_work);
    }
    if (tp > 1) {
      seconds += 2 * layers.whole *
                 parameters.all_reduce_seconds(tp, double(tokens) * double(model.hidden_size) * 2);
    }
    t.by_tokens[size_t(tokens)] = seconds;
  }
  t.by_tokens[0] = 0;
  t.beyond_table = t.by_tokens[size_t(tabled)] - t.by_tokens[size_t(tabled) - 1];
  for (const std::string& remark : parameters.remarks) notes.assume("step_time", remark);
  return m;
}

StepParts StepModel::parts(int64_t sequences, int64_t context) const {
  StepParts p;
  if (dense_read <= 0) return p;
  const double n = double(sequences);
  double untouched = 1;
  for (int64_t i = 0; i < std::min(sequences, kMostTabled); ++i) untouched *= expert_miss;
  p.weights = dense_read;
  p.weight_work = n * dense_work;
  p.experts = expert_read * (1 - untouched);
  p.expert_work = n * expert_work;
  p.cache = time.per_context_token * double(context);
  p.states = n * state_read;
  p.head_work = n * head_work;
  p.layers = time.fixed;
  p.exchange =
      std::max(0.0, time.tokens_part(sequences) - fourth_root_of_sum(p.weights, p.weight_work) -
                        fourth_root_of_sum(p.experts, p.expert_work));
  return p;
}

Result<double> draft_pass_seconds(const plan::Plan& plan, const model::Model& draft,
                                  const weights::Weights& weights) {
  const catalog::Gpu& gpu = plan.resolved.hardware.devices.front().gpu;
  TRY_ASSIGN(const StepParameters parameters,
             StepParameters::load(plan.resolved.engine->name(), gpu,
                                  weights::bits_per_weight(draft, weights)));
  const WeightBytes bytes = weight_bytes(draft, weights);
  const Routing routing = routing_of(draft);
  const double visited = routing.experts > 0 ? routing.active / routing.experts : 1;
  return (bytes.dense + bytes.head + bytes.experts * visited) /
             (gpu.bandwidth_gbs * 1e9 * parameters.weight_share) +
         layer_seconds(count_layers(draft), parameters);
}

namespace {

int64_t ranks_of(const plan::Plan& plan, std::string_view what) {
  const auto traits = EngineTraits::load(plan.resolved.engine->name());
  if (!traits) return 1;
  const std::string name = traits->option(what);
  const json::Value* found = plan.assessment.effective.find(name);
  if (found == nullptr) found = plan.resolved.settings.options.find(name);
  return found != nullptr && found->is_integer() ? std::max<int64_t>(1, found->as_integer()) : 1;
}

bool shares_attention(const plan::Plan& plan, const EngineTraits& traits) {
  const auto given = plan.resolved.settings.options.boolean(traits.option("data_attention"));
  return given && given->value_or(false);
}

}  // namespace

int64_t replicas_of(const plan::Plan& plan) {
  const auto traits = EngineTraits::load(plan.resolved.engine->name());
  // Attention that is data-parallel over as many ranks as the option says, else over all.
  if (traits && traits->option("data_parallel").empty() && shares_attention(plan, *traits)) {
    return ranks_of(plan, "tensor_parallel");
  }
  return ranks_of(plan, "data_parallel");
}

int64_t stages_of(const plan::Plan& plan) { return ranks_of(plan, "pipeline_parallel"); }

Result<bool> switch_reuse_on(const plan::Plan& plan, Scheduler& s, Notes& notes) {
  TRY_ASSIGN(const EngineTraits traits, EngineTraits::load(plan.resolved.engine->name()));
  const auto is = [&](std::string_view what, bool value) {
    const std::string name = traits.option(what);
    if (name.empty()) return false;
    const json::Value* found = plan.assessment.effective.find(name);
    if (found == nullptr) found = plan.resolved.settings.options.find(name);
    return found != nullptr && found->is_boolean() && found->as_boolean() == value;
  };
  if (is("prefix_caching", false) || is("no_prefix_caching", true)) return true;
  s.prefix_caching = true;
  // A page of one token would be a block of its own: texts are followed in blocks of several.
  if (s.policy == Policy::prefill_first && s.block_tokens < kReuseGrain) {
    s.blocks = s.blocks * s.block_tokens / kReuseGrain;
    s.block_tokens = kReuseGrain;
    notes.assume("reuse_grain",
                 "text that is found in the radix cache is counted in whole blocks "
                 "of " +
                     format_integer(kReuseGrain) + " tokens");
  }
  return true;
}

Result<Scheduler> scheduler_of(const plan::Plan& plan, Notes& notes) {
  const engines::Assessment& a = plan.assessment;
  TRY_ASSIGN(const EngineTraits traits, EngineTraits::load(plan.resolved.engine->name()));
  Scheduler s;
  s.policy = traits.policy;
  s.block_tokens = std::max<int64_t>(1, a.kv.block_tokens);
  s.blocks = a.kv.pool_tokens / s.block_tokens - traits.null_blocks;
  s.reserve_output = traits.reserve_output;
  // In force, or at least asked for.
  const auto setting = [&](std::string_view what) -> const json::Value* {
    const std::string name = traits.option(what);
    if (name.empty()) return nullptr;
    const json::Value* found = a.effective.find(name);
    return found != nullptr ? found : plan.resolved.settings.options.find(name);
  };
  const auto option = [&](std::string_view what, int64_t& value) {
    if (const json::Value* found = setting(what); found != nullptr && found->is_integer()) {
      if (found->as_integer() > 0) value = found->as_integer();
    }
  };
  const auto flag = [&](std::string_view what, bool& value) {
    if (const json::Value* found = setting(what); found != nullptr && found->is_boolean()) {
      value = found->as_boolean();
    }
  };
  option("max_sequences", s.max_sequences);
  // SGLang's option counts the requests of all ranks.
  if (!traits.option("data_parallel").empty() && shares_attention(plan, traits)) {
    s.max_sequences = std::max<int64_t>(1, s.max_sequences / replicas_of(plan));
  }
  option("batch_tokens", s.batch_tokens);
  option("prefill_tokens", s.prefill_tokens);
  option("long_prefill_threshold", s.long_prefill_threshold);
  if (const json::Value* found = setting("conservativeness");
      found != nullptr && found->is_number() && found->as_double() > 0) {
    s.conservativeness = found->as_double();
  }
  flag("chunked_prefill", s.chunked_prefill);
  flag("unified", s.unified);
  flag("mixed_chunk", s.mixed_chunk);
  if (s.policy != Policy::prefill_first) s.batch_tokens = std::max(s.batch_tokens, s.max_sequences);
  if (s.blocks < 1) {
    return fail(Error(ErrorCode::inconsistent,
                      "the plan leaves no room for a cache: " + plan.verdict.explanation)
                    .at("hardware")
                    .hint("vramwise plan says what would help"));
  }
  if (const json::Value* order = setting("order");
      order != nullptr && order->is_string() && order->as_string() != "fcfs") {
    notes.warn("order", "requests are simulated first come, first served: the order '" +
                            order->as_string() +
                            "' is not, so that waiting and evictions of single requests differ");
  }
  return s;
}

}  // namespace vramwise::workload
