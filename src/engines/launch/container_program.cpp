#include "engines/launch/container_program.h"

#include "base/text.h"
#include "engines/launch/invocation.h"
#include "engines/launch/shell.h"
#include "engines/launch/write_line.h"
#include "engines/options.h"

namespace vramwise::engines::launch {
namespace {

constexpr std::string_view kConfigFolder = "/config/";
constexpr std::string_view kModelFolder = "/models/";

// "0.18" names a line of releases; images are tagged with all three numbers.
std::string release(const Deployment& d) {
  const auto version = Version::parse(d.version);
  if (!version || !version->given) return {};
  return version->two_numbers ? d.version + ".0" : d.version;
}

std::string tagged(std::string_view image, std::string_view prefix, const Deployment& d,
                   std::string_view suffix = {}) {
  const std::string version = release(d);
  std::string tag = version.empty() ? std::string("latest") : std::string(prefix) + version;
  return std::string(image) + ":" + tag + std::string(suffix);
}

Error no_image(const Deployment& d, std::string_view why) {
  return Error(ErrorCode::unsupported,
               "a manifest for " + d.engine + " cannot be written: " + std::string(why))
      .hint("without --emit the plan prints the plain command");
}

// Images of llama.cpp, one a backend. Source: .github/workflows/docker.yml of ggml-org/llama.cpp.
std::string llama_image(const Deployment& d) {
  std::string tag = "server";
  if (d.vendor == "nvidia") tag += "-cuda";
  if (d.vendor == "amd") tag += "-rocm";
  if (d.vendor == "intel") tag += "-intel";
  if (starts_with(d.version, "b")) tag += "-" + d.version;
  return "ghcr.io/ggml-org/llama.cpp:" + tag;
}

// A path that stands in the folder which the container mounts.
std::string inside(std::string_view folder, std::string_view path) {
  if (path.substr(0, 1) == "/") return std::string(path);
  while (starts_with(path, "./")) path.remove_prefix(2);
  return std::string(folder) + std::string(path);
}

ContainerProgram with_files(const Script& script, ContainerProgram program) {
  for (const auto& [name, content] : script.files) {
    const std::string path = inside(kConfigFolder, name);
    for (std::string& arg : program.args) {
      if (arg == name) arg = path;
    }
    program.files.emplace_back(path, content);
  }
  return program;
}

// The server and, beside it in the same container, what makes the model known to it.
ContainerProgram ollama_program(const Script& script, const Deployment& d) {
  ContainerProgram p;
  p.name = "ollama";
  p.port = 11434;
  p.image = tagged("ollama/ollama", "", d, d.vendor == "amd" ? "-rocm" : "");
  p.command = {"/bin/sh", "-c"};
  p.store = "/root/.ollama";
  std::string line = "ollama serve & sleep 5;";
  for (const Command& command : script.commands) {
    for (const auto& [name, value] : command.assignments) p.env.emplace_back(name, value.text);
    if (command.words.size() < 3 || command.words[0].text != "ollama") continue;
    const bool runs = command.words[1].text == "run";
    if (!runs && command.words[1].text != "create") continue;
    p.model = command.words[2].text;
    line += " ollama " + std::string(runs ? "run" : "create");
    for (size_t i = 2; i < command.words.size(); ++i) {
      const std::string& word = command.words[i].text;
      const bool file = script.files.count(word) > 0;
      line += " " + shell_quote(file ? inside(kConfigFolder, word) : word);
    }
    line += ";";
  }
  p.args = {line + " wait"};
  p = with_files(script, std::move(p));
  return p;
}

}  // namespace

Result<ContainerProgram> container_program(const Deployment& d) {
  const Script script = read_script({d.command, {}, false});
  if (d.engine == "ollama") return ollama_program(script, d);
  const Command* call = nullptr;
  for (const Command& command : script.commands) {
    const std::string program =
        command.words.empty() ? std::string() : program_name(command.words[0].text);
    if (program != "cat" && !program.empty()) call = &command;
  }
  if (call == nullptr) return fail(no_image(d, "its command starts no program"));
  ContainerProgram p;
  std::vector<std::string> words;
  for (const Word& word : call->words) words.push_back(word.text);
  for (const auto& [name, value] : call->assignments) p.env.emplace_back(name, value.text);
  const auto rest = [&](size_t from) {
    p.args.assign(words.begin() + ptrdiff_t(std::min(from, words.size())), words.end());
  };
  const bool amd = d.vendor == "amd";
  p.name = d.engine;
  p.hub = true;
  p.store = "/root/.cache/huggingface";
  if (d.engine == "vllm" && words.size() > 2 && words[1] == "serve") {
    p.image = tagged(amd ? "vllm/vllm-openai-rocm" : "vllm/vllm-openai", "v", d);
    p.command = {"vllm", "serve"};
    p.model = words[2];
    rest(2);
  } else if (d.engine == "sglang" && words.size() > 3) {
    p.image = tagged("lmsysorg/sglang", "v", d, amd ? "-rocm700-mi30x" : "");
    p.command = {"python3", "-m", "sglang.launch_server"};
    p.port = 30000;
    rest(3);
    for (size_t i = 0; i + 1 < p.args.size(); ++i) {
      if (p.args[i] == "--model-path") p.model = p.args[i + 1];
    }
    p.args.insert(p.args.end(), {"--host", "0.0.0.0"});
  } else if (d.engine == "trtllm" && words.size() > 1) {
    p.image = tagged("nvcr.io/nvidia/tensorrt-llm/release", "", d);
    p.command = {"trtllm-serve"};
    p.model = words[1];
    rest(1);
    p.args.insert(p.args.end(), {"--host", "0.0.0.0"});
  } else if (program_name(words[0]) == "llama-server") {
    p.name = "llama-server";
    p.image = llama_image(d);
    p.port = 8080;
    p.hub = false;
    p.local_models = true;
    p.store = std::string(kModelFolder.substr(0, kModelFolder.size() - 1));
    rest(1);
    for (size_t i = 0; i + 1 < p.args.size(); ++i) {
      const bool is_file = p.args[i] == "-m" || p.args[i] == "--model" || p.args[i] == "--mmproj" ||
                           p.args[i] == "--lora" || p.args[i] == "--model-draft" ||
                           p.args[i] == "-md";
      if (is_file) p.args[i + 1] = inside(kModelFolder, p.args[i + 1]);
      if (p.args[i] == "-m") p.model = p.args[i + 1];
      if (p.args[i] == "-hf" || p.args[i] == "--hf-repo") {
        p.model = p.args[i + 1];
        p.local_models = false;
        p.hub = true;
        p.store = "/root/.cache";
      }
    }
  } else {
    return fail(no_image(d, "there is no server image for `" + program_name(words[0]) + "`"));
  }
  return with_files(script, std::move(p));
}

}  // namespace vramwise::engines::launch
