#include "engines/launch/write_manifest.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "engines/launch/container_program.h"
#include "engines/launch/write_line.h"
#include "engines/launch/yaml_write.h"

namespace vramwise::engines::launch {
namespace {

using json::Value;

Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value out = Value::object();
  for (const auto& [key, value] : members) out.set(key, value);
  return out;
}

Value list(const std::vector<std::string>& items) {
  Value out = Value::array();
  for (const std::string& item : items) out.push(item);
  return out;
}

Value list_of(Value item) {
  Value out = Value::array();
  out.push(std::move(item));
  return out;
}

int64_t nodes_of(const Deployment& d) {
  if (d.devices_per_node <= 0 || d.devices <= d.devices_per_node) return 1;
  return ceil_div(d.devices, d.devices_per_node);
}

int64_t devices_a_node(const Deployment& d) {
  const int64_t nodes = nodes_of(d);
  return nodes > 1 ? ceil_div(d.devices, nodes) : d.devices;
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

// ---- Compose

// A lone $ would be a variable of Compose.
std::vector<std::string> with_dollars(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) out.push_back(replace_all(word, "$", "$$"));
  return out;
}

Value compose_file(const ContainerProgram& p, const Deployment& d) {
  Value service = object({{"image", p.image}});
  service.set("entrypoint", list(with_dollars(p.command)));
  if (p.command.empty()) service.erase("entrypoint");
  service.set("command", list(with_dollars(p.args)));
  Value env = Value::object();
  for (const auto& [name, value] : p.env) env.set(name, replace_all(value, "$", "$$"));
  // No value: taken from where Compose runs.
  if (p.hub) env.set("HF_TOKEN", Value());
  if (!env.as_object().empty()) service.set("environment", std::move(env));
  const std::string port = format_integer(p.port);
  service.set("ports", list({port + ":" + port}));
  Value volumes = Value::array();
  const std::string volume = p.local_models ? "./models" : p.name + "-store";
  volumes.push(volume + ":" + p.store + (p.local_models ? ":ro" : ""));
  service.set("volumes", std::move(volumes));
  // Tensor parallel workers speak through shared memory.
  service.set("ipc", "host");
  Value configs = Value::object();
  if (!p.files.empty()) {
    Value mounts = Value::array();
    for (const auto& [path, content] : p.files) {
      const std::string name = replace_all(to_lower(base_name(path)), ".", "-");
      mounts.push(object({{"source", name}, {"target", path}}));
      configs.set(name, object({{"content", replace_all(content, "$", "$$")}}));
    }
    service.set("configs", std::move(mounts));
  }
  if (d.vendor == "amd") {
    service.set("devices", list({"/dev/kfd", "/dev/dri"}));
    service.set("group_add", list({"video"}));
    service.set("security_opt", list({"seccomp=unconfined"}));
  } else if (d.vendor == "intel") {
    service.set("devices", list({"/dev/dri"}));
  } else if (d.devices > 0) {
    Value device = object({{"driver", "nvidia"}, {"count", d.devices}});
    device.set("capabilities", list({"gpu"}));
    service.set(
        "deploy",
        object({{"resources",
                 object({{"reservations", object({{"devices", list_of(std::move(device))}})}})}}));
  }
  service.set("restart", "unless-stopped");
  Value file = object({{"services", object({{p.name, std::move(service)}})}});
  if (!p.local_models) file.set("volumes", object({{volume, Value::object()}}));
  if (!configs.as_object().empty()) file.set("configs", std::move(configs));
  return file;
}

// ---- Kubernetes

std::string resource_of(const Deployment& d) {
  if (d.vendor == "amd") return "amd.com/gpu";
  if (d.vendor == "intel") return "gpu.intel.com/xe";
  return "nvidia.com/gpu";
}

// $(NAME) would be a variable of the container.
std::vector<std::string> with_parentheses(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) out.push_back(replace_all(word, "$(", "$$("));
  return out;
}

