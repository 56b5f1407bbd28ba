#include "engines/engine.h"

#include <vector>

#include "base/text.h"

namespace vramwise::engines {

Result<const Engine*> find_engine(std::string_view name) {
  std::string wanted = to_lower(name);
  // Spellings seen in the wild.
  if (wanted == "llamacpp" || wanted == "llama-cpp" || wanted == "llama_cpp" ||
      wanted == "llama-server" || wanted == "llama-cli") {
    wanted = "llama.cpp";
  } else if (wanted == "tensorrt-llm" || wanted == "trt-llm" || wanted == "tensorrt_llm") {
    wanted = "trtllm";
  } else if (wanted == "hf" || wanted == "huggingface") {
    wanted = "transformers";
  }
  std::vector<std::string_view> names;
  for (const EngineFactory factory : engine_factories()) {
    const Engine& engine = factory();
    if (engine.name() == wanted) return &engine;
    names.push_back(engine.name());
  }
  Error error(ErrorCode::not_found, "unknown engine '" + std::string(name.substr(0, 80)) + "'");
  for (const std::string& near : nearest_names(name, names)) {
    error.hints.push_back("an engine with a similar name exists: " + near);
  }
  std::vector<std::string> known(names.begin(), names.end());
  error.hints.push_back("engines: " + join(known, ", "));
  return fail(std::move(error).at("engine"));
}

}  // namespace vramwise::engines
