// docker run and its kin: options, the image's own program, GPUs handed in.
#include <array>

#include "base/text.h"
#include "engines/launch/collector.h"
#include "engines/options.h"

namespace vramwise::engines::launch {
namespace {

// Options of docker run that stand alone; every other one takes a value.
// Source: docs.docker.com/reference/cli/docker/container/run.
constexpr std::string_view kBareOptions =
    " -d --detach -i --interactive -t --tty --rm --init --privileged --read-only -P --publish-all "
    "--no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --replace "
    "--tls-verify -q "
    "--quiet --no-hosts --systemd ";

bool is_bare(std::string_view option) {
  if (contains(kBareOptions, " " + std::string(option) + " ")) return true;
  if (starts_with(option, "--") || option.size() < 3) return false;
  for (const char c : option.substr(1)) {  // -it, -dit
    if (c != 'd' && c != 'i' && c != 't' && c != 'P' && c != 'q') return false;
  }
  return true;
}

struct Known {
  std::string_view name;     // end of the image's name
  std::string_view program;  // words put in front of the arguments; "" = a shell
  std::string_view label;
};
constexpr std::array<Known, 16> kImages = {{
    {"vllm/vllm-openai", "vllm serve", "vllm/vllm-openai"},
    {"vllm/vllm-openai-rocm", "vllm serve", "vllm/vllm-openai-rocm"},
    {"vllm-openai-cpu", "vllm serve", "vllm-openai-cpu"},
    {"vllm-cpu-release-repo", "vllm serve", "vllm-cpu-release-repo"},
    {"vllm-release-repo", "vllm serve", "vllm-release-repo"},
    {"vllm/vllm-tpu", "", ""},
    {"rocm/vllm", "", ""},
    {"rocm/vllm-dev", "", ""},
    {"nvidia/vllm", "", ""},
    {"intel/vllm", "", ""},
    {"lmsysorg/sglang", "", ""},
    {"text-generation-inference", "text-generation-launcher", "text-generation-launcher"},
    {"ollama/ollama", "ollama", "ollama"},
    {"koboldai/koboldcpp", "koboldcpp", "koboldcpp"},
    {"open-webui/open-webui", "open-webui", "open-webui"},
    {"localai/localai", "local-ai", "local-ai"},
}};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (const std::string_view w : split(text, ' ')) {
    if (!w.empty()) words.emplace_back(std::string(w));
  }
  return words;
}

const Word* variable(const Invocation& base, std::string_view name) {
  for (const auto& [key, value] : base.env) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

Image parse_image(std::string_view reference) {
  Image image;
  if (const size_t digest = reference.find('@'); digest != std::string_view::npos) {
    reference = reference.substr(0, digest);
  }
  const size_t colon = reference.rfind(':');
  const size_t slash = reference.rfind('/');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    image.tag = std::string(reference.substr(colon + 1));
    reference = reference.substr(0, colon);
  }
  image.name = std::string(reference);
  // v0.11.0, 0.30.1, server-cuda-b6123
  std::string_view tag = image.tag;
  if (const size_t build = tag.rfind("-b");
      build != std::string_view::npos && parse_integer(tag.substr(build + 2))) {
    image.version = std::string(tag.substr(build + 1));
  } else {
    if (!tag.empty() && tag[0] == 'v') tag.remove_prefix(1);
    size_t end = 0;
    while (end < tag.size() && ((tag[end] >= '0' && tag[end] <= '9') || tag[end] == '.')) ++end;
    const std::string_view number = tag.substr(0, end);
    if (contains(number, ".") && Version::parse(number)) image.version = std::string(number);
  }
  return image;
}

void set_gpus_option(std::string_view text, Gpus& gpus) {
  std::string plain = replace_all(replace_all(std::string(text), "\"", ""), "'", "");
  for (const std::string_view word : {"device=", "count="}) {
    const size_t at = plain.find(word);
    if (at == std::string::npos) continue;
    std::string_view rest = std::string_view(plain).substr(at + word.size());
    if (word == "count=") {
      rest = rest.substr(0, rest.find(','));
      set_gpus_option(rest, gpus);
      return;
    }
    gpus = Gpus{Gpus::Kind::list, 0, {}};
    int64_t named = 0;
    for (const std::string_view part : split(rest, ',')) {
      const auto n = parse_integer(trim(part));
      if (n && *n >= 0 && gpus.indices.size() < 1000)
        gpus.indices.push_back(*n);
      else if (starts_with(part, "GPU-") || starts_with(part, "MIG-"))
        ++named;
      else
        break;  // ,capabilities=...
    }
    if (gpus.indices.empty() && named > 0) gpus = Gpus{Gpus::Kind::count, named, {}};
    return;
  }
  const size_t comma = plain.find(',');
  const std::string first = comma == std::string::npos ? plain : plain.substr(0, comma);
  if (first == "all" || first == "-1") {
    gpus = Gpus{Gpus::Kind::all, 0, {}};
  } else if (const auto n = parse_integer(first); n && *n >= 0 && *n < 100'000) {
    gpus = Gpus{Gpus::Kind::count, *n, {}};
  }
}

void Collector::image(const Image& img, std::vector<Word> entrypoint, std::vector<Word> args,
                      Invocation base, int depth) {
  base.version = img.version;
  const auto run = [&](std::vector<Word> program, std::string label) {
    base.label = std::move(label);
    program.insert(program.end(), std::make_move_iterator(args.begin()),
                   std::make_move_iterator(args.end()));
    base.argv = std::move(program);
    add(std::move(base));
  };
  if (!entrypoint.empty()) {
    entrypoint.insert(entrypoint.end(), args.begin(), args.end());
    return command(std::move(entrypoint), std::move(base), depth + 1);
  }
  if (contains(img.name, "ggml-org/llama.cpp") || contains(img.name, "ggerganov/llama.cpp") ||
      ends_with(img.name, "llama.cpp")) {
    if (starts_with(img.tag, "server")) return run({Word("llama-server")}, "llama-server");
    if (starts_with(img.tag, "light")) return run({Word("llama-cli")}, "llama-cli");
    // The first word picks the tool. Source: .devops/tools.sh of ggml-org/llama.cpp.
    constexpr std::string_view kTools[][3] = {{"--server", "-s", "llama-server"},
                                              {"--run", "-r", "llama-cli"},
                                              {"--run-legacy", "-l", "llama-completion"},
                                              {"--bench", "-b", "llama-bench"},
                                              {"--perplexity", "-p", "llama-perplexity"}};
    for (const auto& tool : kTools) {
      if (args.empty() || (args[0].text != tool[0] && args[0].text != tool[1])) continue;
      args.erase(args.begin());
      return run({Word(std::string(tool[2]))}, std::string(tool[2]));
    }
  }
  if (contains(img.name, "nvcr.io/nim/")) return run({Word("nim")}, "nim");
  for (const Known& known : kImages) {
    if (!ends_with(img.name, known.name)) continue;
    const size_t before = img.name.size() - known.name.size();
    if (before > 0 && img.name[before - 1] != '/') continue;
    if (known.program.empty()) break;
    std::vector<Word> program = words_of(known.program);
    std::string label(known.label);
    if (known.program == "vllm serve") {
      // Source: docker/Dockerfile of vllm-project/vllm; the entrypoint changed in 0.11.1.
      const auto version = Version::parse(img.version);
      const bool old = version && version->given &&
                       (!version->at_least(0, 11) ||
                        (version->major == 0 && version->minor == 11 && version->patch < 1));
      if (old) program = words_of("python3 -m vllm.entrypoints.openai.api_server");
    } else if (known.program == "ollama") {
      if (args.empty()) args.emplace_back("serve");
      label = "ollama " + args[0].text;
    } else if (known.program == "koboldcpp") {
      if (const Word* extra = variable(base, "KCPP_ARGS")) {
        for (Word& w : split_words(extra->text)) args.push_back(std::move(w));
      }
      if (const Word* model = variable(base, "KCPP_MODEL")) {
        args.emplace_back("--model");
        args.push_back(*model);
      }
    }
    return run(std::move(program), std::move(label));
  }
  command(std::move(args), std::move(base), depth + 1);
}

void Collector::container_run(std::vector<Word> words, Invocation base, int depth) {
  const std::string program = program_name(words[0].text);
  size_t i = 1;
  // docker [--context X] run, docker compose run, docker container run
  while (i < words.size() && (starts_with(words[i].text, "-") || words[i].text == "container" ||
                              words[i].text == "compose")) {
    const bool takes_word = words[i].text == "-f" || words[i].text == "--file" ||
                            words[i].text == "-p" || words[i].text == "--context" ||
                            words[i].text == "-n" || words[i].text == "-H";
    i += takes_word ? 2 : 1;
  }
  if (i >= words.size()) return;
  const std::string verb = words[i++].text;
  const bool runs = verb == "run" || verb == "create";
  if (!runs && verb != "exec") return;
  base.prefix = verb == "exec" ? "" : "docker ";
  base.env_in_front = false;
  if (verb == "run" || verb == "create" || verb == "exec")
    base.env.clear();  // of the client, not of the container
  std::vector<Word> entrypoint;
  std::string image_name;
  for (; i < words.size() && starts_with(words[i].text, "-"); ++i) {
    std::string name = words[i].text;
    if (name == "--") {
      ++i;
      break;
    }
    base.has_hole = base.has_hole || words[i].hole;
    Word value;
    bool has_value = false;
    if (const size_t equals = name.find('=');
        equals != std::string::npos && starts_with(name, "--")) {
      value = words[i];
      value.text = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    } else if (!starts_with(name, "--") && name.size() > 2 && !is_bare(name)) {  // -p8080:80
      value = words[i];
      value.text = name.substr(2);
      name.resize(2);
      has_value = true;
    } else if (!is_bare(name) && i + 1 < words.size()) {
      value = words[++i];
      base.has_hole = base.has_hole || value.hole;
      has_value = true;
    }
    if (!has_value) continue;
    if (name == "-e" || name == "--env") {
      const size_t equals = value.text.find('=');
      if (equals == std::string::npos || base.env.size() > 300)
        continue;  // -e NAME copies the host's
      Word v = value;
      v.text = value.text.substr(equals + 1);
      base.env.emplace_back(value.text.substr(0, equals), std::move(v));
    } else if (name == "--gpus") {
      set_gpus_option(value.text, base.gpus);
    } else if (name == "--device" && starts_with(value.text, "nvidia.com/gpu=")) {
      const std::string_view which = std::string_view(value.text).substr(15);
      if (const auto n = parse_integer(which); n && base.gpus.kind == Gpus::Kind::list)
        base.gpus.indices.push_back(*n);
      else
        set_gpus_option(which == "all" ? "all" : "device=" + std::string(which), base.gpus);
    } else if (name == "--entrypoint") {
      entrypoint = split_words(value.text);
    } else if (name == "--image") {  // kubectl run NAME --image=IMAGE -- ARGS
      image_name = value.text;
    }
  }
  if (i >= words.size()) return;
  if (verb == "exec") {
    ++i;  // the container
    if (i < words.size() && words[i].text == "--") ++i;
    std::vector<Word> rest(words.begin() + ptrdiff_t(std::min(i, words.size())), words.end());
    return command(std::move(rest), std::move(base), depth + 1);
  }
  if (program == "kubectl") {
    base.prefix = "k8s ";
    for (++i; i < words.size() && words[i].text != "--"; ++i) {
      if (starts_with(words[i].text, "--image=")) image_name = words[i].text.substr(8);
    }
    if (i < words.size()) ++i;
  } else {
    base.has_hole = base.has_hole || words[i].hole;
    image_name = words[i++].text;
  }
  if (starts_with(image_name, "docker://")) image_name.erase(0, 9);
  std::vector<Word> args(words.begin() + ptrdiff_t(std::min(i, words.size())), words.end());
  image(parse_image(image_name), std::move(entrypoint), std::move(args), std::move(base), depth);
}

}  // namespace vramwise::engines::launch
