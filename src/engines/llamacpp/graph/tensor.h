// The tensors of a compute graph as ggml describes them: extents, strides, sources, what a view
// shows. Plain values in one array; a tensor is named by its index.
// Source: ggml-org/llama.cpp ggml/include/ggml.h, ggml/src/ggml.c.
#pragma once

#include <array>
#include <cstdint>

#include "base/checked.h"
#include "weights/ggml_type.h"

namespace vramwise::engines::llamacpp {

using weights::GgmlType;

// Only what decides about memory is told apart: every activation function is `unary`.
enum class Op : uint8_t {
  none,  // weights, caches, inputs: the leaves
  view,
  reshape,
  permute,
  transpose,
  mul_mat,
  mul_mat_id,
  add,
  add_id,
  sub,
  mul,
  div,
  scale,
  unary,
  sqr,
  sqrt,
  fill,
  rms_norm,
  norm,
  l2_norm,
  rope,
  soft_max,
  glu,
  get_rows,
  set_rows,
  cpy,
  cont,
  concat,
  repeat,
  pad,
  set,
  clamp,
  sum_rows,
  mean,
  argsort,
  top_k,
  cumsum,
  tri,
  diag,
  solve_tri,
  flash_attn,
  lightning_indexer,
  ssm_conv,
  ssm_scan,
  gated_delta_net,
  rwkv_wkv7,
};

// Shows the memory of its source without any work.
constexpr bool is_view(Op op) { return op >= Op::view && op <= Op::transpose; }

// The result may take over the memory of a source of the same type, extents and strides.
// Source: ggml/src/ggml-alloc.c, ggml_op_can_inplace.
constexpr bool can_work_in_place(Op op) {
  switch (op) {
    case Op::add:
    case Op::add_id:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::scale:
    case Op::unary:
    case Op::sqr:
    case Op::sqrt:
    case Op::fill:
    case Op::rms_norm:
    case Op::rope:
    case Op::soft_max: return true;
    default: return false;
  }
}

using TensorId = int32_t;
inline constexpr TensorId kNoTensor = -1;
inline constexpr int kMaxSources = 7;

using Extents = std::array<int64_t, 4>;

struct Tensor {
  Extents ne{};  // elements along each axis, the contiguous one first
  Extents nb{};  // bytes from one element (row, plane, …) to the next
  std::array<TensorId, kMaxSources> source{};
  TensorId base = kNoTensor;  // the tensor whose memory a view finally shows
  int64_t offset = 0;         // of a view inside its base
  int32_t layer = -1;         // of ops that must run on their layer's device
  int16_t device = -1;        // where it is computed (or was pinned before scheduling)
  int16_t memory = -1;        // device of memory that exists already: weights and caches
  Op op = Op::none;
  GgmlType type = GgmlType::F32;
  uint8_t sources = 0;
  bool input = false;   // filled by the host before the graph runs
  bool output = false;  // read afterwards: its memory is never given away
  bool weight = false;
  bool listed = false;  // already among the nodes or leaves of its graph

  int64_t elements() const {
    return saturating_multiply(saturating_multiply(ne[0], ne[1]),
                               saturating_multiply(ne[2], ne[3]));
  }
};

// Bytes of n elements of a type; n is a multiple of its block.
inline int64_t bytes_of_row(GgmlType type, int64_t n) {
  switch (type) {
    case GgmlType::F32:
    case GgmlType::I32: return saturating_multiply(n, 4);
    case GgmlType::F16:
    case GgmlType::BF16: return saturating_multiply(n, 2);
    case GgmlType::I64: return saturating_multiply(n, 8);
    default: return weights::row_bytes(weights::info(type), n).count();
  }
}

inline int64_t block_elements(GgmlType type) {
  switch (type) {
    case GgmlType::F32:
    case GgmlType::I32:
    case GgmlType::F16:
    case GgmlType::BF16:
    case GgmlType::I64: return 1;
    default: return weights::info(type).block_elements;
  }
}

inline int64_t block_bytes(GgmlType type) { return bytes_of_row(type, block_elements(type)); }
inline bool is_quantized(GgmlType type) { return block_elements(type) > 1; }

// From the first to the last byte; 0 when any extent is 0. Source: ggml.c, ggml_nbytes.
inline int64_t byte_span(const Tensor& t) {
  for (const int64_t extent : t.ne) {
    if (extent <= 0) return 0;
  }
  const int64_t block = block_elements(t.type);
  int64_t bytes =
      block == 1 ? saturating_add(block_bytes(t.type), saturating_multiply(t.ne[0] - 1, t.nb[0]))
                 : saturating_multiply(t.ne[0], t.nb[0]) / block;
  for (size_t i = 1; i < 4; ++i) {
    bytes = saturating_add(bytes, saturating_multiply(t.ne[i] - 1, t.nb[i]));
  }
  return bytes;
}

inline bool is_contiguous(const Tensor& t) {
  int64_t expected = block_bytes(t.type);
  for (size_t i = 0; i < 4; ++i) {
    if (t.ne[i] != 1 && t.nb[i] != expected) return false;
    expected = i == 0 ? bytes_of_row(t.type, t.ne[0]) : saturating_multiply(expected, t.ne[i]);
  }
  return true;
}

}  // namespace vramwise::engines::llamacpp
