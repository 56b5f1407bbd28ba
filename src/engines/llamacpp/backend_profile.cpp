#include "engines/llamacpp/backend_profile.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"

namespace vramwise::engines::llamacpp {
namespace {

// Do K and V show the same memory (latent attention)?
bool same_memory(const Graph& graph, TensorId k, TensorId v) {
  const Tensor& kt = graph[k];
  const Tensor& vt = graph[v];
  if (vt.base == kNoTensor) return false;
  return vt.base == k || (vt.base == kt.base && vt.offset == kt.offset);
}

// Cards whose attention kernels are chosen alike.
enum class AttentionClass : char { older, volta, turing, ada };

AttentionClass attention_class(int compute_capability) {
  if (compute_capability >= 89) return AttentionClass::ada;
  if (compute_capability >= 75) return AttentionClass::turing;
  return compute_capability == 70 ? AttentionClass::volta : AttentionClass::older;
}

// Does the attention kernel of this card read K and V as f16 for a batch of this size? The vector
// kernels, for one or two tokens, read quantised caches directly.
// Source: ggml/src/ggml-cuda/fattn.cu, ggml_cuda_get_best_fattn_kernel.
bool kernel_needs_half(const Graph& graph, const Tensor& t, AttentionClass card) {
  const Tensor& q = graph[t.source[0]];
  const Tensor& k = graph[t.source[1]];
  const int64_t dim = q.ne[0], batch = q.ne[1];
  const int64_t grouped = k.ne[2] > 0 ? q.ne[2] / k.ne[2] : 1;
  const bool quantised = is_quantized(k.type);
  const bool vector = dim <= 256 && dim % 64 == 0 && dim != 192 && k.ne[1] % 256 == 0;
  const bool tensor_cores = card == AttentionClass::turing || card == AttentionClass::ada;
  if (tensor_cores && dim != 40 && dim != 72) {
    return !(vector && quantised && batch <= (card == AttentionClass::ada ? 2 : 1));
  }
  if (card == AttentionClass::volta) {
    int64_t e = 1;
    while (grouped % (2 * e) == 0 && e < 8) e *= 2;
    return !(vector && batch * e <= 2);
  }
  return !(vector && quantised && batch <= 2);
}

int64_t cuda_bytes(const BackendProfile& backend, const Graph& graph, const Tensor& t,
                   int64_t bytes) {
  if (t.op == Op::flash_attn && backend.cuda_copies_in_buffer &&
      kernel_needs_half(graph, t, attention_class(backend.compute_capability))) {
    const Tensor& k = graph[t.source[1]];
    const Tensor& v = graph[t.source[2]];
    const auto add_copy = [&](const Tensor& x) {
      bytes = saturating_add(round_up(bytes, 128), saturating_multiply(2, x.elements()));
    };
    if (k.type != GgmlType::F16) add_copy(k);
    if (v.type != GgmlType::F16 && !same_memory(graph, t.source[1], t.source[2])) add_copy(v);
  }
  // Rows of quantised matrices are read in steps of 512 elements.
  if (is_quantized(t.type) && t.ne[0] % 512 != 0) {
    bytes = saturating_add(bytes, bytes_of_row(t.type, 512 - t.ne[0] % 512));
  }
  return bytes;
}

// Source: ggml/src/ggml-metal/ggml-metal-ops.cpp, ggml_metal_op_*_extra_*.
int64_t metal_bytes(const Graph& graph, const Tensor& t, int64_t bytes) {
  switch (t.op) {
    case Op::mul_mat_id:
      return bytes + 4 * graph[t.source[0]].ne[2] * (1 + graph[t.source[2]].ne[1]);
    case Op::argsort: return 2 * bytes;
    case Op::top_k: return 8 * graph[t.source[0]].elements();
    case Op::flash_attn: {
      const Tensor& q = graph[t.source[0]];
      const Tensor& k = graph[t.source[1]];
      const Tensor& v = graph[t.source[2]];
      const Tensor& m = graph[t.source[3]];
      bytes += 64 * (k.nb[1] * k.ne[2] * k.ne[3] + v.nb[1] * v.ne[2] * v.ne[3] +
                     2 * m.ne[1] * m.ne[2] * m.ne[3]);
      const bool few = q.ne[1] < 20 && q.ne[0] % 32 == 0;
      const int64_t queries = few ? 1 : 8, keys = few ? 32 : 64;
      bytes +=
          round_up(ceil_div(q.ne[1], queries) * ceil_div(m.ne[0], keys) * m.ne[2] * m.ne[3], 32);
      return bytes + 4 * std::min<int64_t>(q.ne[1], 32) * q.ne[2] * q.ne[3] * 32 * (v.ne[0] + 2);
    }
    default: return bytes;
  }
}

// Rows that an op works on, as the backends count them when they decide to take it over.
int64_t batch_rows(const Tensor& t) {
  switch (t.op) {
    case Op::get_rows: return 0;
    case Op::mul_mat: return t.ne[1];
    case Op::mul_mat_id:
    case Op::rope: return t.ne[2];
    default: return saturating_multiply(saturating_multiply(t.ne[1], t.ne[2]), t.ne[3]);
  }
}

constexpr int64_t kLargeBatch = 32;  // rows from which taking an op over pays

struct BackendName {
  Backend backend;
  std::string_view key;     // in the profile
  std::string_view prefix;  // of device names
};
constexpr BackendName kBackends[] = {
    {Backend::cuda, "cuda", "CUDA"},       {Backend::rocm, "rocm", "ROCm"},
    {Backend::vulkan, "vulkan", "Vulkan"}, {Backend::metal, "metal", "MTL"},
    {Backend::sycl, "sycl", "SYCL"},       {Backend::rpc, "rpc", "RPC"},
    {Backend::cpu, "cpu", "CPU"},
};

const BackendName& names_of(Backend backend) {
  for (const BackendName& b : kBackends) {
    if (b.backend == backend) return b;
  }
  return kBackends[0];
}

int64_t number(const json::Value* object, std::string_view key, int64_t fallback) {
  const json::Value* value = object == nullptr ? nullptr : object->find(key);
  return value != nullptr && value->is_integer() ? value->as_integer() : fallback;
}

bool flag(const json::Value* object, std::string_view key) {
  const json::Value* value = object == nullptr ? nullptr : object->find(key);
  return value != nullptr && value->is_boolean() && value->as_boolean();
}

std::string_view word(const json::Value* object, std::string_view key) {
  const json::Value* value = object == nullptr ? nullptr : object->find(key);
  return value != nullptr && value->is_string() ? std::string_view(value->as_string())
                                                : std::string_view();
}

const json::Value* backend_entry(const json::Value& profile, std::string_view key) {
  const json::Value* all = profile.find("backends");
  return all == nullptr ? nullptr : all->find(key);
}

}  // namespace

void append_key(const BackendProfile& b, std::string& key) {
  for (const int64_t size : {b.alignment, b.largest_buffer}) {
    key += format_integer(size);
    key += ',';
  }
  const bool cuda = b.extra == ExtraBytes::cuda;
  for (const char part : {char(b.offload), char(b.order), char(b.extra), char(b.events),
                          char(b.host_pinned), char(cuda && b.cuda_copies_in_buffer),
                          cuda ? char(attention_class(b.compute_capability)) : char(0)}) {
    key += char('0' + part);
  }
  key += ';';
}

int64_t reserved_bytes(const BackendProfile& backend, const Graph& graph, const Tensor& t) {
  const int64_t bytes = byte_span(t);
  switch (backend.extra) {
    case ExtraBytes::none: return bytes;
    case ExtraBytes::cuda: return cuda_bytes(backend, graph, t, bytes);
    case ExtraBytes::metal: return metal_bytes(graph, t, bytes);
  }
  return bytes;
}

bool takes_over(const BackendProfile& backend, const Graph& /*graph*/, const Tensor& t) {
  switch (backend.offload) {
    case OpOffload::never: return false;
    case OpOffload::large_batches: return batch_rows(t) >= kLargeBatch;
    case OpOffload::large_matmuls:
      return (t.op == Op::mul_mat || t.op == Op::mul_mat_id) && batch_rows(t) >= kLargeBatch;
  }
  return false;
}

void reorder(const BackendProfile& backend, const Graph& graph, std::vector<TensorId>& nodes) {
  switch (backend.order) {
    case NodeOrder::as_built: return;
    case NodeOrder::vulkan: return vulkan_order(graph, nodes);
    case NodeOrder::metal: return metal_order(graph, nodes);
  }
}

BackendProfile device_profile(const json::Value& profile, Backend backend, int index,
                              int compute_capability, const Rules& rules) {
  const BackendName& names = names_of(backend);
  const json::Value* entry = backend_entry(profile, names.key);
  BackendProfile b;
  b.name = std::string(names.prefix) + format_integer(index);
  b.alignment = std::max<int64_t>(1, number(entry, "alignment", 32));
  if (rules.splits_large_buffers) b.largest_buffer = number(entry, "largest_buffer", 0);
  b.events = flag(entry, "events");
  b.host_pinned = flag(entry, "host_pinned");
  // CUDA's and ROCm's went with the build that refuses the others (ggml-org/llama.cpp#24216).
  const bool lost = rules.row_split_refused && flag(entry, "split_buffers_until_refused");
  b.split_buffers = flag(entry, "split_buffers") && !lost;
  b.compute_capability = compute_capability;
  b.cuda_copies_in_buffer = rules.cuda_copies_in_buffer;
  const std::string_view offload = word(entry, "op_offload");
  if (offload == "batches") b.offload = OpOffload::large_batches;
  if (offload == "matmuls") b.offload = OpOffload::large_matmuls;
  const std::string_view extra = word(entry, "extra");
  if (extra == "cuda") b.extra = ExtraBytes::cuda;
  if (extra == "metal") b.extra = ExtraBytes::metal;
  const std::string_view order = word(entry, "order");
  if (order == "vulkan" && rules.vulkan_reorders) b.order = NodeOrder::vulkan;
  if (order == "metal") b.order = NodeOrder::metal;
  if (backend == Backend::vulkan && !rules.vulkan_events) b.events = false;
  if (backend == Backend::metal && !rules.metal_extras) {
    b.offload = OpOffload::never;
    b.extra = ExtraBytes::none;
    b.order = NodeOrder::as_built;
  }
  return b;
}

BackendProfile cpu_profile(const json::Value& profile, Backend backend) {
  BackendProfile b;
  b.name = "CPU";
  // Host buffers follow the alignment of the device's pinned memory.
  b.alignment = std::max<int64_t>(
      1, number(backend_entry(profile, names_of(backend).key), "host_alignment", 32));
  return b;
}

}  // namespace vramwise::engines::llamacpp
