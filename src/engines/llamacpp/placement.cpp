#include "engines/llamacpp/placement.h"

#include <algorithm>

#include "base/checked.h"
#include "engines/llamacpp/graph/families.h"
#include "engines/llamacpp/row_split.h"

namespace vramwise::engines::llamacpp {
namespace {

using weights::GgufTensor;

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
  p.tensor_device.assign(gguf.tensors.size(), p.cpu);
  p.model_bytes.assign(backends.size(), 0);
  p.expert_bytes.assign(backends.size(), 0);
  const Family& family = family_of(shape.architecture);
  const auto add = [&](int16_t device, const GgufTensor& t, const FileTensor& f) {
    const int64_t bytes = tensor_bytes(t, backends[size_t(device)]);
    int64_t& total = p.model_bytes[size_t(device)];
    total = saturating_add(total, bytes);
    if (f.expert_stack) {
      p.expert_bytes[size_t(device)] = saturating_add(p.expert_bytes[size_t(device)], bytes);
    }
    if (device == p.cpu && settings.repack && f.repackable) {
      p.repacked_bytes = saturating_add(p.repacked_bytes, t.bytes().count());
    }
  };
  // Row split: a matrix over all devices; the rest of the layer stays, and so does its stack of
  // experts. The program prints the pieces under the layer's own device.
  const RowSplit rows =
      settings.split == SplitMode::row ? RowSplit(shares_up_to, sum, backends) : RowSplit();
  if (rows.devices() > 0) {
    p.row_bytes.assign(backends.size(), 0);
    p.printed_row_bytes.assign(backends.size(), 0);
  }
  const auto add_rows = [&](int16_t home, const GgufTensor& t, const FileTensor& f) {
    if (!rows.cuts(home, t)) return add(home, t, f);
    for (int16_t d = 0; d < rows.devices(); ++d) {
      const int64_t bytes = rows.bytes_on(d, t);
      for (int64_t* total : {&p.model_bytes[size_t(d)], &p.row_bytes[size_t(d)],
                             &p.printed_row_bytes[size_t(home)]}) {
        *total = saturating_add(*total, bytes);
      }
    }
  };
  const auto overridden = [&](const GgufTensor& t, const FileTensor& f) -> int16_t {
    for (const PlacementSettings::Override& o : settings.overrides) {
      if (o.pattern.search(t.name)) return o.device;
    }
    const bool moe_layer =
        settings.cpu_moe_layers < 0 || (t.layer >= 0 && t.layer < settings.cpu_moe_layers);
    return moe_layer && f.expert_stack ? p.cpu : int16_t(-1);
  };

  using Home = FileTensor::Home;
  for (size_t i = 0; i < gguf.tensors.size(); ++i) {
    const GgufTensor& t = gguf.tensors[i];
    const FileTensor& f = shape.file[i];
    if (t.mtp && !settings.draft_head) continue;
    if (f.home == Home::rope) {
      p.tensor_device[i] = p.output_device;
      // One copy in every kind of memory that layers live in; graphs take their layer's.
      std::vector<char> seen(backends.size(), 0);
      for (const int16_t d : p.layer_device) {
        if (!seen[size_t(d)]) add(d, t, f);
        seen[size_t(d)] = 1;
      }
      continue;
    }
    int16_t device = settings.has_overrides() ? overridden(t, f) : int16_t(-1);
    const bool named = device >= 0;
    if (!named) {
      switch (f.home) {
        case Home::input: device = p.cpu; break;
        case Home::layer:
          device = t.layer < layers ? p.layer_device[size_t(t.layer)] : p.cpu;
          break;
        case Home::first_layer: device = layers > 0 ? p.layer_device[0] : p.output_device; break;
        case Home::output:
        case Home::rope: device = p.output_device; break;
      }
    }
    p.tensor_device[i] = device;
    const bool matrix_of_layer = f.home == Home::layer || f.home == Home::output;
    if (matrix_of_layer && !named) {
      add_rows(device, t, f);
    } else {
      add(device, t, f);
    }
    const bool used_twice =
        f.token_embedding && shape.tied_head && (p.output_device != p.cpu || family.output_first);
    if (used_twice) {
      add_rows(p.output_device, t, f);
      if (p.output_device != p.cpu) {
        p.tied_copy_bytes = tensor_bytes(t, backends[size_t(p.output_device)]);
      }
    }
    if (f.slot != Slot::count && t.layer < layers) p.weights.at(f.slot, t.layer).device = device;
  }
  // A tied head reads its own copy, or the table on the CPU.
  if (shape.tied_head) p.weights.at(Slot::output, -1).device = p.output_device;
  return p;
}

}  // namespace vramwise::engines::llamacpp
