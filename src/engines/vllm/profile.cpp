#include "engines/vllm/profile.h"

#include <algorithm>

namespace vramwise::engines::vllm {
namespace {

ExpertPadding padding(Facts& facts, const json::Value& row) {
  ExpertPadding pad;
  pad.hidden_in = facts.integer(row, "hidden_in");
  pad.hidden_out = facts.integer(row, "hidden_out");
  pad.width_in = facts.integer(row, "width_in");
  pad.width_out = facts.integer(row, "width_out");
  return pad;
}

void read_cache(Facts& facts, const Circumstances& now, Profile& p) {
  p.window_groups = facts.flag("window_groups");
  p.chunked_layers_grouped = facts.flag("chunked_layers_grouped");
  p.group_threshold_percent = facts.integer("group_threshold_percent");
  p.figure_by_concurrency = facts.flag("figure_by_concurrency");
  p.batches_in_flight = facts.integer("batches_in_flight");
  p.in_flight_by_stages = facts.flag("in_flight_by_stages");
  p.state_caching_default = facts.flag("state_caching_default");
  p.state_caching_aligns = facts.flag("state_caching_aligns");
  p.mamba_state_demanded = facts.flag("mamba_state_demanded");
  p.delta_state_demanded = facts.flag("delta_state_demanded");
  p.slot_check = facts.flag("slot_check");
  p.pipeline_asks_whole = facts.flag("pipeline_asks_whole");
  p.checkpoint_cache_type = facts.flag("checkpoint_cache_type");
  const json::Value& sparse = facts.row("sparse_latent", now);
  p.sparse_row_bytes = facts.integer(sparse, "fp8_row_bytes");
  p.sparse_plain_rows = p.sparse_row_bytes == 0;
  p.sparse_block_tokens = facts.integer(sparse, "block_tokens");
  p.block_tokens = facts.integer("block_tokens");
  p.latent_block_tokens = facts.integer(facts.row("latent_block_tokens", now), "value");
  p.compressed_block_tokens = facts.integer("compressed_block_tokens");
  p.packed_blocks = facts.flag("packed_overlaid") ? PackedBlocks::overlaid
                    : facts.flag("packed_slots")  ? PackedBlocks::slots
                                                  : PackedBlocks::tuples;
  p.state_alignment = facts.integer("state_alignment");
  p.latent_state_alignment = facts.integer("latent_state_alignment");
  p.pooled_state_alignment = facts.integer("pooled_state_alignment");
  p.side_extra_pages = facts.integer("side_extra_pages");
}

void read_activations(Facts& facts, const Circumstances& now, Profile& p) {
  p.streams_logged = facts.integer(facts.row("streams_logged", now), "value") != 0;
  const json::Value& sampler = facts.row("sampler", now);
  p.sampler_bytes = facts.integer(sampler, "bytes");
  p.sampler_low_bytes =
      sampler.find("low_bytes") != nullptr ? facts.integer(sampler, "low_bytes") : p.sampler_bytes;
  p.sampler_buffer_bytes = facts.integer(sampler, "buffer_bytes");
  p.sampler_when_chunked = facts.flag("sampler_when_chunked") || !now.first_engine;
  p.cublas_workspace = MiB(facts.integer(facts.row("cublas_workspace", now), "value"));
  p.layer_hidden = facts.integer(facts.row("layer_hidden", now), "value");
  p.expert_workspace_stays = facts.flag("expert_workspace_stays");
  p.expert_token_cap = facts.integer("expert_token_cap");
  p.indexer_buffers = facts.flag("indexer_buffers");
  p.indexer_rows = facts.integer("indexer_rows");
  p.sampler_percent = facts.integer("sampler_percent");
  p.layer_percent = facts.integer("layer_percent");
  p.items_per_prompt = facts.integer(facts.row("items_per_prompt", now), "value");
  p.rows_padded = facts.flag("encoder_rows_padded");
  p.encoder_profiled = facts.integer(facts.row("encoder_profiled", now), "value") != 0;
  const json::Value& compile = facts.row("first_compile", now);
  p.first_compile_charged = compile.find("charged") != nullptr;
  p.first_compile_stays = compile.find("stays") != nullptr;
  p.spare_projections = facts.integer(facts.row("spare_projections", now), "value") != 0;
  p.sampler_state_charged = facts.integer(facts.row("sampler_state", now), "value") != 0;
  p.encoder_percent = facts.integer("encoder_percent");
  p.expert_percent = facts.integer("expert_percent");
}

GraphSize graph_size(Facts& facts, const json::Value& row, const std::string& kind) {
  return {KiB(facts.integer(row, kind + "piece")), KiB(facts.integer(row, kind + "full"))};
}

void read_overheads(Facts& facts, const Circumstances& now, Profile& p) {
  p.non_torch = facts.mib(facts.row("non_torch", now));
  p.all_reduce_limit = KiB(facts.integer(facts.row("all_reduce_limit", now), "kib")).count();
  p.all_reduce_step = MiB(facts.integer("all_reduce_step_mib"));
  p.all_reduce_fused = facts.flag("all_reduce_fused");
  p.all_reduce_alone = facts.flag("all_reduce_fused_alone");
  p.before_snapshot = facts.mib(facts.row("before_snapshot", now));
  const json::Value& layer = facts.row("graph_layer", now);
  p.graph_layer = graph_size(facts, layer, "");
  p.graph_latent_layer = graph_size(facts, layer, "latent_");
  p.graph_sparse_layer = graph_size(facts, layer, "sparse_");
  const json::Value& bars = facts.row("graph_bars", now);
  p.graph_low_percent = facts.integer(bars, "low_percent");
  p.graph_high_percent = facts.integer(bars, "high_percent");
  p.graph_taken_low_percent = facts.integer(bars, "taken_low_percent");
  p.graph_over_estimate_percent = facts.integer(bars, "over_estimate_percent");
  if (bars.find("measured") != nullptr) p.graph_host = facts.mib(bars);
  p.graph_activations = facts.flag("graph_activations");
  p.graph_splits = facts.integer(facts.row("graph_splits", now), "value");
  p.old_drivers = bars.find("old_drivers") != nullptr;
  p.graph_taken_high_percent = facts.integer(bars, "taken_high_percent");
  p.full_graphs = facts.flag("full_graphs");
  p.flashinfer_attention = facts.integer(facts.row("flashinfer_attention", now), "value") != 0;
  p.flashinfer_workspace = MiB(facts.integer("flashinfer_workspace"));
  p.warm_up_freed = facts.integer(facts.row("warm_up_freed", now), "value") != 0;
  p.graph_sizes_step = facts.integer("graph_sizes_step");
  p.graph_largest = facts.integer("graph_largest");
}

void read_kernels(Facts& facts, const Circumstances& now, Profile& p) {
  p.bfloat16_falls_back = facts.flag("bfloat16_falls_back");
  p.half_fails = facts.list("half_fails");
  p.text_only_limits = facts.list("text_only_limits");
  const json::Value& mxfp4 = facts.row("mxfp4_padding", now);
  p.mxfp4_padding = padding(facts, mxfp4);
  p.mxfp4_without_workspace = mxfp4.find("without_workspace") != nullptr;
  const json::Value& fp4 = facts.row("nvfp4_experts", now);
  p.nvfp4_padding = padding(facts, fp4);
  p.fp4_without_workspace = fp4.find("without_workspace") != nullptr;
  const json::Value& fp8 = facts.row("fp8_weights", now);
  p.marlin_fp8 = fp8.find("marlin") != nullptr;
  p.gptq_without_marlin = fp8.find("gptq_without_marlin") != nullptr;
  p.weights_per_mille = facts.integer(facts.row("weights_per_mille", now), "value");
  p.unverified_per_mille = facts.integer("unverified_per_mille");
  const json::Value& released = facts.row("released_per_mille", now);
  p.released_packed_per_mille = facts.integer(released, "packed");
  p.released_per_mille = facts.integer(released, "other");
  const json::Value& habit = facts.row("habit_per_mille", now);
  p.habit_low_per_mille = facts.integer(habit, "low");
  p.habit_high_per_mille = facts.integer(habit, "high");
}

// The release's choice for a model that runner 2 can serve.
bool leads_with_runner_2(Facts& facts, const Circumstances& now) {
  if (facts.flag("second_runner_all")) return true;
  if (now.speculates || (now.pooling && !facts.flag("second_runner_pooling"))) return false;
  if (now.quantised && !facts.flag("second_runner_quantised")) return false;
  if (now.dense && facts.flag("second_runner_dense")) return true;
  const std::vector<std::string> moved = facts.list("second_runner_models");
  return std::find(moved.begin(), moved.end(), now.architecture) != moved.end();
}

}  // namespace

Result<Profile> load_profile(const Version& version, Circumstances& now,
                             std::optional<bool> use_first_engine,
                             std::optional<bool> use_second_runner) {
  TRY_ASSIGN(Facts facts, Facts::load("vllm", version));
  Profile p;
  p.version = facts.version();
  now.first_engine = use_first_engine ? *use_first_engine : facts.flag("first_engine");
  p.utilisation = facts.number("utilisation");
  // Runner 2 serves what `now.runner` marked as possible, of the models for which the version made
  // it the default.
  if (use_second_runner) {
    now.runner = *use_second_runner ? 2 : 1;
  } else if (now.runner == 2 && !leads_with_runner_2(facts, now)) {
    now.runner = 1;
  }
  const json::Value& charge = facts.row("graph_estimate", now);
  p.graphs_charged = charge.find("charged") != nullptr && charge.find("charged")->as_boolean();
  p.blocks_are_memory = facts.flag("blocks_are_memory");
  const json::Value& batch = facts.row("batch_limits", now);
  p.batch_tokens = facts.integer(batch, "tokens");
  p.max_seqs = facts.integer(batch, "sequences");
  p.whole_items = facts.list("whole_items");
  p.whole_item_tokens = facts.integer("whole_item_tokens");
  p.batch_holds_item = facts.flag("batch_holds_item");
  p.unchunked_floor = facts.integer("first_engine_batch_floor");
  p.chunked_batch = facts.integer("first_engine_chunk");
  p.chunked_above = facts.integer("first_engine_chunked_above");
  read_cache(facts, now, p);
  read_activations(facts, now, p);
  read_overheads(facts, now, p);
  read_kernels(facts, now, p);
  if (now.first_engine) {
    p.window_groups = false;
    p.figure_by_concurrency = false;
    p.slot_check = false;
  }
  TRY(facts.check());
  return p;
}

}  // namespace vramwise::engines::vllm
