// Writes the line that starts a server: "vllm serve Qwen/Qwen3-8B --max-model-len 32768".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engines/options.h"

namespace vramwise::engines {

enum class SwitchStyle {
  paired,   // --flag and --no-flag (vLLM)
  present,  // --flag when true, nothing when false (SGLang, TensorRT-LLM)
};

// `start` is "vllm serve"; `model` may be empty. Options become --kebab-case flags in their order,
// nested ones --group.key value, environment variables stand in front. Shell-quoted.
std::string launch_command(std::string_view start, std::string_view model, const Options& options,
                           const std::map<std::string, std::string>& env, SwitchStyle style);

std::string shell_quoted(std::string_view text);

// Dotted names folded into one JSON object a name, for programs that take no dotted flags.
Options with_objects(const Options& options);

}  // namespace vramwise::engines
