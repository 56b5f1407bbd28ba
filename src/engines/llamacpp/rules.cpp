#include "engines/llamacpp/rules.h"

#include <string>

namespace vramwise::engines::llamacpp {

Result<Rules> rules_for(const json::Value& profile, int build) {
  Rules rules;
  const json::Value* table = profile.find("rules");
  if (table == nullptr || !table->is_object()) {
    return fail(ErrorCode::internal, "the profile of llama.cpp has no rules");
  }
  rules.build = build;
  bool complete = true;
  // A build that is not given has everything.
  const auto since = [&](std::string_view name) {
    const json::Value* first = table->find(name);
    if (first == nullptr || !first->is_integer()) {
      complete = false;
      return true;
    }
    return build == 0 || build >= first->as_integer();
  };
  rules.fused_glu = since("fused_glu");
  rules.cache_index_inputs = since("cache_index_inputs");
  rules.value_before_key = since("value_before_key");
  rules.mask_rows_exact = since("mask_rows_exact");
  rules.embeddings_leaf = since("embeddings_leaf");
  rules.rotates_quantised_cache = since("rotates_quantised_cache");
  rules.mask_half = since("mask_half");
  rules.late_row_selection = since("late_row_selection");
  rules.suppresses_in_graph = since("suppresses_in_graph") && !since("suppresses_in_sampler");
  rules.latent_keys = since("latent_keys");
  rules.encoders_cache_nothing = since("encoders_cache_nothing");
  rules.delta_one_token = since("delta_one_token");
  rules.delta_many_tokens = since("delta_many_tokens");
  rules.drafting_layers_cached = since("drafting_layers_cached");
  rules.rows_follow_tool = since("rows_follow_tool");
  rules.output_layer_first = since("output_layer_first");
  rules.row_split_refused = since("row_split_refused");
  rules.cuda_copies_in_buffer = since("cuda_copies_in_buffer");
  rules.vulkan_reorders = since("vulkan_reorders");
  rules.vulkan_events = since("vulkan_events");
  rules.splits_large_buffers = since("splits_large_buffers");
  rules.metal_extras = since("metal_extras");
  rules.flash_auto = since("flash_auto");
  rules.auto_slots = since("auto_slots");
  rules.fits_by_default = since("fits_by_default");
  rules.fit_counts_projector = since("fit_counts_projector");
  rules.all_layers_by_default = since("all_layers_by_default");
  const json::Value* contexts = profile.find("default_ctx");
  if (contexts == nullptr || !contexts->is_array()) complete = false;
  if (complete && build > 0) {
    for (const json::Value& entry : contexts->as_array()) {
      const json::Value* first = entry.find("since");
      const json::Value* value = entry.find("value");
      if (value == nullptr || (first != nullptr && build < first->as_integer())) continue;
      rules.default_ctx = value->as_integer();
    }
  }
  if (!since("cells_unpadded")) {
    rules.cell_padding_plain = 32;
  } else if (!since("cells_padded_always")) {
    rules.cell_padding_flash = rules.cell_padding_plain = 1;
  }
  if (!complete) return fail(ErrorCode::internal, "the profile of llama.cpp lacks a rule");
  return rules;
}

}  // namespace vramwise::engines::llamacpp
