// Formats asked for by name: what their usual quantiser does to a model, where the model's own
// files do not say it.
#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

struct Named {
  std::string_view id;
  SchemeKind kind;
  int bits;
  int64_t group;
  std::string_view description;
};

// 4-bit formats in groups of 128, as llm-compressor, AutoAWQ and GPTQModel make by default.
constexpr Named kNamed[] = {
    {"awq", SchemeKind::awq, 4, 128, "AWQ, 4-bit groups of 128 with zero points"},
    {"bf16", SchemeKind::plain, 16, 0, "bfloat16, unquantised"},
    {"bnb-int8", SchemeKind::bnb_int8, 8, 0, "bitsandbytes LLM.int8()"},
    {"bnb-nf4", SchemeKind::bnb_nf4, 4, 64, "bitsandbytes 4-bit NF4, nested absmax"},
    {"fp16", SchemeKind::plain, 16, 0, "float16, unquantised"},
    {"fp32", SchemeKind::plain, 32, 0, "float32, unquantised"},
    {"fp8", SchemeKind::fp8_block, 8, 0, "fp8, blocks of 128x128 unless the model's files differ"},
    {"fp8-block", SchemeKind::fp8_block, 8, 0, "fp8, one scale per 128x128 block"},
    {"fp8-channel", SchemeKind::fp8_channel, 8, 0, "fp8, one scale per output channel"},
    {"fp8-tensor", SchemeKind::fp8_tensor, 8, 0, "fp8, one scale per matrix"},
    {"gptq-int4", SchemeKind::gptq, 4, 128, "GPTQ, 4-bit groups of 128"},
    {"gptq-int8", SchemeKind::gptq, 8, 128, "GPTQ, 8-bit groups of 128"},
    {"int8", SchemeKind::int8_channel, 8, 0, "int8 weights and activations, scale per channel"},
    {"mxfp4", SchemeKind::mxfp4, 4, 32,
     "MXFP4, one scale per 32; experts only where there are any"},
    {"mxfp8", SchemeKind::mxfp8, 8, 32, "MXFP8, one scale per 32"},
    {"nvfp4", SchemeKind::nvfp4, 4, 16, "NVFP4, one fp8 scale per 16"},
    {"w4a16", SchemeKind::wna16, 4, 128, "compressed-tensors, 4-bit groups of 128"},
    {"w8a16", SchemeKind::wna16, 8, 128, "compressed-tensors, 8-bit groups of 128"},
    {"w8a8", SchemeKind::int8_channel, 8, 0, "int8 weights and activations, scale per channel"},
};

bool has_experts(const model::Model& model) {
  for (const model::Layer& layer : model.layers) {
    if (std::holds_alternative<model::MoeFeedForward>(layer.feed_forward)) return true;
  }
  return false;
}

DType plain_type(std::string_view id, const model::Model& model) {
  if (id == "fp16") return DType::float16;
  if (id == "fp32") return DType::float32;
  if (id == "bf16") return DType::bfloat16;
  return leftover_scheme(model).plain_type;
}

}  // namespace

std::optional<Plan> plan_of_format(const model::Model& model, std::string_view format) {
  for (const Named& named : kNamed) {
    if (named.id != format) continue;
    Plan plan;
    plan.habit = true;
    plan.format = std::string(named.id);
    plan.plain.plain_type = plain_type(named.id, model);
    if (named.kind == SchemeKind::plain) return plan;
    PlanGroup all;
    all.all_linears = true;
    all.scheme.kind = named.kind;
    all.scheme.bits = named.bits;
    all.scheme.group = named.group;
    all.scheme.zeros = named.kind == SchemeKind::awq;
    // llm-compressor saves channel scales in the model's type, AutoFP8 and ModelOpt scalars in
    // fp32.
    if (named.kind == SchemeKind::fp8_channel || named.kind == SchemeKind::int8_channel) {
      all.scheme.scale_type = plan.plain.plain_type;
    }
    plan.covers_mtp = false;
    std::string stays =
        "embeddings, output head, norms, routers, convolutions, towers and MTP layers";
    if (named.kind == SchemeKind::nvfp4) {
      all.scheme.static_input_scale = true;
      plan.covers_latent = plan.covers_recurrent = false;
      stays += ", recurrent mixers and the low-rank projections of latent attention";
    }
    if (named.kind == SchemeKind::mxfp4 && has_experts(model)) {
      plan.experts_only = true;
      stays = "everything but the routed experts";
    }
    plan.notes.assume("weights_habit", std::string(named.id) + ": " + stays + " stay in " +
                                           std::string(to_string(plan.plain.plain_type)) +
                                           ", as the format's usual quantiser leaves them.");
    plan.groups.push_back(std::move(all));
    return plan;
  }
  return std::nullopt;
}

std::vector<FormatInfo> formats() {
  std::vector<FormatInfo> all;
  for (const Named& named : kNamed) all.push_back({named.id, named.description});
  return all;
}

}  // namespace vramwise::weights