Value k8s_env(const ContainerProgram& p) {
  Value env = Value::array();
  for (const auto& [name, value] : p.env) {
    env.push(object({{"name", name}, {"value", replace_all(value, "$(", "$$(")}}));
  }
  if (p.hub) {
    // Optional: only gated models need it.
    const Value ref = object({{"name", "hf-token"}, {"key", "token"}, {"optional", true}});
    env.push(object({{"name", "HF_TOKEN"}, {"valueFrom", object({{"secretKeyRef", ref}})}}));
  }
  return env;
}

Value container_of(const ContainerProgram& p, const Deployment& d,
                   const std::vector<std::string>& command, const std::vector<std::string>& args,
                   bool serves) {
  Value c = object({{"name", p.name}, {"image", p.image}});
  if (!command.empty()) c.set("command", list(command));
  c.set("args", list(args));
  Value env = k8s_env(p);
  if (!env.as_array().empty()) c.set("env", std::move(env));
  if (serves) {
    c.set("ports", list_of(object({{"name", "http"}, {"containerPort", p.port}})));
    // Loading takes minutes; until then the pod gets no requests, and is not restarted.
    Value probe = object({{"tcpSocket", object({{"port", "http"}})}});
    Value startup = probe;
    startup.set("periodSeconds", 10);
    startup.set("failureThreshold", 180);
    c.set("startupProbe", std::move(startup));
    c.set("readinessProbe", std::move(probe));
  }
  if (d.devices > 0) {
    const Value count = object({{resource_of(d), format_integer(devices_a_node(d))}});
    c.set("resources", object({{"limits", count}}));
  }
  Value mounts = Value::array();
  mounts.push(object({{"name", "models"}, {"mountPath", p.store}}));
  mounts.push(object({{"name", "shm"}, {"mountPath", "/dev/shm"}}));
  for (const auto& [path, content] : p.files) {
    mounts.push(object({{"name", "config"}, {"mountPath", path}, {"subPath", base_name(path)}}));
  }
  c.set("volumeMounts", std::move(mounts));
  return c;
}

Value pod_of(const ContainerProgram& p, Value container) {
  Value volumes = Value::array();
  volumes.push(
      object({{"name", "models"}, {"persistentVolumeClaim", object({{"claimName", p.name}})}}));
  volumes.push(object({{"name", "shm"}, {"emptyDir", object({{"medium", "Memory"}})}}));
  if (!p.files.empty()) {
    volumes.push(object({{"name", "config"}, {"configMap", object({{"name", p.name}})}}));
  }
  return object({{"containers", list_of(std::move(container))}, {"volumes", std::move(volumes)}});
}

Value metadata(std::string_view name) { return object({{"name", Value(name)}}); }

Value claim_of(const ContainerProgram& p, const Deployment& d, bool shared) {
  // A fifth more than the files, for what the program unpacks beside them.
  const int64_t gib = ceil_div(std::max<int64_t>(1, d.weights.count() / 5 * 6), int64_t{1} << 30);
  const Value size = object({{"storage", format_integer(gib) + "Gi"}});
  Value spec = object({{"accessModes", list({shared ? "ReadWriteMany" : "ReadWriteOnce"})}});
  spec.set("resources", object({{"requests", size}}));
  return object({{"apiVersion", "v1"},
                 {"kind", "PersistentVolumeClaim"},
                 {"metadata", metadata(p.name)},
                 {"spec", std::move(spec)}});
}

Value config_map_of(const ContainerProgram& p) {
  Value data = Value::object();
  for (const auto& [path, content] : p.files) data.set(base_name(path), content);
  return object({{"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata", metadata(p.name)},
                 {"data", std::move(data)}});
}

Value service_of(const ContainerProgram& p, Value selector) {
  Value port = object({{"name", "http"}, {"port", p.port}, {"targetPort", "http"}});
  return object(
      {{"apiVersion", "v1"},
       {"kind", "Service"},
       {"metadata", metadata(p.name)},
       {"spec", object({{"selector", std::move(selector)}, {"ports", list_of(std::move(port))}})}});
}

