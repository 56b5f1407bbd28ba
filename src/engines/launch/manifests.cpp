// YAML that starts containers or programs: compose files, Kubernetes manifests, llama-swap.
#include "base/text.h"
#include "engines/launch/collector.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {
namespace {

// $$ is a literal $ in compose files.
std::string unescape_dollars(std::string_view text) {
  return replace_all(std::string(text), "$$", "\\$");
}

// The environment as a mapping or a list of N=V; a bare name copies the host's.
void read_environment(const json::Value& value, Invocation& base) {
  const auto add = [&](std::string name, std::string_view text) {
    Word word = expand_word(unescape_dollars(text), {});
    base.has_hole = base.has_hole || word.hole;
    if (base.env.size() < 300) base.env.emplace_back(std::move(name), std::move(word));
  };
  if (value.is_object()) {
    for (const json::Member& member : value.as_object()) {
      if (!member.value.is_null()) add(member.key, yaml_word(member.value));
    }
  } else if (value.is_array()) {
    for (const json::Value& item : value.as_array()) {
      const std::string text = yaml_word(item);
      const size_t equals = text.find('=');
      if (equals != std::string::npos)
        add(text.substr(0, equals), std::string_view(text).substr(equals + 1));
    }
  }
}

// A string is split like a shell would; a list is exact.
std::vector<Word> compose_words(const json::Value* value) {
  std::vector<Word> words;
  if (value == nullptr) return words;
  if (value->is_array()) {
    for (const json::Value& item : value->as_array())
      words.push_back(expand_word(unescape_dollars(yaml_word(item)), {}));
  } else if (value->is_string()) {
    words = split_words(unescape_dollars(value->as_string()));
  }
  return words;
}

const json::Value* walk(const json::Value& from, std::initializer_list<std::string_view> path) {
  const json::Value* at = &from;
  for (const std::string_view step : path) {
    at = at == nullptr ? nullptr : at->find(step);
  }
  return at;
}

void compose_gpus(const json::Value& service, Gpus& gpus) {
  const json::Value* devices = walk(service, {"deploy", "resources", "reservations", "devices"});
  const json::Value* short_form = service.find("gpus");
  if (devices == nullptr) devices = short_form;
  if (devices == nullptr) return;
  if (devices->is_string()) return set_gpus_option(devices->as_string(), gpus);
  if (!devices->is_array()) return;
  for (const json::Value& device : devices->as_array()) {
    if (const json::Value* ids = device.find("device_ids"); ids != nullptr && ids->is_array()) {
      std::string list = "device=";
      for (const json::Value& id : ids->as_array())
        list += (list.size() > 7 ? "," : "") + yaml_word(id);
      set_gpus_option(list, gpus);
    } else if (const json::Value* count = device.find("count")) {
      set_gpus_option(yaml_word(*count), gpus);
    } else {
      gpus = Gpus{Gpus::Kind::all, 0, {}};
    }
  }
}

void compose_service(const std::string& name, const json::Value& service, Collector& collector) {
  if (!service.is_object()) return;
  Invocation base;
  base.prefix = "compose ";
  base.name = name;
  if (const json::Value* env = service.find("environment")) read_environment(*env, base);
  compose_gpus(service, base.gpus);
  const json::Value* image = service.find("image");
  const json::Value* entrypoint = service.find("entrypoint");
  std::string reference;
  if (image != nullptr && image->is_string()) {
    const Word word = expand_word(unescape_dollars(image->as_string()), {});
    reference = word.text;
    base.has_hole = base.has_hole || word.hole;
  }
  collector.image(parse_image(reference), compose_words(entrypoint),
                  compose_words(service.find("command")), std::move(base), 0);
}

// $(NAME) in Kubernetes is a variable of the container; unknown ones stay as they are.
Word substitute(std::string text, const Invocation& base) {
  Word word(std::move(text));
  size_t from = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t open = word.text.find("$(", from);
    const size_t close = open == std::string::npos ? open : word.text.find(')', open);
    if (close == std::string::npos) break;
    const std::string name = word.text.substr(open + 2, close - open - 2);
    from = open + 2;
    bool known = false;
    for (const auto& [key, value] : base.env) {
      if (key != name) continue;
      word.text.replace(open, close - open + 1, value.text);
      from = open + value.text.size();
      known = true;
      break;
    }
    word.hole = word.hole || !known;
  }
  return word;
}

