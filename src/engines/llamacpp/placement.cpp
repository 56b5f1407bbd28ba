#include "engines/llamacpp/placement.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/text.h"

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

using weights::GgufTensor;

// Input tables: on the CPU whatever is offloaded.
constexpr std::array<std::string_view, 4> kInputs = {
    "token_embd.weight", "position_embd.weight", "token_types.weight",
    "per_layer_token_embd.weight"};
// Tensors of no layer that follow the first layer instead of the output.
constexpr std::array<std::string_view, 2> kWithFirstLayer = {"per_layer_model_proj.weight",
                                                             "per_layer_proj_norm.weight"};

bool is_input(std::string_view name) {
  return std::find(kInputs.begin(), kInputs.end(), name) != kInputs.end();
}

// ".ffn_(up|down|gate|gate_up)_(ch|)exps" of --cpu-moe.
bool is_expert_stack(std::string_view name) {
  for (const std::string_view part : {"ffn_up_exps", "ffn_down_exps", "ffn_gate_exps",
                                      "ffn_gate_up_exps", "ffn_up_chexps", "ffn_down_chexps",
                                      "ffn_gate_chexps", "ffn_gate_up_chexps"}) {
    if (contains(name, part)) return true;
  }
  return false;
}

// What the name says behind "blk.N.".
std::string_view behind_layer(std::string_view name) {
  if (!starts_with(name, "blk.")) return name;
  const size_t dot = name.find('.', 4);
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Matrices that the CPU keeps in another order for its vector units (AVX2 kernels).
// Source: ggml/src/ggml-cpu/repack.cpp, ggml_repack_get_optimal_repack_type.
bool is_repacked(const GgufTensor& t) {
  const bool type = t.type == GgmlType::Q4_0 || t.type == GgmlType::Q4_K ||
                    t.type == GgmlType::IQ4_NL || t.type == GgmlType::MXFP4;
  return type && t.extent[1] % 8 == 0 && !is_input(t.name);
}

int64_t tensor_bytes(const GgufTensor& t, const BackendProfile& backend) {
  int64_t bytes = t.bytes().count();
  if (backend.extra == ExtraBytes::cuda && is_quantized(t.type) && t.extent[0] % 512 != 0) {
    bytes = saturating_add(bytes, bytes_of_row(t.type, 512 - t.extent[0] % 512));
  }
  return round_up(bytes, backend.alignment);
}

}  // namespace

