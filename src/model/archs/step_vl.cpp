// Step3-VL: the Perception Encoder before a language model of another family (Qwen3).
// Source: vllm model_executor/models/step_vl.py; stepfun-ai/Step3-VL-10B.
#include "model/arch_rule.h"
#include "model/dispatch.h"
#include "model/towers/perception_encoder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const auto inner = config.find({"text_config"});
  if (!inner) {
    return fail(config.error(ErrorCode::invalid_input, "a Step3-VL config has a text_config"));
  }
  json::Value language = inner->value();
  if (language.is_object() && language.find("model_type") == nullptr) {
    language.set("model_type", "qwen3");
  }
  const json::Reader text(language, config.where().source);
  TRY_ASSIGN(Model built, build_by_type(text));
  const Fields text_fields(text);
  Builder b(top, text_fields, {});
  b.adopt(std::move(built), "");
  add_perception_encoder(b, top, top.nested({"vision_config"}));
  if (top.failed()) return fail(*top.fault());
  return b.finish();
}

constexpr std::string_view kTypes[] = {"step_robotics"};
constexpr std::string_view kClasses[] = {"StepVLForConditionalGeneration"};

}  // namespace

const ArchRule& arch_step_vl() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