Value deployment_of(const ContainerProgram& p, const Deployment& d) {
  const Value labels = object({{"app", p.name}});
  Value pod =
      pod_of(p, container_of(p, d, with_parentheses(p.command), with_parentheses(p.args), true));
  Value spec = object({{"replicas", 1}});
  // A second server beside the first would find no free card.
  spec.set("strategy", object({{"type", "Recreate"}}));
  spec.set("selector", object({{"matchLabels", labels}}));
  spec.set("template",
           object({{"metadata", object({{"labels", labels}})}, {"spec", std::move(pod)}}));
  return object({{"apiVersion", "apps/v1"},
                 {"kind", "Deployment"},
                 {"metadata", metadata(p.name)},
                 {"spec", std::move(spec)}});
}

// One server over several machines: its first pod answers, the others lend their cards.
Result<Value> leader_worker_set(const ContainerProgram& p, const Deployment& d) {
  const int64_t nodes = nodes_of(d);
  Value group = object({{"size", nodes}, {"restartPolicy", "RecreateGroupOnPodRestart"}});
  if (d.engine == "vllm") {
    // The images carry a script that joins the pods to one Ray cluster.
    const std::string script =
        "bash /vllm-workspace/examples/online_serving/multi-node-serving.sh ";
    std::vector<std::string> words = with_parentheses(p.command);
    for (const std::string& arg : with_parentheses(p.args)) words.push_back(arg);
    words.insert(words.end(), {"--distributed-executor-backend", "ray"});
    const std::string lead =
        script + "leader --ray_cluster_size=$(LWS_GROUP_SIZE); " + joined(words);
    const std::string work = script + "worker --ray_address=$(LWS_LEADER_ADDRESS)";
    Value leader = pod_of(p, container_of(p, d, {"sh", "-c"}, {lead}, true));
    group.set("leaderTemplate",
              object({{"metadata", object({{"labels", object({{"role", "leader"}})}})},
                      {"spec", std::move(leader)}}));
    Value worker = pod_of(p, container_of(p, d, {"sh", "-c"}, {work}, false));
    group.set("workerTemplate", object({{"spec", std::move(worker)}}));
  } else if (d.engine == "sglang") {
    std::vector<std::string> args = with_parentheses(p.args);
    args.insert(args.end(),
                {"--nnodes", format_integer(nodes), "--node-rank", "$(LWS_WORKER_INDEX)",
                 "--dist-init-addr", "$(LWS_LEADER_ADDRESS):20000"});
    Value pod = pod_of(p, container_of(p, d, p.command, args, false));
    group.set("workerTemplate", object({{"spec", std::move(pod)}}));
  } else {
    return fail(Error(ErrorCode::unsupported,
                      format_integer(d.devices) + " cards are more than one machine's " +
                          format_integer(d.devices_per_node) + ", and " + d.engine +
                          " has no LeaderWorkerSet that this can write")
                    .at("emit")
                    .hint("vllm and sglang are written for several machines"));
  }
  return object({{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
                 {"kind", "LeaderWorkerSet"},
                 {"metadata", metadata(p.name)},
                 {"spec", object({{"replicas", 1}, {"leaderWorkerTemplate", std::move(group)}})}});
}

Result<std::string> k8s_objects(const ContainerProgram& p, const Deployment& d) {
  const bool several = nodes_of(d) > 1;
  std::vector<Value> objects = {claim_of(p, d, several)};
  if (!p.files.empty()) objects.push_back(config_map_of(p));
  if (several) {
    TRY_ASSIGN(Value set, leader_worker_set(p, d));
    objects.push_back(std::move(set));
    objects.push_back(service_of(p, object({{"leaderworkerset.sigs.k8s.io/name", p.name},
                                            {"leaderworkerset.sigs.k8s.io/worker-index", "0"}})));
  } else {
    objects.push_back(deployment_of(p, d));
    objects.push_back(service_of(p, object({{"app", p.name}})));
  }
  std::string text;
  for (const Value& value : objects) text += (text.empty() ? "" : "---\n") + write_yaml(value);
  return text;
}

// ---- llm-d

Result<std::string> llm_d_values(const ContainerProgram& p, const Deployment& d) {
  if (d.engine != "vllm") {
    return fail(Error(ErrorCode::unsupported, "llm-d serves with vLLM, not " + d.engine)
                    .at("emit")
                    .hint("--emit k8s writes a Deployment for " + d.engine));
  }
  if (nodes_of(d) > 1) {
    return fail(
        Error(ErrorCode::unsupported, "values for llm-d over several machines are not written")
            .at("emit")
            .hint("--emit k8s writes a LeaderWorkerSet"));
  }
  // The chart itself passes the model and these sizes to `vllm serve`.
  Value parallelism = object({{"tensor", 1}, {"data", 1}});
  std::vector<std::string> args;
  for (size_t i = 1; i < p.args.size(); ++i) {
    const bool tensor = p.args[i] == "--tensor-parallel-size";
    const bool data = p.args[i] == "--data-parallel-size";
    const auto size = i + 1 < p.args.size() ? parse_integer(p.args[i + 1]) : std::nullopt;
    if ((tensor || data) && size) {
      parallelism.set(tensor ? "tensor" : "data", *size);
      ++i;
    } else {
      args.push_back(p.args[i]);
    }
  }
  const int64_t gib = ceil_div(std::max<int64_t>(1, d.weights.count() / 5 * 6), int64_t{1} << 30);
  Value artifacts = object({{"name", p.model},
                            {"uri", "hf://" + p.model},
                            {"size", format_integer(gib) + "Gi"},
                            {"authSecretName", "llm-d-hf-token"}});
  Value container = object({{"name", "vllm"},
                            {"image", "ghcr.io/llm-d/llm-d-cuda:latest"},
                            {"modelCommand", "vllmServe"}});
  container.set("args", list(with_parentheses(args)));
  Value env = Value::array();
  for (const auto& [name, value] : p.env) env.push(object({{"name", name}, {"value", value}}));
  if (!env.as_array().empty()) container.set("env", std::move(env));
  container.set("ports", list_of(object({{"containerPort", 8200}, {"protocol", "TCP"}})));
  container.set("resources",
                object({{"limits", object({{resource_of(d), format_integer(d.devices)}})}}));
  container.set("mountModelVolume", true);
  Value decode = object({{"create", true}, {"replicas", 1}});
  decode.set("parallelism", std::move(parallelism));
  decode.set("containers", list_of(std::move(container)));
  Value values = object({{"multinode", false}, {"modelArtifacts", std::move(artifacts)}});
  if (d.vendor == "amd") values.set("accelerator", object({{"type", "amd"}}));
  values.set("routing", object({{"servicePort", 8000}}));
  values.set("decode", std::move(decode));
  values.set("prefill", object({{"create", false}}));
  return write_yaml(values);
}

}  // namespace

