#include "engines/vllm/build.h"

#include <algorithm>

#include "base/text.h"
#include "engines/online_quantisation.h"
#include "engines/rank_draft.h"
#include "engines/rank_memo.h"
#include "engines/vllm/activations.h"
#include "engines/vllm/circumstances.h"

namespace vramwise::engines::vllm {
namespace {

int64_t mtp_layers_in_use(const model::Model& model, const Given& given) {
  return given.speculation == Speculation::mtp
             ? std::min<int64_t>(1, int64_t(model.mtp_layers.size()))
             : 0;
}

LoadRules load_rules(const Question& q, const Given& given, const Decided& decided,
                     const Profile& profile, Notes& notes) {
  LoadRules rules;
  rules.plain = decided.plain;
  const auto& types = profile.text_only_limits;
  const auto limited = [&](std::string_view type) {
    return given.no_items && std::find(types.begin(), types.end(), type) != types.end();
  };
  rules.towers = !given.language_only && !limited("*") && !limited(q.model->model_type);
  rules.ngram_tables = !given.ngrams_on_host;
  rules.mtp_layers = mtp_layers_in_use(*q.model, given);
  rules.spare_projections = profile.spare_projections;
  rules.mxfp4_experts = profile.mxfp4_padding;
  rules.nvfp4_experts = profile.nvfp4_padding;
  rules.lora_slots = given.lora_slots;
  rules.lora_rank = given.lora_rank;
  rules.whole_blocks = !given.expandable_segments;
  if (profile.marlin_fp8) rules.kernel = rules.expert_kernel = weights::Kernel::marlin;
  if (given.marlin) rules.expert_kernel = weights::Kernel::marlin;
  if (profile.gptq_without_marlin || given.quantization == "gptq") {
    rules.kernel = weights::Kernel::exllama;
  }
  rules.online = online_scheme(given.quantization, *q.weights, notes);
  return rules;
}

CacheRules cache_rules(const Given& given, const Decided& decided, const Profile& profile) {
  CacheRules rules;
  rules.ranks = given.tensor;
  rules.element = decided.cache_element;
  rules.bytes_per_head = decided.cache_bytes_per_head;
  rules.conv = decided.conv;
  rules.recurrent = decided.state;
  rules.forced_state = decided.state_forced;
  rules.demanded_mamba_state = profile.mamba_state_demanded;
  rules.demanded_delta_state = profile.delta_state_demanded;
  // fp8 latent rows beside an indexer carry scales and 16-bit rotary parts, where the kernels ask.
  if (decided.cache_element == ElementSize{1, 1}) {
    rules.sparse_latent_row = decided.cache_dtype == "fp8_ds_mla" ? 656 : profile.sparse_row_bytes;
  }
  const bool verifies = given.speculation == Speculation::mtp ||
                        given.speculation == Speculation::head ||
                        given.speculation == Speculation::draft_model;
  rules.speculative_tokens = verifies ? given.speculative_tokens : 0;
  return rules;
}

struct CacheKinds {
  bool latent = false, sparse = false, state = false, pooled = false;
};

CacheKinds kinds_of(const std::vector<LayerCache>& caches) {
  CacheKinds kinds;
  for (const LayerCache& c : caches) {
    kinds.latent = kinds.latent || c.kind == LayerCache::Kind::latent;
    kinds.state = kinds.state || c.kind == LayerCache::Kind::state;
    if (c.kind == LayerCache::Kind::indexer) {
      kinds.sparse = kinds.sparse || c.tokens_per_entry == 1;
      kinds.pooled = kinds.pooled || c.tokens_per_entry > 1;
    }
  }
  return kinds;
}

GroupingRules grouping_rules(const Given& given, const Decided& decided, const Profile& profile,
                             const std::vector<LayerCache>& caches) {
  const CacheKinds kinds = kinds_of(caches);
  GroupingRules rules;
  if (kinds.latent && kinds.sparse) {
    rules.block_tokens = profile.sparse_block_tokens;
  } else if (given.block_tokens) {
    rules.block_tokens = *given.block_tokens;
  } else if (kinds.latent && !kinds.state) {
    rules.block_tokens = profile.latent_block_tokens;
  } else {
    rules.block_tokens = profile.block_tokens;
  }
  rules.window_groups = profile.window_groups && !given.no_window_groups;
  rules.chunk_groups =
      rules.window_groups && (profile.chunked_layers_grouped || given.grouped_chunks);
  // One kind that needs the groups off takes all of them with it.
  if (!rules.chunk_groups) {
    for (const LayerCache& c : caches) {
      if (c.kind == LayerCache::Kind::chunk) rules.window_groups = false;
    }
  }
  rules.speculative_tokens = 0;
  if (given.speculation != Speculation::none && given.speculation != Speculation::ngram) {
    rules.speculative_tokens = given.speculative_tokens;
  }
  rules.state_alignment = !kinds.latent  ? profile.state_alignment
                          : kinds.pooled ? profile.pooled_state_alignment
                                         : profile.latent_state_alignment;
  rules.side_extra_pages = profile.side_extra_pages;
  rules.threshold_percent = profile.group_threshold_percent;
  rules.context_ranks = given.decode_context * given.prefill_context;
  rules.figure_by_concurrency = profile.figure_by_concurrency;
  rules.in_flight_batches = 1;
  if (profile.in_flight_by_stages) {
    rules.in_flight_batches = given.async_scheduling && given.pipeline == 1
                                  ? profile.batches_in_flight
                                  : std::max<int64_t>(1, given.pipeline);
  }
  if (given.state_mode == "all") {
    rules.state_mode = StateMode::every;
  } else if (given.state_mode == "align") {
    rules.state_mode = StateMode::aligned;
  } else if (given.state_mode.empty() && decided.prefix_caching && profile.state_caching_aligns) {
    rules.state_mode = StateMode::aligned;
  }
  return rules;
}

int64_t chosen_positions(const model::Model& model) {
  int64_t most = 0;
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      const auto* block = std::get_if<model::LatentBlock>(&mixer);
      if (block != nullptr) most = std::max(most, block->indexer_top_k);
    }
  }
  return most;
}

