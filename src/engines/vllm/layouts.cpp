#include "engines/vllm/layouts.h"

#include <algorithm>
#include <array>

#include "engines/device_support.h"
#include "engines/facts.h"
#include "engines/parallel.h"

namespace vramwise::engines::vllm {
namespace {

constexpr int64_t kMaxSize = 4096;

// A parallel size among the options; 0 when it is absent or no number (settings.cpp reports that).
int64_t size_of(const Options& options, std::string_view name) {
  const auto value = options.integer(name, 1, kMaxSize);
  return value && *value ? **value : 0;
}

}  // namespace

std::string_view option_of(Knob knob) {
  switch (knob) {
    case Knob::sequence_tokens: return "max_model_len";
    case Knob::concurrency: return "max_num_seqs";
    case Knob::batch_tokens: return "max_num_batched_tokens";
    case Knob::lora_slots: return "max_loras";
  }
  return {};
}

namespace {

Layout layout_of(const model::Model& model, const Parallel& p) {
  Layout layout;
  layout.label = label_of(model, p);
  layout.options.emplace_back("tensor_parallel_size", json::Value(p.tensor));
  if (p.pipeline > 1) {
    layout.options.emplace_back("pipeline_parallel_size", json::Value(p.pipeline));
  }
  if (p.data > 1) layout.options.emplace_back("data_parallel_size", json::Value(p.data));
  if (p.experts) layout.options.emplace_back("enable_expert_parallel", json::Value(true));
  return layout;
}

// Replicas behind one server came with a release; a version that the profile does not know has
// them.
bool has_replicas(const Settings& settings) {
  auto facts = Facts::load("vllm", settings.version);
  return !facts || facts->flag("replicas");
}

}  // namespace

std::vector<Layout> layouts(const Question& question, int devices) {
  if (devices == 1) return {{}};
  const model::Model& model = *question.model;
  const Options& options = question.settings.options;
  const int64_t tensor_given = size_of(options, "tensor_parallel_size");
  const int64_t pipeline_given = size_of(options, "pipeline_parallel_size");
  const int64_t data_given = size_of(options, "data_parallel_size");
  const auto experts_given = options.boolean("enable_expert_parallel");
  const bool experts_said = experts_given && experts_given->has_value();
  const int64_t experts = fewest_experts(model);
  std::vector<Layout> list;
  const auto add = [&](const Parallel& p) {
    const int64_t ranks = p.data * p.tensor;
    if (tensor_given > 0 && p.tensor != tensor_given) return;
    if (pipeline_given > 0 && p.pipeline != pipeline_given) return;
    if (data_given > 0 && p.data != data_given) return;
    if (experts_said && p.experts != **experts_given && ranks > 1 && experts > 0) return;
    // Each rank needs an expert of its own; a remainder goes to the first ranks.
    if (p.experts && (experts < ranks || ranks == 1)) return;
    if (p.pipeline > int64_t(model.layers.size()) || !split_heads(model, p.tensor).divides) return;
    list.push_back(layout_of(model, p));
  };
  // One replica, its matrices split as far as possible, experts too or shared out whole.
  for (int64_t tensor = devices; tensor >= 1; --tensor) {
    if (devices % tensor != 0) continue;
    add({.tensor = tensor, .pipeline = devices / tensor});
    add({.tensor = tensor, .pipeline = devices / tensor, .experts = true});
  }
  // Replicas: of the model, or of its attention beside experts that are shared out over all ranks.
  if (data_given == 0 && !has_replicas(question.settings)) return list;
  for (int64_t data = 2; data <= devices; ++data) {
    for (int64_t pipeline = 1; data * pipeline <= devices; ++pipeline) {
      if (devices % (data * pipeline) != 0) continue;
      // Pipelines of replicas only for who asks for them.
      if (pipeline > 1 && (data_given == 0 || pipeline_given == 0)) continue;
      const int64_t tensor = devices / (data * pipeline);
      const bool share = experts > 0 && !(experts_said && !**experts_given);
      add({.tensor = tensor, .pipeline = pipeline, .data = data, .experts = share});
    }
  }
  return list;
}

int64_t devices_asked(const Options& options) {
  constexpr std::array<std::string_view, 3> kSizes = {
      "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"};
  return cards_asked(options, kSizes);
}

bool runs_on(const catalog::Gpu& gpu) { return supports("vllm", gpu); }

}  // namespace vramwise::engines::vllm