void k8s_container(const json::Value& container, Collector& collector, int64_t nodes) {
  Invocation base;
  base.nodes = nodes;
  base.prefix = "k8s ";
  if (const json::Value* env = container.find("env"); env != nullptr && env->is_array()) {
    for (const json::Value& item : env->as_array()) {
      const json::Value* name = item.find("name");
      const json::Value* value = item.find("value");
      if (name == nullptr || !name->is_string() || value == nullptr || base.env.size() >= 300)
        continue;
      base.env.emplace_back(name->as_string(), substitute(yaml_word(*value), base));
    }
  }
  for (const std::string_view kind : {"limits", "requests"}) {
    for (const std::string_view resource : {"nvidia.com/gpu", "amd.com/gpu"}) {
      const json::Value* count = walk(container, {"resources", kind, resource});
      if (count != nullptr && base.gpus.kind == Gpus::Kind::not_given)
        set_gpus_option(yaml_word(*count), base.gpus);
    }
  }
  const auto words = [&](std::string_view key) {
    std::vector<Word> list;
    const json::Value* value = container.find(key);
    if (value != nullptr && value->is_array()) {
      for (const json::Value& item : value->as_array())
        list.push_back(substitute(yaml_word(item), base));
    } else if (value != nullptr && value->is_string()) {
      list = split_words(value->as_string());
    }
    return list;
  };
  const json::Value* image = container.find("image");
  std::string reference;
  if (image != nullptr && image->is_string()) {
    reference = image->as_string();
  } else if (image != nullptr && image->find("repository") != nullptr) {  // Helm values
    reference = yaml_word(*image->find("repository"));
    if (const json::Value* tag = image->find("tag")) reference += ":" + yaml_word(*tag);
  }
  // Before `base` is moved from: the words refer to its variables.
  std::vector<Word> command = words("command");
  std::vector<Word> args = words("args");
  collector.image(parse_image(reference), std::move(command), std::move(args), std::move(base), 0);
}

bool is_container(const json::Value& value) {
  return value.is_object() && (value.find("args") != nullptr || value.find("command") != nullptr) &&
         (value.find("image") != nullptr || value.find("resources") != nullptr ||
          value.find("env") != nullptr || value.find("args") != nullptr);
}

// Files that the manifest itself carries: the data of a ConfigMap, the contents of Compose configs.
void read_files(const json::Value& document, Collector& collector) {
  if (const json::Value* kind = document.find("kind");
      kind != nullptr && kind->as_string() == "ConfigMap") {
    const json::Value* data = document.find("data");
    if (data == nullptr || !data->is_object()) return;
    for (const json::Member& file : data->as_object()) {
      if (file.value.is_string()) collector.files[file.key] = file.value.as_string();
    }
    return;
  }
  const json::Value* configs = document.find("configs");
  const json::Value* services = document.find("services");
  if (configs == nullptr || services == nullptr || !services->is_object()) return;
  for (const json::Member& service : services->as_object()) {
    const json::Value* mounts = service.value.find("configs");
    if (mounts == nullptr || !mounts->is_array()) continue;
    for (const json::Value& mount : mounts->as_array()) {
      const json::Value* source = mount.find("source");
      const json::Value* target = mount.find("target");
      if (source == nullptr || target == nullptr || !source->is_string() || !target->is_string()) {
        continue;
      }
      const json::Value* content = walk(*configs, {source->as_string(), "content"});
      if (content == nullptr || !content->is_string()) continue;
      collector.files[target->as_string()] = replace_all(content->as_string(), "$$", "$");
    }
  }
}

