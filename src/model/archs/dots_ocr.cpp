// dots.ocr: a Qwen 2 with a tower of its own; its keys stand at the top of the config. Source:
// rednote-hilab/dots.ocr, whose published total of 3,039,179,264 is met.
#include "model/arch_rule.h"
#include "model/qwen_parts.h"
#include "model/towers/dots_vision.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const auto vision = top.section({"vision_config"});
  Builder b(top, top, {.positions = 131072, .gguf = ""});
  LlamaLike options;
  options.qkv_bias = true;
  options.attention = qwen_windows(b);
  add_llama_like(b, options);
  if (vision) add_dots_vision(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"dots_ocr"};
constexpr std::string_view kClasses[] = {"DotsOCRForCausalLM"};

}  // namespace

const ArchRule& arch_dots_ocr() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
