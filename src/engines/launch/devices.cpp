// Which GPUs a server sees, and whether they are as many as its parallelism needs.
#include "base/checked.h"
#include "base/text.h"
#include "engines/launch/engines_read.h"

namespace vramwise::engines::launch {
namespace {

// Variables that say which devices are visible, for every engine.
constexpr std::string_view kDeviceVariables[] = {
    "CUDA_VISIBLE_DEVICES",   "NVIDIA_VISIBLE_DEVICES",    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",   "GPU_DEVICE_ORDINAL",        "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR", "ASCEND_RT_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER"};

bool is_device_variable(std::string_view name) {
  for (const std::string_view v : kDeviceVariables) {
    if (name == v) return true;
  }
  return false;
}

const Word* last(const WordEnv& env, std::string_view name) {
  const Word* found = nullptr;
  for (const auto& [key, value] : env) {
    if (key == name) found = &value;
  }
  return found;
}

// A list of indices or uuids, cut at the first that is invalid.
// Source: CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES.
Gpus visible_list(std::string_view text) {
  Gpus gpus{Gpus::Kind::list, 0, {}};
  int64_t named = 0;
  for (const std::string_view raw : split(text, ',')) {
    const std::string_view part = trim(raw);
    const auto n = parse_integer(part);
    if (n && *n >= 0 && gpus.indices.size() < 1000) {
      gpus.indices.push_back(*n);
    } else if (starts_with(part, "GPU-") || starts_with(part, "MIG-")) {
      ++named;
    } else {
      break;
    }
  }
  if (gpus.indices.empty()) return {Gpus::Kind::count, named, {}};
  return gpus;
}

// A list that counts inside of what is visible already.
void narrow(Gpus& gpus, const Gpus& list) {
  if (list.kind == Gpus::Kind::count) {
    if (gpus.number() < 0 || list.count < gpus.number()) gpus = list;
    return;
  }
  if (gpus.kind == Gpus::Kind::list) {
    Gpus inner{Gpus::Kind::list, 0, {}};
    for (const int64_t i : list.indices) {
      if (i >= int64_t(gpus.indices.size())) break;
      inner.indices.push_back(gpus.indices[size_t(i)]);
    }
    gpus = inner;
    return;
  }
  // A container with as many GPUs as the list names: the number says it all.
  if (gpus.kind == Gpus::Kind::count && int64_t(list.indices.size()) >= gpus.count) return;
  gpus = list;
}

int64_t option_number(const Reading& out, std::string_view name, int64_t fallback) {
  const json::Value* value = out.options.find(name);
  return value != nullptr && value->is_integer() && value->as_integer() > 0 ? value->as_integer()
                                                                            : fallback;
}

bool option_is_on(const Reading& out, std::string_view name) {
  const json::Value* value = out.options.find(name);
  return value != nullptr && value->is_boolean() && value->as_boolean();
}

// GPUs that one node must have.
int64_t needed(const Reading& out, int64_t nodes) {
  const auto times = [](int64_t a, int64_t b) { return saturating_multiply(a, b); };
  int64_t world = 1;
  if (out.engine == "vllm") {
    const int64_t data = option_number(out, "data_parallel_size", 1);
    world = times(option_number(out, "tensor_parallel_size", 1),
                  option_number(out, "pipeline_parallel_size", 1));
    world = times(world, option_number(out, "prefill_context_parallel_size", 1));
    nodes = std::max(nodes, option_number(out, "nnodes", 1));
    const int64_t local = option_number(out, "data_parallel_size_local", 0);
    if (local > 0) return times(world, local);
    if (out.options.has("data_parallel_rank") || out.options.has("data_parallel_start_rank"))
      return world;
    world = times(world, data);
  } else if (out.engine == "sglang") {
    world = times(option_number(out, "tp_size", 1), option_number(out, "pp_size", 1));
    if (!option_is_on(out, "enable_dp_attention"))
      world = times(world, option_number(out, "dp_size", 1));
    nodes = option_number(out, "nnodes", 1);
  } else if (out.engine == "trtllm") {
    world = times(option_number(out, "tensor_parallel_size", 1),
                  option_number(out, "pipeline_parallel_size", 1));
    world = times(world, option_number(out, "context_parallel_size", 1));
  } else if (out.engine == "tgi") {
    world = option_number(out, "tgi.num_shard", 1);
  } else if (out.engine == "lmdeploy") {
    world = times(option_number(out, "lmdeploy.tp", 1), option_number(out, "lmdeploy.dp", 1));
    nodes = option_number(out, "lmdeploy.nnodes", 1);
  }
  return ceil_div(world, std::max<int64_t>(1, nodes));
}

}  // namespace

void read_devices(const Invocation& call, Reading& out) {
  Gpus gpus = call.gpus;
  // What the container runtime hands in, as --gpus does.
  if (const Word* nvidia = last(call.env, "NVIDIA_VISIBLE_DEVICES");
      nvidia != nullptr && !nvidia->hole && !call.prefix.empty()) {
    const std::string value = to_lower(trim(nvidia->text));
    if (value == "all") {
      if (gpus.kind == Gpus::Kind::not_given) gpus.kind = Gpus::Kind::all;
    } else if (value == "none" || value == "void" || value.empty()) {
      gpus = Gpus{Gpus::Kind::count, 0, {}};
    } else if (gpus.kind == Gpus::Kind::not_given) {
      gpus = visible_list(nvidia->text);
    }
  }
  // ROCR filters first, HIP and the rest count inside of it.
  for (const std::string_view name :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES",
        "ASCEND_RT_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
    const Word* value = last(call.env, name);
    if (value == nullptr || value->hole) continue;
    if (name == "GGML_VK_VISIBLE_DEVICES" && out.engine != "llama.cpp" && out.engine != "ollama" &&
        out.engine != "koboldcpp") {
      continue;
    }
    narrow(gpus, visible_list(value->text));
  }
  if (const Word* selector = last(call.env, "ONEAPI_DEVICE_SELECTOR");
      selector != nullptr && !selector->hole) {
    // level_zero:0,1
    if (const size_t colon = selector->text.find(':'); colon != std::string::npos) {
      narrow(gpus, visible_list(std::string_view(selector->text).substr(colon + 1)));
    }
  }
  // "--tp $(nvidia-smi -L | wc -l)" is a size that follows the machine.
  if (gpus.kind == Gpus::Kind::not_given) {
    for (const Word& word : call.argv) {
      if (word.all_gpus) gpus.kind = Gpus::Kind::all;
    }
  }
  out.gpus = std::move(gpus);
}

void check_gpu_count(const Invocation& call, Reading& out) {
  const int64_t given = out.gpus.number();
  if (given < 0) return;
  const int64_t wanted = needed(out, call.nodes);
  if (wanted <= given) return;
  out.error("gpu_count", "the parallel sizes need " + format_integer(wanted) + " GPUs on a node, " +
                             format_integer(given) + (given == 1 ? " is" : " are") + " visible");
}

void read_env(const Invocation& call, Context& context, std::string_view table_name, Reading& out) {
  const OptionTable* table = context.tables.get(table_name);
  for (const auto& [name, value] : call.env) {
    bool matters = is_device_variable(name) || name == "PYTORCH_CUDA_ALLOC_CONF" ||
                   name == "PYTORCH_ALLOC_CONF";
    if (table != nullptr) {
      const Option* variable = table->by_name("env:" + name);
      matters = matters || (variable != nullptr && !variable->memory.empty());
      bool off = false;
      const Option* option = table->by_env(name, off);
      // Variables that set an option are shown again only where they stand in front of the command.
      matters = matters || (option != nullptr && call.env_in_front && !option->memory.empty());
    }
    if (!matters) {
      const auto near = context.tables.unknown_variable(table_name, name);
      if (near) out.unknown.push_back({name, value.text, *near});
      continue;
    }
    if (value.hole) {
      out.warn("hole", name + " has a value that is not in the text: '" + value.text + "'");
      continue;
    }
    bool replaced = false;
    for (auto& [known, text] : out.env) {
      if (known == name) {
        text = value.text;
        replaced = true;
      }
    }
    if (!replaced) out.env.emplace_back(name, value.text);
  }
}

}  // namespace vramwise::engines::launch