// Values of the llm-d chart, which writes model and parallel sizes into the command itself.
// Source: llm-d-incubation/llm-d-modelservice charts/llm-d-modelservice/templates/_helpers.tpl.
bool llm_d_values(const json::Value& document, Collector& collector) {
  const json::Value* model = walk(document, {"modelArtifacts", "name"});
  if (model == nullptr || !model->is_string()) return false;
  const auto server = [&](std::string_view role) {
    const json::Value* part = document.find(role);
    const json::Value* containers = part != nullptr ? part->find("containers") : nullptr;
    if (containers == nullptr || !containers->is_array()) return false;
    const json::Value* create = part->find("create");
    if (create != nullptr && create->is_boolean() && !create->as_boolean()) return false;
    bool any = false;
    for (const json::Value& given : containers->as_array()) {
      if (!given.is_object()) continue;
      const json::Value* mode = given.find("modelCommand");
      const bool custom = mode == nullptr || mode->as_string() == "custom";
      json::Value container = given;
      if (!custom) {
        json::Value command = json::Value::array();
        command.push("vllm");
        command.push("serve");
        json::Value args = json::Value::array();
        args.push(model->as_string());
        for (const auto& [size, option] :
             {std::pair<std::string_view, std::string_view>{"tensor", "--tensor-parallel-size"},
              {"data", "--data-parallel-size"},
              {"dataLocal", "--data-parallel-size-local"}}) {
          const json::Value* n = walk(*part, {"parallelism", size});
          if (n == nullptr || !n->is_integer() || n->as_integer() <= 1) continue;
          args.push(option);
          args.push(yaml_word(*n));
        }
        if (const json::Value* more = given.find("args"); more != nullptr && more->is_array()) {
          for (const json::Value& arg : more->as_array()) args.push(yaml_word(arg));
        }
        container.set("command", std::move(command));
        container.set("args", std::move(args));
      }
      k8s_container(container, collector, 1);
      any = true;
    }
    return any;
  };
  const bool decode = server("decode");
  return server("prefill") || decode;
}

// Containers lie deep inside of Deployments, Jobs, LeaderWorkerSets and InferenceServices.
// `nodes`: pods that make up one server.
bool k8s_walk(const json::Value& value, Collector& collector, int64_t nodes, int depth) {
  if (depth > 24 || collector.calls.size() > 200) return false;
  bool any = false;
  if (value.is_object()) {
    if (is_container(value)) {
      k8s_container(value, collector, nodes);
      return true;
    }
    if (value.find("workerTemplate") != nullptr) {
      const json::Value* size = value.find("size");
      if (size != nullptr && size->is_integer() && size->as_integer() > 0) {
        nodes = size->as_integer();
      }
    }
    for (const json::Member& member : value.as_object()) {
      if (member.key == "initContainers") continue;
      any = k8s_walk(member.value, collector, nodes, depth + 1) || any;
    }
  } else if (value.is_array()) {
    for (const json::Value& item : value.as_array())
      any = k8s_walk(item, collector, nodes, depth + 1) || any;
  }
  return any;
}

// llama-swap: each model has a `cmd`, one command over several lines.
// Source: github.com/mostlygeek/llama-swap, config.example.yaml.
bool llama_swap(const json::Value& models, Collector& collector) {
  bool any = false;
  for (const json::Member& member : models.as_object()) {
    const json::Value* cmd = member.value.find("cmd");
    if (cmd == nullptr || !cmd->is_string()) continue;
    Invocation base;
    base.name = member.key;
    if (const json::Value* env = member.value.find("env")) read_environment(*env, base);
    collector.command(split_words(cmd->as_string()), std::move(base));
    any = true;
  }
  return any;
}

bool read_document(const json::Value& document, Collector& collector) {
  if (!document.is_object()) return document.is_array() && k8s_walk(document, collector, 1, 0);
  if (const json::Value* services = document.find("services");
      services != nullptr && services->is_object()) {
    for (const json::Member& member : services->as_object())
      compose_service(member.key, member.value, collector);
    return true;
  }
  if (const json::Value* models = document.find("models");
      models != nullptr && models->is_object()) {
    if (llama_swap(*models, collector)) return true;
  }
  // One service without its file around it.
  const bool compose_like =
      document.find("image") != nullptr && document.find("args") == nullptr &&
      (document.find("environment") != nullptr || document.find("gpus") != nullptr ||
       document.find("deploy") != nullptr ||
       (document.find("command") != nullptr && document.find("resources") == nullptr));
  if (compose_like) {
    compose_service("", document, collector);
    return true;
  }
  if (llm_d_values(document, collector)) return true;
  if (k8s_walk(document, collector, 1, 0)) return true;
  // A service under its own name.
  bool any = false;
  for (const json::Member& member : document.as_object()) {
    if (member.value.is_object() && member.value.find("image") != nullptr) {
      compose_service(member.key, member.value, collector);
      any = true;
    }
  }
  return any;
}

}  // namespace

bool collect_yaml(std::string_view text, Collector& collector) {
  auto documents = parse_yaml(text, "paste");
  if (!documents) return false;
  bool any = false;
  for (const json::Value& document : *documents) read_files(document, collector);
  for (const json::Value& document : *documents) any = read_document(document, collector) || any;
  return any;
}

}  // namespace vramwise::engines::launch
