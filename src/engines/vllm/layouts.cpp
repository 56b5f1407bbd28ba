#include "engines/vllm/layouts.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::engines::vllm {
namespace {

constexpr int64_t kMaxSize = 4096;
constexpr int kVolta = 70;

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

std::vector<Layout> layouts(const Options& options, int devices) {
  if (devices == 1) return {{}};
  const int64_t tensor_given = size_of(options, "tensor_parallel_size");
  const int64_t pipeline_given = size_of(options, "pipeline_parallel_size");
  std::vector<Layout> list;
  for (int tensor = devices; tensor >= 1; --tensor) {
    if (devices % tensor != 0) continue;
    const int pipeline = devices / tensor;
    if (tensor_given > 0 && tensor != tensor_given) continue;
    if (pipeline_given > 0 && pipeline != pipeline_given) continue;
    Layout layout;
    layout.label = "TP" + format_integer(tensor);
    layout.options.emplace_back("tensor_parallel_size", json::Value(tensor));
    if (pipeline > 1) {
      layout.label += " x PP" + format_integer(pipeline);
      layout.options.emplace_back("pipeline_parallel_size", json::Value(pipeline));
    }
    list.push_back(std::move(layout));
  }
  return list;
}

int64_t devices_asked(const Options& options) {
  int64_t product = 1;
  bool any = false;
  for (const std::string_view name :
       {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"}) {
    const int64_t size = size_of(options, name);
    if (size == 0) continue;
    any = true;
    product = saturating_multiply(product, size);
  }
  return any ? std::min(product, kMaxSize) : 0;
}

bool runs_on(const catalog::Gpu& gpu) {
  if (gpu.vendor == "amd") return true;
  return gpu.vendor == "nvidia" && gpu.compute_capability >= kVolta;
}

}  // namespace vramwise::engines::vllm