// FlashInfer's attention, whose workspace is made for the first FULL graph: where it is the
// platform's choice, and for fp8 caches where FlashAttention does not read them.
// Source: vllm platforms/cuda.py, v1/attention/backends/flashinfer.py.
bool attends_with_flashinfer(const Given& given, const Decided& decided, const Profile& profile,
                             const Circumstances& now, const CacheKinds& kinds) {
  if (!given.attention_backend.empty()) {
    return contains(to_lower(given.attention_backend), "flashinfer");
  }
  if (kinds.latent || !now.nvidia || now.capability < 80) return false;
  const bool fp8_cache = decided.cache_element == ElementSize{1, 1};
  return profile.flashinfer_attention ||
         (fp8_cache && now.capability >= 100 && profile.full_graphs);
}

// FlashAttention 3 cuts the keys of a decode step into parts; a FULL graph keeps room for the
// fp32 results of as many parts as may ever be. Not with learned sinks: no such log shows them.
// Source: vllm v1/attention/backends/flash_attn.py; starts of 0.19.0 on an H100 at debug level
// (llm-d-incubation/llm-d-planner accuracy/results).
void fill_splits(const model::Model& model, const Given& given, const Profile& profile, DType plain,
                 VllmShape& shape) {
  const int64_t splits = profile.graph_splits > 0 && given.attention_splits
                             ? *given.attention_splits
                             : profile.graph_splits;
  const std::string asked = to_lower(given.attention_backend);
  if (splits == 0 || plain == DType::float32 ||
      (!asked.empty() && !starts_with(asked, "flash_attn")))
    return;
  int64_t values = 0;  // of one token's attention result, on one rank
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        if (a->sinks) return;
        values = std::max(values, ceil_div(a->query_heads, given.tensor) * a->value_dim);
      } else if (const auto* l = std::get_if<model::LatentBlock>(&mixer)) {
        if (l->indexer_top_k > 0) return;
        values = std::max(values, ceil_div(l->query_heads, given.tensor) * l->kv_lora_rank);
      }
    }
  }
  shape.graph_split_per_token = saturating_multiply(values, splits * dtype_bytes(DType::float32));
}

void fill_graphs(const Given& given, const Profile& profile, const Circumstances& now,
                 bool flashinfer, bool pooling, VllmShape& shape) {
  const std::string mode = to_lower(given.graph_mode);
  shape.piecewise_graphs = !now.first_engine && mode != "full_decode_only" && mode != "full";
  shape.full_graphs = now.first_engine || (profile.full_graphs && !pooling);
  if (mode == "piecewise") shape.full_graphs = false;
  if (mode == "full_decode_only" || mode == "full" || mode == "full_and_piecewise") {
    shape.full_graphs = !pooling;
  }
  // Its kernels take one token of a sequence in a graph; those of SM100 take drafts too.
  const bool sm100 = now.capability >= 100 && now.capability < 120;
  if (flashinfer && !sm100 && shape.speculative_tokens > 0 && shape.piecewise_graphs) {
    shape.full_graphs = false;
  }
  if (flashinfer)
    shape.graph_workspace = given.flashinfer_workspace.value_or(profile.flashinfer_workspace);
}

