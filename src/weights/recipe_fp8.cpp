// quant_method "fp8" (DeepSeek, Qwen, MiniMax, Mistral …) and "fbgemm_fp8" (Meta).
// Source: vllm/model_executor/layers/quantization/fp8.py, fbgemm_fp8.py.
#include <iterator>

#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

// The list of modules left alone goes by several names.
Result<void> read_ignored(const json::Reader& config, ModuleList& ignored) {
  for (const std::string_view key :
       {"modules_to_not_convert", "ignored_layers", "exclude_modules", "ignore"}) {
    if (const auto list = config.find(key)) TRY(ignored.add_all(*list));
  }
  return {};
}

// weight_block_size [rows, columns]; some files repeat it, only the first two count.
Result<void> read_blocks(const json::Reader& list, Scheme& scheme) {
  TRY_ASSIGN(const std::vector<json::Reader> sides, list.items());
  if (sides.size() < 2) {
    return fail(list.error(ErrorCode::invalid_input, "weight_block_size needs two numbers"));
  }
  TRY_ASSIGN(scheme.block_out, sides[0].integer(1, 1 << 20));
  TRY_ASSIGN(scheme.block_in, sides[1].integer(1, 1 << 20));
  scheme.kind = SchemeKind::fp8_block;
  return {};
}

}  // namespace

Result<Plan> plan_fp8(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.format = "fp8";
  Scheme scheme;
  scheme.kind = SchemeKind::fp8_tensor;
  TRY_ASSIGN(const auto activations, config.optional_string({"activation_scheme"}));
  scheme.static_input_scale = activations == "static";
  if (const auto blocks = config.find("weight_block_size")) {
    TRY(read_blocks(*blocks, scheme));
    scheme.static_input_scale = false;
  }
  // DeepSeek-V4 keeps experts in MXFP4 and stores all scales as e8m0. Earlier checkpoints that say
  // scale_fmt ue8m0 only round fp32 scales to powers of two.
  TRY_ASSIGN(const auto experts, config.optional_string({"expert_dtype"}));
  if (experts == "fp4") {
    scheme.scale_e8m0 = true;
    plan.experts.emplace();
    plan.experts->kind = SchemeKind::mxfp4;
  }
  PlanGroup all;
  all.scheme = scheme;
  all.all_linears = true;
  plan.groups.push_back(std::move(all));

  // One scale for a whole table (vllm models/qwen4_exp/nvidia/ple_layer.py), or where blocks are 32
  // wide one for 32 columns of each row (deepseek-ai/DeepSeek-V4.1-Flash).
  plan.ngrams.emplace();
  plan.ngrams->kind =
      scheme.scale_e8m0 && scheme.block_in == 32 ? SchemeKind::mxfp8 : SchemeKind::fp8_tensor;

  // A re-quantised V4: the experts are listed as NVFP4, and what is ignored there stays fp8.
  if (config.has("quantized_layers")) {
    TRY_ASSIGN(Plan over, plan_modelopt(config, plain));
    plan.modules = std::move(over.modules);
    plan.groups.insert(plan.groups.begin(), std::make_move_iterator(over.groups.begin()),
                       std::make_move_iterator(over.groups.end()));
    plan.groups.back().scheme.scale_e8m0 = true;
    plan.format = "nvfp4";
    return plan;
  }
  TRY(read_ignored(config, plan.ignored));
  return plan;
}

Result<Plan> plan_fbgemm(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.format = "fp8-channel";
  PlanGroup all;
  all.all_linears = true;
  all.scheme.kind = SchemeKind::fp8_channel;
  all.scheme.static_input_scale = true;  // input_scale_ub, an upper bound, one fp32
  plan.groups.push_back(std::move(all));
  TRY(read_ignored(config, plan.ignored));
  return plan;
}

}  // namespace vramwise::weights
