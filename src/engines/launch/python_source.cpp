#include "engines/launch/python_source.h"

#include "base/text.h"
#include "engines/launch/engines_read.h"
#include "engines/launch/literal.h"

namespace vramwise::engines::launch {
namespace {

bool is_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

struct Constructor {
  std::string_view call;  // with its bracket
  std::string_view engine;
  std::string_view entry;
  std::string_view needs;  // must stand somewhere in the text
};
constexpr Constructor kConstructors[] = {
    {"sgl.Engine(", "sglang", "sgl.Engine", ""},
    {"sglang.Engine(", "sglang", "sglang.Engine", ""},
    {"Engine(", "sglang", "Engine", "sglang"},
    {"AsyncEngineArgs(", "vllm", "AsyncEngineArgs", ""},
    {"EngineArgs(", "vllm", "EngineArgs", "vllm"},
    {"LLM(", "trtllm", "LLM", "tensorrt_llm"},
    {"LLM(", "vllm", "LLM", ""},
    {"Llama(", "llama-cpp-python", "Llama", "llama_cpp"},
};

// The first place where `call` stands as a whole name, not inside a string of letters.
size_t find_call(std::string_view text, std::string_view call, size_t from) {
  for (size_t at = text.find(call, from); at != std::string_view::npos;
       at = text.find(call, at + 1)) {
    if (at == 0 || (!is_name(text[at - 1]) && text[at - 1] != '.')) return at;
  }
  return std::string_view::npos;
}

void fill(Reading& reading, std::string_view engine, std::string_view entry) {
  reading.engine = engine == "llama-cpp-python" ? "llama.cpp" : std::string(engine);
  reading.entry = std::string(entry);
}

bool read_log(std::string_view text, Context& context, std::vector<Reading>& readings) {
  constexpr std::string_view kVllm = "non-default args:";
  if (const size_t at = text.find(kVllm); at != std::string_view::npos) {
    const auto literal = read_literal(text.substr(at + kVllm.size()), {.python = true});
    if (literal && literal->value.is_object()) {
      std::vector<Argument> arguments;
      for (const json::Member& member : literal->value.as_object()) {
        arguments.push_back({member.key, member.value, false});
      }
      Reading reading;
      fill(reading, "vllm", "log");
      read_named("vllm log", arguments, context, reading);
      readings.push_back(std::move(reading));
      return true;
    }
  }
  constexpr std::string_view kSglang = "server_args=ServerArgs(";
  if (const size_t at = text.find(kSglang); at != std::string_view::npos) {
    if (const auto call = read_call(text.substr(at + kSglang.size()))) {
      Reading reading;
      fill(reading, "sglang", "log");
      read_named("sglang log", call->arguments, context, reading);
      readings.push_back(std::move(reading));
      return true;
    }
  }
  return false;
}

}  // namespace

bool read_python_source(std::string_view text, Context& context, std::vector<Reading>& readings) {
  if (read_log(text, context, readings)) return true;
  bool any = false;
  for (const Constructor& constructor : kConstructors) {
    if (!constructor.needs.empty() && !contains(text, constructor.needs)) continue;
    size_t at = find_call(text, constructor.call, 0);
    for (int i = 0; at != std::string_view::npos && i < 20; ++i) {
      const size_t inside = at + constructor.call.size();
      const auto call = read_call(text.substr(inside));
      if (call && !call->arguments.empty()) {
        Reading reading;
        fill(reading, constructor.engine, constructor.entry);
        read_named(constructor.engine, call->arguments, context, reading);
        readings.push_back(std::move(reading));
        any = true;
      }
      at = find_call(text, constructor.call, inside);
    }
    if (any) return true;
  }
  return false;
}

}  // namespace vramwise::engines::launch