Placement place(const Shape& shape, const weights::GgufModel& gguf,
                const PlacementSettings& settings, const std::vector<double>& shares,
                const std::vector<BackendProfile>& backends, const Rules& rules) {
  Placement p;
  const int64_t layers = int64_t(shape.layers.size());
  const int16_t devices = int16_t(backends.size() - 1);
  p.cpu = devices;
  const int64_t asked = settings.n_gpu_layers < 0 ? layers + 1 : settings.n_gpu_layers;

  // Indices 0..layers-1 are layers, index `layers` is the output. The last `asked` of them are
  // offloaded; older builds counted the layers first.
  const int64_t start =
      std::max<int64_t>(0, (rules.output_layer_first ? layers + 1 : layers) - asked);
  const int64_t offloaded = std::min(asked, layers + 1);
  std::vector<double> shares_up_to;
  double sum = 0;
  for (int16_t d = 0; d < devices; ++d) {
    sum += size_t(d) < shares.size() ? std::max(0.0, shares[size_t(d)]) : 0.0;
    shares_up_to.push_back(sum);
  }
  const auto device_of = [&](int64_t index) -> int16_t {
    if (devices == 0 || index < start || index - start >= offloaded) return p.cpu;
    for (int16_t d = 0; d < devices; ++d) {
      const double share = sum > 0 ? shares_up_to[size_t(d)] / sum : double(d + 1) / devices;
      if (share > double(index - start) / double(offloaded)) return d;
    }
    return int16_t(devices - 1);
  };
  for (int64_t i = 0; i < layers; ++i) p.layer_device.push_back(device_of(i));
  p.output_device = device_of(layers);
  if (!rules.output_layer_first && asked <= layers) p.output_device = p.cpu;
  p.full_offload = devices > 0 && asked > layers;

  p.weights = shape.weights;
  p.model_bytes.assign(backends.size(), 0);
  p.expert_bytes.assign(backends.size(), 0);
  const Family& family = family_of(shape.architecture);
  const auto add = [&](int16_t device, const GgufTensor& t) {
    const int64_t bytes = tensor_bytes(t, backends[size_t(device)]);
    int64_t& total = p.model_bytes[size_t(device)];
    total = saturating_add(total, bytes);
    if (is_expert_stack(t.name)) {
      p.expert_bytes[size_t(device)] = saturating_add(p.expert_bytes[size_t(device)], bytes);
    }
    if (device == p.cpu && settings.repack && is_repacked(t)) {
      p.repacked_bytes = saturating_add(p.repacked_bytes, t.bytes().count());
    }
  };
  // Row split: the rows of a matrix over all devices, in whole granules; the rest of the layer stays.
  const bool by_rows = settings.split == SplitMode::row && devices > 1;
  const auto add_rows = [&](int16_t home, const GgufTensor& t) {
    if (!by_rows || home == p.cpu || t.extent[1] <= 1 || t.extent[2] > 1) return add(home, t);
    constexpr int64_t kGranule = 128;  // ggml-cuda, get_row_rounding: 64 or 128 by the kernel
    const int64_t rows = t.extent[1], row = t.bytes().count() / rows;
    int64_t from = 0;
    for (int16_t d = 0; d < devices; ++d) {
      const double share = sum > 0 ? shares_up_to[size_t(d)] / sum : double(d + 1) / devices;
      int64_t to = d + 1 == devices ? rows : int64_t(double(rows) * share) / kGranule * kGranule;
      to = std::clamp(to, from, rows);
      int64_t& total = p.model_bytes[size_t(d)];
      total = saturating_add(total, saturating_multiply(row, to - from));
      from = to;
    }
  };
  const auto overridden = [&](std::string_view name, int32_t layer) -> int16_t {
    for (const PlacementSettings::Override& o : settings.overrides) {
      if (o.pattern.search(name)) return o.device;
    }
    const bool moe_layer =
        settings.cpu_moe_layers < 0 || (layer >= 0 && layer < settings.cpu_moe_layers);
    return moe_layer && is_expert_stack(name) ? p.cpu : int16_t(-1);
  };

  for (const GgufTensor& t : gguf.tensors) {
    if (t.mtp) continue;  // loaded only for a draft head
    const std::string_view name = behind_layer(t.name);
    const std::optional<Slot> slot = slot_of(name);
    int16_t device = overridden(t.name, t.layer);
    if (is_input(name)) {
      if (device < 0) device = p.cpu;
      add(device, t);
      const bool copied =
          name == "token_embd.weight" && shape.tied_head &&
          (p.output_device != p.cpu || family.output_first);
      if (copied) {
        add(p.output_device, t);
        if (p.output_device != p.cpu) {
          p.tied_copy_bytes = tensor_bytes(t, backends[size_t(p.output_device)]);
        }
      }
    } else if (t.layer >= 0) {
      const bool named = device >= 0;
      if (!named) device = t.layer < layers ? p.layer_device[size_t(t.layer)] : p.cpu;
      named ? add(device, t) : add_rows(device, t);
    } else if (starts_with(name, "rope_f")) {
      // One copy in every kind of memory that layers live in.
      std::vector<char> seen(backends.size(), 0);
      for (const int16_t d : p.layer_device) {
        if (!seen[size_t(d)]) add(d, t);
        seen[size_t(d)] = 1;
      }
      continue;  // graphs take the copy of the layer's own device
    } else {
      const bool with_first =
          std::find(kWithFirstLayer.begin(), kWithFirstLayer.end(), name) !=
              kWithFirstLayer.end() ||
          (starts_with(name, "token_embd_norm") && !family.head_norm_is_embedding_norm);
      if (device < 0) {
        device = with_first && layers > 0 ? p.layer_device[0] : p.output_device;
      }
      add(device, t);
    }
    if (slot && t.layer < layers) p.weights.at(*slot, t.layer).device = device;
  }
  // A tied head reads its own copy, or the table on the CPU.
  if (shape.tied_head) p.weights.at(Slot::output, -1).device = p.output_device;
  return p;
}

}  // namespace vramwise::engines::llamacpp
