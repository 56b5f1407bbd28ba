#include "model/dispatch.h"

#include "base/text.h"

namespace vramwise::model {
namespace {

std::string bare(std::string_view name) {
  std::string text = to_lower(name);
  for (const std::string_view mark : {"_", "-"}) text = replace_all(text, mark, "");
  return text;
}

}  // namespace

const ArchRule* rule_for_type(std::string_view model_type) {
  for (const ArchFactory factory : arch_factories()) {
    const ArchRule& rule = factory();
    for (const std::string_view known : rule.model_types) {
      if (known == model_type) return &rule;
    }
  }
  return nullptr;
}

const ArchRule* rule_for_class(std::string_view class_name) {
  for (const ArchFactory factory : arch_factories()) {
    const ArchRule& rule = factory();
    for (const std::string_view known : rule.classes) {
      if (known == class_name) return &rule;
    }
  }
  return nullptr;
}

std::string class_of(const json::Reader& config) {
  const auto list = config.find("architectures");
  if (!list || !list->value().is_array() || list->value().as_array().empty()) return {};
  return list->value().as_array().front().as_string();
}

std::string_view type_of_class(const ArchRule& rule, std::string_view class_name) {
  const std::string name = bare(class_name);
  std::string_view best;
  for (const std::string_view type : rule.model_types) {
    if (type.size() > best.size() && starts_with(name, bare(type))) best = type;
  }
  return best;
}

std::string_view stem_of_class(std::string_view class_name) {
  constexpr std::string_view kTasks[] = {"ForCausalLM",
                                         "ForConditionalGeneration",
                                         "ForMaskedLM",
                                         "ForSequenceClassification",
                                         "ForRewardModel",
                                         "ForTokenClassification",
                                         "ForQuestionAnswering",
                                         "LMHeadModel",
                                         "TextModel",
                                         "Model"};
  for (const std::string_view task : kTasks) {
    if (class_name.size() > task.size() && ends_with(class_name, task)) {
      return class_name.substr(0, class_name.size() - task.size());
    }
  }
  return class_name;
}

std::string_view spelled_type(std::string_view class_name) {
  const std::string stem = bare(stem_of_class(class_name));
  for (const ArchFactory factory : arch_factories()) {
    for (const std::string_view known : factory().model_types) {
      if (bare(known) == stem) return known;
    }
  }
  return {};
}

Result<Model> build_by_type(const json::Reader& config) {
  TRY_ASSIGN(const std::optional<std::string> type, config.optional_string({"model_type"}));
  const std::string name = class_of(config);
  const ArchRule* rule = rule_for_type(type.value_or(""));
  if (rule == nullptr) rule = rule_for_class(name);
  if (rule == nullptr) {
    return fail(config.error(ErrorCode::unsupported, "the language model '" + type.value_or(name) +
                                                         "' of this model is not known"));
  }
  return rule->build(config);
}

}  // namespace vramwise::model