void fill_overheads(const Question& q, const Given& given, const Profile& profile,
                    const StageRange& layers, const CacheKinds& kinds, VllmShape& shape) {
  shape.non_torch = profile.non_torch.likely;
  shape.graphs_captured = !given.eager && q.hardware->backend != Backend::cpu;
  shape.graphs_charged =
      profile.graphs_charged && given.estimate_graphs.value_or(true) && !given.eager;
  const GraphSize& graph = kinds.sparse || kinds.pooled ? profile.graph_sparse_layer
                           : kinds.latent               ? profile.graph_latent_layer
                                                        : profile.graph_layer;
  shape.graph_piece_bytes = graph.piece * (layers.end - layers.first);
  shape.graph_full_bytes = graph.full * (layers.end - layers.first);
  shape.graph_shift = profile.graph_host.likely;
  if (profile.graph_activations) {
    shape.graph_first = profile.cublas_workspace;
    shape.graph_first_per_token = shape.layer_per_token;
  }
  shape.graph_sizes_step = profile.graph_sizes_step;
  shape.graph_largest = given.largest_capture.value_or(profile.graph_largest);
  shape.graph_largest_given = given.largest_capture.has_value();
  shape.speculative_tokens = given.speculation == Speculation::none ? 0 : given.speculative_tokens;
  shape.listed_sizes = int64_t(given.capture_sizes.size());
  for (const int64_t size : given.capture_sizes)
    shape.listed_largest = std::max(shape.listed_largest, size);
}

// FlashInfer's all-reduce, fused with the norm behind it, where vLLM turns it on by default.
// Source: vllm compilation/passes/fusion/allreduce_rms_fusion.py.
void fill_all_reduce(const Question& q, const Given& given, const Decided& decided,
                     const Profile& profile, VllmShape& shape) {
  if (profile.all_reduce_limit == 0 || q.model->hidden_size <= 0) return;
  if (!given.fuse_all_reduce.value_or(profile.all_reduce_fused)) return;
  if (profile.all_reduce_alone && (given.pipeline > 1 || given.data > 1)) return;
  constexpr int64_t kFlagsOfRank = 256 * 4;
  const int64_t row = q.model->hidden_size * dtype_bytes(decided.plain);
  shape.all_reduce_row = given.tensor * row;
  shape.all_reduce_tokens = profile.all_reduce_limit / row;
  shape.all_reduce_flags = given.tensor * kFlagsOfRank;
  shape.all_reduce_step = profile.all_reduce_step;
}

// On the first start torch.compile measures the kernel that reads the embedding on a table of
// random numbers, inside of the profile run, whose peak then holds it. Models that read images are
// handed embeddings, not tokens. Source: vllm issue 54122, PRs 54209 and 54479.
void fill_first_compile(const model::Model& model, const Given& given, const Decided& decided,
                        const Profile& profile, bool towers, const RankLayout& layout,
                        VllmShape& shape) {
  if (!profile.first_compile_charged || !given.compiled || given.compiled_before) return;
  if (!layout.first_stage || (model.vision && towers)) return;
  constexpr int64_t kVocabularyStep = 64;
  const int64_t rows = ceil_div(round_up(model.vocab_size, kVocabularyStep), given.tensor);
  shape.first_compile =
      Bytes(saturating_multiply(rows, model.hidden_size * dtype_bytes(decided.plain)));
  shape.first_compile_stays = profile.first_compile_stays;
}

// How often each entry was put out, and a bit for each that the prompt holds.
// Source: vllm v1/worker/gpu/sample/penalties.py.
int64_t sampler_state(int64_t vocabulary) {
  constexpr int64_t kCount = 4, kBitsOfWord = 32;
  return vocabulary * kCount + ceil_div(vocabulary, kBitsOfWord) * kCount;
}

// What was measured here moves the terms; budget.cpp narrows their bars.
void apply_measured(const Calibration& measured, VllmShape& shape) {
  if (measured.weights) shape.weights = std::max(Bytes(), shape.weights + measured.weights->shift);
  if (measured.activations) shape.measured_shift = measured.activations->shift;
  if (measured.non_torch) shape.non_torch += measured.non_torch->shift;
  if (measured.graphs) shape.graph_shift += measured.graphs->shift;
}

