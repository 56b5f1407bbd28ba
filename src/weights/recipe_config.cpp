#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

using Read = Result<Plan> (*)(const json::Reader&, const Scheme&);

struct Producer {
  std::string_view method;  // quant_method
  Read read;
};

constexpr Producer kProducers[] = {
    {"auto-round", plan_auto_round},
    {"auto_round", plan_auto_round},
    {"awq", plan_awq},
    {"awq_marlin", plan_awq},
    {"bitsandbytes", plan_bitsandbytes},
    {"compressed-tensors", plan_compressed_tensors},
    {"compressed_tensors", plan_compressed_tensors},
    {"fbgemm_fp8", plan_fbgemm},
    {"fp8", plan_fp8},
    {"gptq", plan_gptq},
    {"gptq_marlin", plan_gptq},
    {"inc", plan_auto_round},
    {"intel/auto-round", plan_auto_round},
    {"modelopt", plan_modelopt},
    {"modelopt_fp4", plan_modelopt},
    {"modelopt_mixed", plan_modelopt},
    {"mxfp4", plan_mxfp4},
    {"quark", plan_quark},
};

// Methods whose files nobody serves much, with a format of about their size to plan instead.
struct Stranger {
  std::string_view method, near;
};
constexpr Stranger kStrangers[] = {
    {"aqlm", "gptq-int4"}, {"bitnet", "gptq-int4"}, {"eetq", "int8"},      {"exl2", "gptq-int4"},
    {"exl3", "gptq-int4"}, {"higgs", "gptq-int4"},  {"hqq", "gptq-int4"},  {"ipex", "awq"},
    {"quip", "gptq-int4"}, {"quanto", "int8"},      {"spqr", "gptq-int4"}, {"torchao", "gptq-int4"},
    {"vptq", "gptq-int4"},
};

// Without quant_method the shape of the config tells the producer.
Read producer_by_shape(const json::Reader& config) {
  const auto nested = config.find("quantization");
  if (config.has("quant_algo") || config.has("quantized_layers") ||
      (nested && nested->is_object())) {
    return plan_modelopt;
  }
  if (config.has("config_groups")) return plan_compressed_tensors;
  if (config.has("load_in_4bit") || config.has("load_in_8bit")) return plan_bitsandbytes;
  if (config.has("group_size") && config.has("bits")) return plan_mlx;
  return nullptr;
}

Result<Plan> read_config(const model::Model& model) {
  const json::Reader config(model.quantization_config, "quantization_config");
  if (!config.is_object()) {
    return fail(config.error(ErrorCode::invalid_input, "quantization_config is not an object"));
  }
  const Scheme plain = leftover_scheme(model);
  TRY_ASSIGN(auto method, config.optional_string({"quant_method"}));
  if (method) method = to_lower(*method);
  if (!method || method->empty()) {
    if (const Read read = producer_by_shape(config)) return read(config, plain);
    return fail(config.error(ErrorCode::missing_field, "quantization_config has no quant_method")
                    .hint("pass a weight format, such as bf16 or fp8"));
  }
  std::vector<std::string_view> known;
  for (const Producer& producer : kProducers) {
    if (producer.method == *method) return producer.read(config, plain);
    known.push_back(producer.method);
  }
  Error error = config.error(ErrorCode::unsupported,
                             "quantisation method \"" + *method + "\" is not modelled");
  const std::string lower = to_lower(*method);
  for (const Stranger& stranger : kStrangers) {
    if (stranger.method != lower) continue;
    error.hints.push_back("pass the weight format " + std::string(stranger.near) +
                          " to plan with a checkpoint of about its size (the bits per weight may "
                          "differ), or bf16 for one that is not quantised");
    return fail(std::move(error));
  }
  for (const std::string& near : nearest_names(*method, known)) {
    error.hints.push_back("known and similar: " + near);
  }
  error.hints.push_back("pass a weight format, such as bf16 or fp8, to plan with that instead");
  return fail(std::move(error));
}

}  // namespace

Result<Plan> plan_of_config(const model::Model& model) {
  TRY_ASSIGN(Plan plan, read_config(model));
  const json::Value* assumed = model.quantization_config.find("assumed");
  plan.habit = assumed != nullptr && assumed->is_boolean() && assumed->as_boolean();
  return plan;
}

}  // namespace vramwise::weights
