// Which engine a program is.
#include <array>

#include "base/text.h"
#include "engines/launch/engines_read.h"

namespace vramwise::engines::launch {
namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view n : names) {
    if (name == n) return true;
  }
  return false;
}

std::string_view word(const std::vector<Word>& argv, size_t i) {
  return i < argv.size() ? std::string_view(argv[i].text) : std::string_view();
}

bool has_gguf(const std::vector<Word>& argv) {
  for (const Word& w : argv) {
    if (contains(w.text, ".gguf") || w.text == "-hf") return true;
  }
  return false;
}

Program vllm(const std::vector<Word>& argv, size_t i) {
  Program p{.engine = "vllm", .table = "vllm"};
  const std::string_view sub = word(argv, i);
  p.arguments = i + 1;
  p.entry = std::string(sub);
  if (sub == "bench") {
    p.entry = "bench " + std::string(word(argv, i + 1));
    p.subcommand = "bench";
    p.arguments = i + 2;
    p.is_client = word(argv, i + 1) == "serve";
  } else if (sub == "launch") {
    p.entry = "launch " + std::string(word(argv, i + 1));
    p.arguments = i + 2;
  } else if (one_of(sub, {"chat", "complete", "collect-env"}) || sub.empty() || sub[0] == '-') {
    p.is_client = true;
  }
  return p;
}

Program llama(std::string entry, size_t arguments) {
  Program p{.engine = "llama.cpp",
            .table = "llamacpp",
            .entry = std::move(entry),
            .arguments = arguments};
  if (contains(p.entry, "bench") && !contains(p.entry, "batched")) p.subcommand = "bench";
  return p;
}

Program trtllm(std::string_view program, const std::vector<Word>& argv) {
  Program p{.engine = "trtllm", .table = "trtllm"};
  p.arguments = 1;
  if (program != "trtllm-serve") {
    p.entry = std::string(program.substr(7));  // bench, eval, build
    return p;
  }
  const std::string_view sub = word(argv, 1);
  p.entry = "serve";
  if (one_of(sub, {"serve", "disaggregated", "disaggregated_mpi_worker", "mm_embedding_serve",
                   "grpc"})) {
    p.entry = std::string(sub);
    p.arguments = 2;
    if (sub != "serve") p.subcommand = std::string(sub);
  }
  return p;
}

Program ollama(const std::vector<Word>& argv) {
  Program p{.engine = "ollama", .table = "ollama", .arguments = 2};
  const std::string_view sub = word(argv, 1);
  p.entry = sub == "start" ? "serve" : std::string(sub);
  p.is_client = !one_of(sub, {"serve", "start", "run", "create"});
  return p;
}

Program other(std::string name, std::string entry, size_t arguments, std::string family = {}) {
  return {.engine = name,
          .table = name,
          .entry = std::move(entry),
          .subcommand = std::move(family),
          .arguments = arguments};
}

Program named(std::string engine, std::string entry) {
  return {.engine = std::move(engine), .entry = std::move(entry), .named_only = true};
}

Program python_module(std::string_view module, const std::vector<Word>& argv, size_t arguments) {
  const std::string entry(module);
  if (module == "vllm.entrypoints.openai.api_server" || module == "vllm.entrypoints.api_server") {
    return {.engine = "vllm", .table = "vllm", .entry = entry, .arguments = arguments};
  }
  if (module == "vllm" || module == "vllm.entrypoints.cli.main") return vllm(argv, arguments);
  if (module == "sglang.launch_server" || module == "sglang_router.launch_server") {
    return {.engine = "sglang", .table = "sglang", .entry = entry, .arguments = arguments};
  }
  if (module == "sglang" && word(argv, arguments) == "serve") {
    return {.engine = "sglang", .table = "sglang", .entry = "serve", .arguments = arguments + 1};
  }
  if (module == "dynamo.vllm")
    return {.engine = "vllm", .table = "vllm", .entry = entry, .arguments = arguments};
  if (module == "dynamo.sglang")
    return {.engine = "sglang", .table = "sglang", .entry = entry, .arguments = arguments};
  if (module == "dynamo.trtllm")
    return {.engine = "trtllm", .table = "trtllm", .entry = entry, .arguments = arguments};
  if (module == "tensorrt_llm.commands.serve") {
    return {.engine = "trtllm", .table = "trtllm", .entry = "serve", .arguments = arguments};
  }
  if (module == "llama_cpp.server") {
    return {.engine = "llama.cpp",
            .table = "llamacpp",
            .entry = "llama_cpp.server",
            .subcommand = "python",
            .arguments = arguments};
  }
  if (module == "mlx_lm.server") return other("mlx_lm", "mlx_lm.server", arguments);
  if (module == "mlx_lm")
    return other("mlx_lm", "mlx_lm." + std::string(word(argv, arguments)), arguments + 1);
  if (module == "lmdeploy") return other("lmdeploy", "serve api_server", arguments + 2);
  if (module == "mlc_llm") return named("mlc_llm", "mlc_llm serve");
  return {};
}