Result<std::vector<StageRange>> stage_ranges(const model::Model& model, const Given& given) {
  std::vector<StageRange> ranges;
  const auto layers = int64_t(model.layers.size());
  if (!given.stage_layers.empty() && int64_t(given.stage_layers.size()) == given.pipeline) {
    int64_t at = 0;
    for (const int64_t n : given.stage_layers) {
      ranges.push_back({at, std::min(layers, at + n)});
      at = std::min(layers, at + n);
    }
    if (at != layers) {
      return fail(
          Error(ErrorCode::inconsistent, "VLLM_PP_LAYER_PARTITION does not add up to the model's " +
                                             std::to_string(layers) + " layers")
              .at("engine.env.VLLM_PP_LAYER_PARTITION"));
    }
    return ranges;
  }
  const int64_t stages = std::min(given.pipeline, std::max<int64_t>(1, layers));
  for (int64_t s = 0; s < stages; ++s) ranges.push_back(stage_layers(layers, stages, s));
  return ranges;
}

// A count of ranks that nobody asked for is lowered until the heads divide.
void settle_assumed_ranks(const Question& q, Given& given, Notes& notes) {
  if (!given.tensor_assumed) return;
  const auto divides = [&](int64_t n) {
    for (const model::Layer& layer : q.model->layers) {
      for (const model::Mixer& mixer : layer.mixers) {
        const auto* a = std::get_if<model::AttentionBlock>(&mixer);
        const auto* l = std::get_if<model::LatentBlock>(&mixer);
        const int64_t heads = a ? a->query_heads : l ? l->query_heads : n;
        if (heads % n != 0) return false;
      }
    }
    return true;
  };
  const int64_t devices = given.tensor;
  while (given.tensor > 1 && !divides(given.tensor)) --given.tensor;
  const int64_t left = devices - given.tensor;
  notes.assume("tensor_parallel_from_devices",
               "the layers are split over " + std::to_string(given.tensor) +
                   (left > 0 ? " of the " + std::to_string(devices) + " devices, " +
                                   std::to_string(left) + " left idle"
                             : " devices") +
                   " (vLLM itself uses one unless --tensor-parallel-size says so)");
}

}  // namespace

const Stage& Build::stage_of_device(int device) const {
  const int64_t per_replica = given.tensor * int64_t(stages.size());
  const int64_t in_replica = per_replica > 0 ? device % per_replica : 0;
  return stages[size_t(std::min<int64_t>(in_replica / given.tensor, int64_t(stages.size()) - 1))];
}

