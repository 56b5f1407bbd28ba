#include "engines/sglang/settings.h"

#include <algorithm>

#include "base/text.h"
#include "engines/known_versions.h"
#include "engines/limits.h"
#include "engines/online_quantisation.h"
#include "engines/unknown_options.h"

namespace vramwise::engines::sglang {
namespace {

struct Kinds {
  bool latent = false, sparse = false, state = false, window = false, compressed = false;
};

Kinds kinds_of(const model::Model& model) {
  Kinds k;
  for (const model::Layer& layer : model.layers) {
    for (const model::CacheLayout& c : layer.caches) {
      k.latent = k.latent || std::holds_alternative<model::LatentAttention>(c);
      k.sparse = k.sparse || std::holds_alternative<model::IndexerKeys>(c);
      k.window = k.window || std::holds_alternative<model::SlidingWindow>(c);
      k.state = k.state || model::is_recurrent(c);
      k.compressed = k.compressed || std::holds_alternative<model::CompressedAttention>(c);
    }
  }
  return k;
}

Result<bool> read_parallel(const Options& o, const Question& q, Setup& s, Notes& notes) {
  TRY_ASSIGN(const auto tensor, o.integer("tp_size", 1, 1 << 16));
  TRY_ASSIGN(const auto data, o.integer("dp_size", 1, 1 << 16));
  TRY_ASSIGN(const auto pipeline, o.integer("pp_size", 1, 1 << 16));
  TRY_ASSIGN(const auto expert, o.integer("ep_size", 1, 1 << 16));
  TRY_ASSIGN(const auto attention, o.boolean("enable_dp_attention"));
  s.data = data.value_or(1);
  s.pipeline = pipeline.value_or(1);
  s.expert = expert.value_or(1);
  s.data_attention = attention.value_or(false) && s.data > 1;
  const auto devices = int64_t(q.hardware->devices.size());
  if (tensor) {
    s.tensor = *tensor;
  } else if (devices > 1 && !data && !pipeline) {
    s.tensor = devices;
    s.tensor_assumed = true;
    notes.assume("tensor_parallel_from_devices",
                 "the layers are split over " + std::to_string(devices) +
                     " devices (SGLang itself uses one unless --tp-size says so)");
  }
  s.attention_ranks = s.data_attention ? std::max<int64_t>(1, s.tensor / s.data) : s.tensor;
  return true;
}

// Sizes that follow from the card's memory when they are not given.
Result<bool> read_sizes(const Options& o, Facts& facts, const Circumstances& now, Setup& s) {
  const json::Value& tier = facts.row("tiers", now);
  TRY_ASSIGN(const auto chunk, o.integer("chunked_prefill_size", -1, int64_t{1} << 40));
  TRY_ASSIGN(const auto batch, o.integer("cuda_graph_max_bs_decode", 0, 1 << 20));
  TRY_ASSIGN(const auto list, o.numbers("cuda_graph_bs_decode"));
  TRY_ASSIGN(const auto no_graphs, o.boolean("disable_cuda_graph"));
  s.chunk = chunk ? std::max<int64_t>(0, *chunk) : facts.integer(tier, "chunk");
  s.graph_batch = batch.value_or(facts.integer(tier, s.tensor < 4 ? "graphs" : "graphs_from_4"));
  if (list && !list->empty())
    s.graph_batch = int64_t(*std::max_element(list->begin(), list->end()));
  if (no_graphs.value_or(false)) s.graph_batch = 0;
  return true;
}

Result<bool> is_off(const Options& o, std::string_view name) {
  TRY_ASSIGN(const auto backend, o.string(name));
  return backend && to_lower(*backend) == "disabled";
}

// Which graphs are captured, by phase; a server of one phase captures those of that phase alone.
Result<bool> read_graphs(const Options& o, Setup& s) {
  TRY_ASSIGN(const auto batch, o.integer("cuda_graph_config.decode.max_bs", 0, 1 << 20));
  TRY_ASSIGN(const auto tokens, o.integer("cuda_graph_config.prefill.max_bs", 0, 1 << 24));
  TRY_ASSIGN(const auto limit, o.integer("cuda_graph_max_bs_prefill", 0, 1 << 24));
  TRY_ASSIGN(const auto no_decode, o.boolean("disable_decode_cuda_graph"));
  TRY_ASSIGN(const auto no_prefill, o.boolean("disable_prefill_cuda_graph"));
  TRY_ASSIGN(const auto no_pieces, o.boolean("disable_piecewise_cuda_graph"));
  TRY_ASSIGN(const auto pieces, o.boolean("enable_piecewise_cuda_graph"));
  TRY_ASSIGN(const auto longest, o.integer("piecewise_cuda_graph_max_tokens", 0, 1 << 24));
  constexpr int64_t kLongestPiece = 4096;  // sglang server_args.py
  if (pieces.value_or(false)) s.pieces = longest.value_or(kLongestPiece);
  TRY_ASSIGN(const auto role, o.string("disaggregation_mode"));
  TRY_ASSIGN(const bool decode_off, is_off(o, "cuda_graph_config.decode.backend"));
  TRY_ASSIGN(const bool decode_off_too, is_off(o, "cuda_graph_backend_decode"));
  TRY_ASSIGN(const bool prefill_off, is_off(o, "cuda_graph_config.prefill.backend"));
  TRY_ASSIGN(const bool prefill_off_too, is_off(o, "cuda_graph_backend_prefill"));
  if (batch && s.graph_batch > 0) s.graph_batch = *batch;
  s.prefill_limit = tokens ? *tokens : limit.value_or(0);
  const std::string phase = to_lower(role.value_or(""));
  s.decodes_only = phase == "decode";
  if (no_decode.value_or(false) || decode_off || decode_off_too || phase == "prefill") {
    s.graph_batch = 0;
  }
  s.prefill_graphs = !(no_prefill.value_or(false) || no_pieces.value_or(false) || prefill_off ||
                       prefill_off_too || s.decodes_only);
  return true;
}

// A second level of the cache in host memory. Source: sglang mem_cache/memory_pool_host.py.
Result<bool> read_host_cache(const Options& o, Setup& s) {
  TRY_ASSIGN(const auto on, o.boolean("enable_hierarchical_cache"));
  TRY_ASSIGN(const auto size, o.number("hicache_size", 0, 1e6));
  TRY_ASSIGN(const auto ratio, o.number("hicache_ratio", 0, 1e6));
  if (!on.value_or(false)) return true;
  constexpr double kGigabyte = 1e9;
  s.host_cache = Bytes(int64_t(size.value_or(0) * kGigabyte));
  s.host_cache_ratio = ratio.value_or(2);
  return true;
}

Result<bool> read_cache(const Options& o, const Question& q, Facts& facts, const Circumstances& now,
                        const Kinds& kinds, Setup& s) {
  TRY_ASSIGN(const auto dtype, o.string("dtype"));
  TRY_ASSIGN(const auto cache, o.string("kv_cache_dtype"));
  TRY_ASSIGN(const auto state, o.string("mamba_ssm_dtype"));
  TRY_ASSIGN(const auto page, o.integer("page_size", 1, 1 << 20));
  TRY_ASSIGN(const auto window, o.number("swa_full_tokens_ratio", 0, 1));
  TRY_ASSIGN(const auto ratio, o.number("mamba_full_memory_ratio", 0, 1e6));
  TRY_ASSIGN(const auto no_radix, o.boolean("disable_radix_cache"));
  TRY_ASSIGN(const auto no_windows, o.boolean("disable_hybrid_swa_memory"));
  s.plain = dtype && dtype_from_name(*dtype) ? *dtype_from_name(*dtype) : q.model->dtype;
  if (s.plain == DType::float32 && !dtype) s.plain = DType::bfloat16;
  if (state) s.state = dtype_from_name(*state).value_or(DType::float32);
  std::string name = to_lower(cache.value_or("auto"));
  const json::Value& sparse = facts.row("sparse_latent", now);
  // What ModelOpt wrote into the checkpoint. Source: sglang model_executor/model_runner.py,
  // configure_kv_cache_dtype: of that only FP8 counts.
  if (name == "auto" && q.weights->recipe &&
      starts_with(to_lower(q.weights->recipe->kv_cache_dtype), "fp8")) {
    name = "fp8_e4m3";
  }
  if (name == "auto" && kinds.latent && kinds.sparse && sparse.find("fp8") != nullptr)
    name = "fp8_e4m3";
  s.cache_dtype = name == "auto" ? std::string(to_string(s.plain)) : name;
  if (name == "auto" || starts_with(name, "bf") || name == "float16") {
    s.element = {dtype_bytes(s.plain), 1};
  } else if (starts_with(name, "fp4") || name == "nvfp4") {
    s.element = {9, 16};
  } else if (name == "mxfp8") {
    s.element = {33, 32};
  } else {
    s.element = {1, 1};
  }
  if (s.element == ElementSize{1, 1}) s.sparse_row_bytes = facts.integer(sparse, "row_bytes");
  int64_t rows = kinds.latent && kinds.sparse ? facts.integer(sparse, "page") : 1;
  if (kinds.compressed) rows = facts.integer("compressed_page");
  s.page = page.value_or(rows);
  s.compressed = kinds.compressed;
  s.window_ratio =
      window.value_or(facts.number(kinds.compressed ? "compressed_window_ratio" : "window_ratio"));
  TRY_ASSIGN(const auto slots, o.integer("max_mamba_cache_size", 1, 1 << 30));
  s.state_slots = slots.value_or(0);
  s.state_ratio = ratio.value_or(facts.number("state_ratio"));
  s.radix_cache = !no_radix.value_or(false);
  s.window_pools = facts.flag("window_pools") && !no_windows.value_or(false);
  s.slots_per_request = s.radix_cache ? facts.integer("slots_per_request") : 1;
  return true;
}

Result<bool> read_limits(const Options& o, const Question& q, Setup& s) {
  TRY_ASSIGN(s.fraction, o.number("mem_fraction_static", 0, 1));
  TRY_ASSIGN(const auto running, o.integer("max_running_requests", 1, 1 << 30));
  TRY_ASSIGN(const auto context, o.integer("context_length", 1, int64_t{1} << 40));
  TRY_ASSIGN(s.max_tokens, o.integer("max_total_tokens", 1, int64_t{1} << 40));
  TRY_ASSIGN(const auto multimodal, o.boolean("enable_multimodal"));
  TRY_ASSIGN(const auto algorithm, o.string("speculative_algorithm"));
  TRY_ASSIGN(const auto draft, o.integer("speculative_num_draft_tokens", 1, 4096));
  s.max_running = running.value_or(0);
  s.context = context.value_or(0);
  s.context_given = context.has_value();
  s.allow_long = switched_on(q.settings, "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN");
  if (s.context == 0 && q.workload.sequence_tokens.count() > 0) {
    s.context = q.workload.sequence_tokens.count();
    s.context_from_workload = true;
  }
  if (s.context == 0) s.context = q.model->max_positions > 0 ? q.model->max_positions : 2048;
  s.multimodal = q.model->vision.has_value() && multimodal.value_or(true);
  TRY_ASSIGN(const auto drafter, o.string("speculative_draft_model_path"));
  const std::string method = to_lower(algorithm.value_or(""));
  const std::string name = drafter.value_or("");
  if ((method.empty() && !q.draft.given()) || method == "none" || method == "ngram") return true;
  TRY_ASSIGN(const auto steps, o.integer("speculative_num_steps", 1, 4096));
  TRY_ASSIGN(const auto branches, o.integer("speculative_eagle_topk", 1, 4096));
  // A chain is checked with the token before it: sglang server_args.py.
  const bool chain = steps && branches.value_or(1) == 1;
  s.draft_tokens = draft.value_or(chain ? *steps + 1 : 4);
  // EAGLE without a drafter of its own is the name for the model's prediction layers.
  const bool names_own = name.empty() || name == q.model->id || contains(to_lower(name), "nextn");
  const bool own_layers = !q.model->mtp_layers.empty() && names_own && !q.draft.given();
  if (own_layers || method == "nextn") {
    s.mtp = true;
  } else {
    s.drafter = true;
    s.standalone = method == "standalone" || method.empty();
    if (method != "standalone") s.drafter_head = head_kind(method, name);
  }
  return true;
}

// What changes the weights of a rank: quantisation while loading, adapters, host memory.
Result<bool> read_loading(const Options& o, const Question& q, Setup& s, Notes& notes) {
  TRY_ASSIGN(const auto flag, o.string("quantization"));
  TRY_ASSIGN(const auto torchao, o.string("torchao_config"));
  TRY_ASSIGN(const auto offload, o.number("cpu_offload_gb", 0, 1e6));
  s.online = online_scheme(flag.value_or(""), *q.weights, notes);
  if (!s.online) s.online = torchao_scheme(torchao.value_or(""), *q.weights, notes);
  if (offload) s.offload = Bytes(int64_t(*offload * double(GiB(1).count())));
  TRY_ASSIGN(const auto adapters, o.boolean("enable_lora"));
  TRY_ASSIGN(const auto slots, o.integer("max_loras_per_batch", 1, 1 << 16));
  TRY_ASSIGN(const auto rank, o.integer("max_lora_rank", 1, 1 << 16));
  if (!adapters.value_or(false) && !o.has("lora_paths")) return true;
  s.lora_slots = slots.value_or(8);
  s.lora_rank = rank.value_or(16);
  if (!rank) {
    notes.assume("lora_rank",
                 "no --max-lora-rank is given: SGLang takes the largest rank among the adapters; "
                 "16 is counted",
                 "sglang srt/lora/lora_manager.py");
  }
  return true;
}

// Integer weights in groups are loaded as stored and then repacked for the Marlin kernels.
bool is_repacked(const weights::Weights& weights) {
  if (!weights.recipe) return false;
  return std::any_of(
      weights.recipe->schemes.begin(), weights.recipe->schemes.end(), [](const weights::Scheme& s) {
        return s.kind == weights::SchemeKind::awq || s.kind == weights::SchemeKind::gptq ||
               s.kind == weights::SchemeKind::wna16;
      });
}

// Up to 0.5.3 the default depends on the number of ranks or on the card alone.
void read_default_fraction(Facts& facts, const Circumstances& now, Setup& s) {
  const json::Value& row = facts.row("default_fraction", now);
  s.fixed_fraction = double(facts.integer(row, "per_mille")) / 1000;
  if (row.find("kib") == nullptr) return;
  s.set_aside = KiB(facts.integer(row, "kib")) +
                KiB(facts.integer(row, "rank_kib")) * (s.tensor * s.pipeline);
  if (s.data_attention) s.set_aside += KiB(facts.integer(row, "data_attention_kib"));
  if (s.mtp || s.drafter) s.set_aside += KiB(facts.integer(row, "speculation_kib"));
}

void read_facts(Facts& facts, const Circumstances& now, Setup& s) {
  read_default_fraction(facts, now, s);
  const json::Value& drafting = facts.row("draft_reserved", now);
  if (s.mtp || s.drafter) {
    s.draft_reserved = MiB(facts.integer(drafting, s.standalone ? "standalone" : "head"));
  }
  s.index_keys_counted = facts.flag("index_keys_counted");
  s.block_states_paged = facts.flag("compressed_states_paged");
  if (s.compressed && s.max_running == 0) s.max_running = facts.integer("compressed_requests");
  s.before = facts.mib(facts.row("before_weights", now));
  s.leftovers = facts.mib(facts.row("loader_leftovers", now));
  s.system = facts.mib(facts.row("system", now));
  s.reserved_floor = MiB(facts.integer("reserved_mib"));
  s.large_floor = now.total >= GiB(facts.integer("large_card_gib"))
                      ? MiB(facts.integer("large_card_reserved_mib"))
                      : Bytes();
  s.reserved_per_token_kib = facts.integer("reserved_per_token_kib");
  s.reserved_per_rank_mib = facts.integer("reserved_per_rank_mib");
  s.graph_per_batch_mib = facts.integer("graph_per_batch_mib");
  s.latent_graph_mib = facts.integer("latent_prefill_graph_mib");
  s.prefill_graph_mib = facts.integer("prefill_graph_mib");
  s.piece_kib = facts.integer("piece_kib");
  s.smi_per_mille = facts.integer("smi_over_cuda_per_mille");
  s.multimodal_factor = facts.number("multimodal_factor");
  s.vision_sensitivity = facts.number("vision_sensitivity");
  s.second_scales = facts.row("nvfp4", now).find("second_scales") != nullptr;
  s.weights_low_per_mille = facts.integer("weights_low_per_mille");
  s.weights_high_per_mille = facts.integer("weights_high_per_mille");
  s.weights_floor = MiB(facts.integer("weights_bar_mib"));
  s.activation_kib = facts.integer("activation_per_token_kib");
}

}  // namespace

std::string draft_named(const Options& options) {
  const auto text = [&](std::string_view name) {
    const auto value = options.string(name);
    return value && *value ? **value : std::string();
  };
  const std::string method = to_lower(text("speculative_algorithm"));
  return method == "standalone" ? text("speculative_draft_model_path") : std::string();
}

Result<Setup> read_setup(const Question& q, Notes& notes) {
  Setup s;
  const Options& o = q.settings.options;
  TRY_ASSIGN(Facts facts, Facts::load("sglang", q.settings.version));
  TRY(read_parallel(o, q, s, notes));
  Circumstances now = circumstances(*q.hardware);
  now.ranks = s.tensor;
  now.marlin = is_repacked(*q.weights);
  const Kinds kinds = kinds_of(*q.model);
  TRY(read_sizes(o, facts, now, s));
  TRY(read_graphs(o, s));
  TRY(read_host_cache(o, s));
  TRY(read_cache(o, q, facts, now, kinds, s));
  TRY(read_limits(o, q, s));
  TRY(read_loading(o, q, s, notes));
  read_facts(facts, now, s);
  // An explicit "awq" or "gptq" keeps the stored layout.
  TRY_ASSIGN(const auto quantisation, o.string("quantization"));
  const std::string kernel = quantisation ? to_lower(*quantisation) : std::string();
  s.repacked = now.marlin && kernel != "awq" && kernel != "gptq";
  TRY(facts.check());
  if (q.detail == Detail::full) {
    TRY(warn_of_options(o, "sglang", "SGLang", notes));
    warn_of_variables(q.settings.env, "sglang", "SGLang", notes);
    TRY(note_version(q.settings.version, "sglang", notes));
  }
  return s;
}

}  // namespace vramwise::engines::sglang