Program python(const std::vector<Word>& argv) {
  size_t i = 1;
  while (i < argv.size() && starts_with(argv[i].text, "-") && argv[i].text != "-m" &&
         argv[i].text != "-c") {
    i += argv[i].text == "-X" || argv[i].text == "-W" ? 2 : 1;
  }
  if (word(argv, i) == "-m") return python_module(word(argv, i + 1), argv, i + 2);
  const std::string_view script = word(argv, i);
  if (ends_with(script, "vllm/entrypoints/openai/api_server.py")) {
    return python_module("vllm.entrypoints.openai.api_server", argv, i + 1);
  }
  if (ends_with(script, "sglang/launch_server.py"))
    return python_module("sglang.launch_server", argv, i + 1);
  if (ends_with(script, "koboldcpp.py")) return other("koboldcpp", "koboldcpp", i + 1);
  return {};
}

}  // namespace

std::string program_name(std::string_view text) {
  const size_t slash = text.find_last_of("/\\");
  if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  std::string name(text);
  if (ends_with(to_lower(name), ".exe")) name.resize(name.size() - 4);
  return name;
}

Program identify(const std::vector<Word>& argv) {
  if (argv.empty()) return {};
  const std::string name = program_name(argv[0].text);
  const std::string lower = to_lower(name);
  if (name == "vllm") return vllm(argv, 1);
  if (starts_with(name, "python") || name == "py" || name == "pypy3") return python(argv);
  if (name == "sglang") {
    if (word(argv, 1) != "serve") return {};
    return {.engine = "sglang", .table = "sglang", .entry = "serve", .arguments = 2};
  }
  if (name == "llama") {
    const std::string_view sub = word(argv, 1);
    if (!one_of(sub, {"serve", "server", "cli", "client", "completion", "bench", "fit-params",
                      "perplexity"}))
      return {};
    return llama("llama " + std::string(sub), 2);
  }
  if (starts_with(lower, "llama-") &&
      !one_of(lower, {"llama-swap", "llama-quantize", "llama-gguf-split", "llama-stack"})) {
    return llama(lower, 1);
  }
  if (lower == "llamafile" || ends_with(lower, ".llamafile")) return llama("llamafile", 1);
  if (one_of(name, {"main", "server"}) && has_gguf(argv)) return llama(name, 1);
  if (one_of(name, {"trtllm-serve", "trtllm-bench", "trtllm-eval", "trtllm-build"}))
    return trtllm(name, argv);
  if (name == "ollama") return ollama(argv);
  if (name == "curl")
    return {.engine = "ollama", .table = "ollama", .entry = "api", .arguments = 1};
  if (starts_with(lower, "koboldcpp")) return other("koboldcpp", "koboldcpp", 1);
  if (name == "mlx_lm.server") return other("mlx_lm", name, 1);
  if (name == "mlx_lm" && word(argv, 1) == "server") return other("mlx_lm", "mlx_lm.server", 2);
  if (name == "text-generation-launcher" || name == "tgi")
    return other("tgi", "text-generation-launcher", 1);
  if (name == "lmdeploy" && word(argv, 1) == "serve") {
    return other("lmdeploy", "serve " + std::string(word(argv, 2)), 3);
  }
  if (name == "lms" && word(argv, 1) == "load") return other("lmstudio", "lms load", 2, "load");
  if (name == "lms") {
    Program p = other("lmstudio", "lms " + std::string(word(argv, 1)), argv.size());
    p.is_client = true;
    return p;
  }
  if (name == "transformers" && word(argv, 1) == "serve")
    return named("transformers", "transformers serve");
  if (name == "mlc_llm") return named("mlc_llm", "mlc_llm " + std::string(word(argv, 1)));
  if (name == "aphrodite") return named("aphrodite", "aphrodite " + std::string(word(argv, 1)));
  if (name == "local-ai" || name == "tabby" || name == "nim" || name == "open-webui")
    return named(name, name);
  return {};
}

}  // namespace vramwise::engines::launch