Result<Build> build(const Question& q, Notes& notes) {
  Build b;
  TRY_ASSIGN(b.given, read_settings(q, notes));
  settle_assumed_ranks(q, b.given, notes);
  std::string card;
  b.now = circumstances_of(q, b.given, card);
  TRY_ASSIGN(b.profile,
             load_profile(q.settings.version, b.now, b.given.first_engine, b.given.second_runner));
  b.now.card = {};
  b.now.architecture = {};
  b.decided = decide(q, b.given, b.profile, b.now, notes);
  b.ranks_used = b.given.tensor * b.given.pipeline * b.given.data;

  std::vector<LayerCache> caches = rank_caches(*q.model, cache_rules(b.given, b.decided, b.profile),
                                               mtp_layers_in_use(*q.model, b.given));
  const LoadRules rules = load_rules(q, b.given, b.decided, b.profile, notes);
  RankDraft draft;
  if (b.given.speculation == Speculation::head || b.given.speculation == Speculation::draft_model) {
    draft = rank_draft(q, b.given.drafter_head,
                       b.given.draft_tensor > 0 ? b.given.draft_tensor : b.given.tensor, rules,
                       cache_rules(b.given, b.decided, b.profile), caches, notes);
    caches.insert(caches.end(), draft.caches.begin(), draft.caches.end());
  }
  if (b.given.speculation == Speculation::mtp && q.model->mtp_layers.empty()) {
    notes.warn("no_prediction_layers",
               "the model's config names no multi-token-prediction layers; none are counted");
  }
  const auto& tower = q.model->vision;
  if (tower && tower->max_item_tokens <= 0 && rules.towers && !b.given.skip_tower_profiling) {
    notes.warn("encoder_not_counted",
               "how large an image of this model can be is not known: what its encoder takes while "
               "vLLM profiles is not counted; leave room, or give --skip-mm-profiling");
  }
  const GroupingRules grouping = grouping_rules(b.given, b.decided, b.profile, caches);
  if (b.given.ngrams_on_host) b.ngrams_on_host = ngram_table_bytes(*q.model, *q.weights);
  const CacheKinds kinds = kinds_of(caches);
  TRY_ASSIGN(const std::vector<StageRange> ranges, stage_ranges(*q.model, b.given));
  const int multiprocessors =
      q.hardware->devices.empty() ? 0 : q.hardware->devices.front().gpu.sm_count;

  for (size_t i = 0; i < ranges.size(); ++i) {
    Stage stage;
    stage.layers = ranges[i];
    RankLayout layout;
    layout.tensor = layout.attention = b.given.tensor;
    layout.expert_ranks = b.given.expert_parallel ? b.given.tensor * b.given.data : 1;
    layout.expert_tensor = b.given.expert_parallel ? 1 : b.given.tensor * b.given.data;
    layout.spare_experts = b.given.spare_experts;
    layout.first_layer = ranges[i].first;
    layout.end_layer = ranges[i].end;
    layout.first_stage = i == 0;
    layout.last_stage = i + 1 == ranges.size();
    stage.weights = remembered_rank_weights(q, layout, rules);
    if (layout.last_stage) {
      stage.drafter = draft.weights;
      stage.weights.bytes[size_t(WeightItem::drafter)] = draft.weights.likely;
    }
    stage.shape.weights = stage.weights.total() - std::min(stage.weights.total(), b.given.offload);
    if (q.model->vision && rules.towers && layout.first_stage) {
      stage.shape.weights_per_batch_token = Bytes(
          q.model->vision->deepstack_layers * q.model->hidden_size * dtype_bytes(b.decided.plain));
    }
    // Sparse attention keeps the chosen positions of every token of a batch, once for all layers.
    stage.shape.weights_per_batch_token += Bytes(chosen_positions(*q.model) * 4);
    // The last stage also runs the drafter's layers, which stand behind the trunk.
    const auto end = int32_t(layout.last_stage ? kInt64Max >> 33 : ranges[i].end);
    stage.pool = lay_out(caches, grouping, b.profile, int32_t(ranges[i].first), end, stage.shape);
    fill_activations(*q.model, *q.weights, b.given, b.decided, b.profile, multiprocessors,
                     stage.shape);
    if (!layout.last_stage) stage.shape.samples = false;
    fill_overheads(q, b.given, b.profile, ranges[i], kinds, stage.shape);
    fill_graphs(b.given, b.profile, b.now,
                attends_with_flashinfer(b.given, b.decided, b.profile, b.now, kinds),
                pools(*q.model, b.given), stage.shape);
    fill_splits(*q.model, b.given, b.profile, b.decided.plain, stage.shape);
    fill_all_reduce(q, b.given, b.decided, b.profile, stage.shape);
    fill_first_compile(*q.model, b.given, b.decided, b.profile, rules.towers, layout, stage.shape);
    if (b.profile.sampler_state_charged && stage.shape.samples) {
      stage.shape.sampler_state = sampler_state(q.model->vocab_size);
    }
    if (q.settings.calibration) apply_measured(*q.settings.calibration, stage.shape);
    b.stages.push_back(std::move(stage));
  }
  if (b.profile.pipeline_asks_whole && b.stages.size() > 1) {
    b.whole = b.stages.front().shape;
    lay_out(caches, grouping, b.profile, 0, int32_t(kInt64Max >> 33), *b.whole);
  }
  return b;
}

std::string draft_named(const Options& options) {
  const auto text = [&](std::string_view name) {
    const auto value = options.string(name);
    return value && *value ? **value : std::string();
  };
  std::string name = text("speculative_config.model");
  if (name.empty()) name = text("spec_model");
  if (name.empty()) name = text("speculative_model");
  std::string method = to_lower(text("speculative_config.method"));
  if (method.empty()) method = to_lower(text("spec_method"));
  const bool separate = method.empty() || method == "draft_model";
  if (!separate || name == "[ngram]" || head_kind(method, name) != HeadKind::none) return {};
  return name;
}

VllmPoint point_of(const Build& b, Bytes total) {
  VllmPoint p;
  p.total = total;
  p.utilisation = b.decided.utilisation;
  if (b.given.cache_bytes) p.fixed_cache = *b.given.cache_bytes;
  if (b.given.cache_blocks) p.fixed_blocks = *b.given.cache_blocks;
  p.max_model_len = b.decided.max_model_len;
  p.batch_tokens = b.decided.batch_tokens;
  p.max_seqs = b.decided.max_seqs;
  return p;
}

}  // namespace vramwise::engines::vllm
