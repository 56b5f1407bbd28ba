// A llama.cpp plan with its scheduler and allocator simulated: graph, devices, splits, addresses.
//
// The models span the graphs that occur: 80 plain layers, 48 layers of experts, a hybrid with the
// delta rule (three passes: its probes are part of a plan), all on one card beside the CPU.
#include <benchmark/benchmark.h>

#include "catalog/catalog.h"
#include "catalog/model_ref.h"
#include "engines/llamacpp/budget.h"
#include "engines/llamacpp/request.h"
#include "model/from_config.h"
#include "weights/gguf_model.h"

namespace {

using namespace vramwise;
using namespace vramwise::engines;
using namespace vramwise::engines::llamacpp;

struct Case {
  model::Model model;
  weights::GgufModel gguf;
  Shape shape;
  Rules rules;
  json::Value profile;
  Hardware hardware;
  Request request;
};

bool load(const char* id, int devices, Case& c) {
  auto ref = catalog::resolve_model(id);
  if (!ref) return false;
  auto model = model::from_config(json::Reader(ref->config, id), id);
  if (!model) return false;
  c.model = std::move(*model);
  auto gguf = weights::quantize(c.model, "Q4_K_M");
  auto entry = catalog::find(catalog::Kind::engine, "llama.cpp");
  if (!gguf || !entry) return false;
  c.gguf = std::move(*gguf);
  c.profile = std::move(entry->value);
  auto rules = rules_for(c.profile, 0);
  if (!rules) return false;
  c.rules = *rules;
  Notes notes;
  auto shape = shape_of(c.model, c.gguf, notes);
  if (!shape) return false;
  c.shape = std::move(*shape);
  for (int i = 0; i < devices; ++i) {
    Device device;
    device.total = GiB(80);
    device.gpu.compute_capability = 90;
    c.hardware.devices.push_back(device);
    c.request.devices.push_back(size_t(i));
  }
  c.request.context.n_ctx = 65536;
  c.request.context.output_rows = 1;
  return true;
}

void plan(benchmark::State& state, const char* id) {
  Case c;
  if (!load(id, int(state.range(0)), c)) {
    state.SkipWithError("the catalog lacks the model");
    return;
  }
  Budgeter budgeter(c.shape, c.gguf, c.rules, c.profile, c.hardware, c.request);
  int nodes = 0;
  for (auto _ : state) {
    const Budget b = budgeter.measure(c.request.context, c.request.placement, Pass::real);
    benchmark::DoNotOptimize(b.compute.data());
    nodes = b.nodes;
  }
  state.counters["nodes"] = nodes;
}

BENCHMARK_CAPTURE(plan, dense_80_layers, "meta-llama/Llama-3.1-70B")->Arg(1)->Arg(2);
BENCHMARK_CAPTURE(plan, dense_32_layers, "meta-llama/Llama-3.1-8B")->Arg(1);
BENCHMARK_CAPTURE(plan, experts_48_layers, "Qwen/Qwen3-30B-A3B")->Arg(1);
BENCHMARK_CAPTURE(plan, delta_net_48_layers, "Qwen/Qwen3-Next-80B-A3B-Instruct")->Arg(1);

}  // namespace
