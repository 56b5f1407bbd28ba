// MXFP4 as OpenAI publishes it, and bitsandbytes.
// Source: vllm/model_executor/layers/quantization/mxfp4.py, bitsandbytes.py.
#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {

Result<Plan> plan_mxfp4(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.format = "mxfp4";
  plan.experts_only = true;
  PlanGroup all;
  all.all_linears = true;
  all.scheme.kind = SchemeKind::mxfp4;
  plan.groups.push_back(std::move(all));
  if (const auto list = config.find("modules_to_not_convert")) TRY(plan.ignored.add_all(*list));
  return plan;
}

Result<Plan> plan_bitsandbytes(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.covers_mtp = false;
  PlanGroup all;
  all.all_linears = true;
  TRY_ASSIGN(const bool eight, config.boolean_or({"load_in_8bit", "_load_in_8bit"}, false));
  TRY_ASSIGN(const bool four, config.boolean_or({"load_in_4bit", "_load_in_4bit"}, !eight));
  if (!four && !eight) {
    return fail(
        config.error(ErrorCode::inconsistent, "bitsandbytes config asks for neither 4 nor 8 bits"));
  }
  all.scheme.kind = four ? SchemeKind::bnb_nf4 : SchemeKind::bnb_int8;
  plan.format = four ? "bnb-nf4" : "bnb-int8";
  TRY_ASSIGN(all.scheme.nested, config.boolean_or({"bnb_4bit_use_double_quant"}, false));
  plan.groups.push_back(std::move(all));
  if (const auto list = config.find("llm_int8_skip_modules")) TRY(plan.ignored.add_all(*list));
  return plan;
}

}  // namespace vramwise::weights