Result<ManifestKind> manifest_kind(std::string_view name) {
  if (name == "compose") return ManifestKind::compose;
  if (name == "k8s" || name == "kubernetes") return ManifestKind::k8s;
  if (name == "llm-d") return ManifestKind::llm_d;
  return fail(
      Error(ErrorCode::not_found, "unknown manifest '" + std::string(name.substr(0, 60)) + "'")
          .at("emit")
          .hint("manifests: compose, k8s, llm-d"));
}

Result<std::string> write_manifest(ManifestKind kind, const Deployment& d) {
  TRY_ASSIGN(const ContainerProgram p, container_program(d));
  switch (kind) {
    case ManifestKind::compose:
      if (nodes_of(d) > 1) {
        return fail(Error(ErrorCode::unsupported, "a Compose file runs on one machine, and " +
                                                      format_integer(d.devices) +
                                                      " cards are more than one machine's " +
                                                      format_integer(d.devices_per_node))
                        .at("emit")
                        .hint("--emit k8s writes a LeaderWorkerSet"));
      }
      return write_yaml(compose_file(p, d));
    case ManifestKind::k8s: return k8s_objects(p, d);
    case ManifestKind::llm_d: return llm_d_values(p, d);
  }
  return fail(Error(ErrorCode::internal, "a manifest kind without a writer"));
}

}  // namespace vramwise::engines::launch
