// Models that llama.cpp knows by name, and presets of llama-server (INI).
#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/llamacpp_parts.h"

namespace vramwise::engines::launch {
namespace {

// Flags that name a model and set it up. Source: common/arg.cpp, "presets" at its end.
struct NamedModel {
  std::string_view option, repository, draft;
  int ctx_size, batch_size, ubatch_size, parallel;  // -1: left alone
};
constexpr NamedModel kNamedModels[] = {
    {"embd_gemma_default", "ggml-org/embeddinggemma-300M-qat-q4_0-GGUF", "", 65536, 2048, 2048, 32},
    {"fim_qwen_1_5b_default", "ggml-org/Qwen2.5-Coder-1.5B-Q8_0-GGUF", "", 0, 1024, 1024, -1},
    {"fim_qwen_3b_default", "ggml-org/Qwen2.5-Coder-3B-Q8_0-GGUF", "", 0, 1024, 1024, -1},
    {"fim_qwen_7b_default", "ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF", "", 0, 1024, 1024, -1},
    {"fim_qwen_7b_spec", "ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF",
     "ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF", 0, 1024, 1024, -1},
    {"fim_qwen_14b_spec", "ggml-org/Qwen2.5-Coder-14B-Q8_0-GGUF",
     "ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF", 0, 1024, 1024, -1},
    {"fim_qwen_30b_default", "ggml-org/Qwen3-Coder-30B-A3B-Instruct-Q8_0-GGUF", "", 0, 1024, 1024,
     -1},
    {"gpt_oss_20b_default", "ggml-org/gpt-oss-20b-GGUF", "", 262144, 32768, 2048, 2},
    {"gpt_oss_120b_default", "ggml-org/gpt-oss-120b-GGUF", "", 262144, 32768, 2048, 2},
    {"vision_gemma_4b_default", "ggml-org/gemma-3-4b-it-qat-GGUF", "", 0, -1, -1, -1},
    {"vision_gemma_12b_default", "ggml-org/gemma-3-12b-it-qat-GGUF", "", 0, -1, -1, -1},
};

}  // namespace

void llamacpp_name_model(const Option& option, Reading& out) {
  for (const NamedModel& named : kNamedModels) {
    if (option.name != named.option) continue;
    out.set("hf_repo", std::string(named.repository));
    if (!named.draft.empty()) out.set("spec_draft_hf", std::string(named.draft));
    if (named.ctx_size >= 0) out.set("ctx_size", named.ctx_size);
    if (named.batch_size >= 0) out.set("batch_size", named.batch_size);
    if (named.ubatch_size >= 0) out.set("ubatch_size", named.ubatch_size);
    if (named.parallel >= 0) out.set("parallel", named.parallel);
  }
}

void llamacpp_choose_model(Reading& out) {
  if (!out.model.empty()) return;
  for (const std::string_view name : {"hf_repo", "model_url", "docker_repo", "bench.hf_repo"}) {
    const json::Value* value = out.options.find(name);
    if (value == nullptr) continue;
    const json::Value& first =
        value->is_array() && !value->as_array().empty() ? value->as_array()[0] : *value;
    if (first.is_string()) out.model = first.as_string();
    return;
  }
}

// Source: common/preset.cpp; keys are long or short names without dashes, or variables.
bool read_llamacpp_preset(std::string_view text, Context& context, Reading& out) {
  const OptionTable* table = context.tables.get("llamacpp");
  if (table == nullptr) return false;
  struct Section {
    std::string name;
    std::vector<std::pair<std::string, std::string>> keys;
  };
  std::vector<Section> sections;
  Section global;
  Section* at = nullptr;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line[0] == ';' || line[0] == '#') continue;
    if (line.front() == '[' && line.back() == ']') {
      const std::string name(trim(line.substr(1, line.size() - 2)));
      if (name == "*") {
        at = &global;
      } else if (sections.size() < 200) {
        sections.push_back({name, {}});
        at = &sections.back();
      }
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    if (at == nullptr) continue;  // version = 1 and the like stand outside of sections
    at->keys.emplace_back(std::string(trim(line.substr(0, equals))),
                          std::string(trim(line.substr(equals + 1))));
  }
  if (sections.empty() && global.keys.empty()) return false;
  const auto read_section = [&](const Section& section, Reading& reading) {
    OptionSink sink(context, *table, "", reading);
    for (const Section* part : {static_cast<const Section*>(&global), &section}) {
      for (const auto& [key, value] : part->keys) {
        if (key == "load-on-startup" || key == "stop-timeout" || key == "version") continue;
        bool off = false;
        const Option* option = table->by_env(key, off);
        bool negative = off;
        if (option == nullptr) {
          auto match = table->exact("--" + replace_all(key, "_", "-"));
          if (!match) match = table->exact("-" + key);
          if (match) {
            option = match->option;
            negative = match->negative;
          }
        }
        if (option == nullptr) {
          sink.unknown(key, value);
        } else if (option->is_bare()) {
          const std::string v = to_lower(value);
          const bool on = !(v == "false" || v == "off" || v == "0" || v == "disabled");
          if (on) llamacpp_name_model(*option, reading);
          sink.store_flag(*option, on != negative, key);
        } else {
          llamacpp_value(sink, *option, Word(value), key);
        }
      }
    }
    llamacpp_choose_model(reading);
  };
  const std::string entry = "llama-server preset";
  for (const Section& section : sections) {
    Reading reading;
    reading.engine = "llama.cpp";
    reading.entry = entry;
    reading.name = section.name;
    read_section(section, reading);
    if (out.several.empty()) {
      std::vector<Reading> none;
      std::vector<Finding> errors = out.errors, warnings = out.warnings;
      out = reading;
      out.errors.insert(out.errors.end(), errors.begin(), errors.end());
      out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
      out.name.clear();
    }
    out.several.push_back(std::move(reading));
  }
  if (sections.empty()) {
    out.engine = "llama.cpp";
    out.entry = entry;
    read_section(Section{}, out);
  }
  out.preset = true;
  return true;
}

}  // namespace vramwise::engines::launch
