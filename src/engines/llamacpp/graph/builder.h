// Builds a compute graph op by op. Every function answers the index of a new tensor; `expand` puts
// a tensor and all it needs on the lists, in the order ggml's depth-first walk meets them.
//
// The arena is reused: clear() keeps the memory, so that re-planning allocates nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "engines/llamacpp/graph/tensor.h"

namespace vramwise::engines::llamacpp {

class Graph {
 public:
  Graph();
  void clear();

  Tensor& operator[](TensorId id) { return tensors_[size_t(id)]; }
  const Tensor& operator[](TensorId id) const { return tensors_[size_t(id)]; }
  size_t size() const { return tensors_.size(); }

  // In the order of the walk. Source: ggml.c, ggml_build_forward_expand.
  std::vector<TensorId> nodes;
  std::vector<TensorId> leaves;
  TensorId expand(TensorId id);

  // A tensor as it is given (copies between devices).
  TensorId add_tensor(const Tensor& t) { return push(t); }
  // A tensor with its own memory, packed.
  TensorId make(Op op, GgmlType type, Extents ne, std::initializer_list<TensorId> sources = {});
  // A tensor that shows memory of `shown` (its base) with given strides.
  TensorId show(Op op, TensorId shown, Extents ne, Extents nb, int64_t offset,
                std::initializer_list<TensorId> sources);

  // Views.
  TensorId view(TensorId a, Extents ne, int64_t nb1, int64_t nb2, int64_t nb3, int64_t offset = 0);
  TensorId view_1d(TensorId a, int64_t ne0, int64_t offset = 0);
  TensorId view_2d(TensorId a, int64_t ne0, int64_t ne1, int64_t nb1, int64_t offset = 0);
  TensorId view_3d(TensorId a, int64_t ne0, int64_t ne1, int64_t ne2, int64_t nb1, int64_t nb2,
                   int64_t offset = 0);
  TensorId reshape(TensorId a, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1);
  // Axis i of `a` becomes axis p_i of the result.
  TensorId permute(TensorId a, size_t p0, size_t p1, size_t p2, size_t p3);
  TensorId transpose(TensorId a);
  // Plane i of a [n0, n1, …] tensor, as [n0, n1].
  TensorId plane(TensorId a, int64_t i);

  // Work.
  TensorId mul_mat(TensorId weight, TensorId x);
  TensorId mul_mat_id(TensorId stack, TensorId x, TensorId ids);
  // An op whose result has the shape of its first source.
  TensorId like_first(Op op, std::initializer_list<TensorId> sources);
  TensorId add(TensorId a, TensorId b) { return like_first(Op::add, {a, b}); }
  TensorId sub(TensorId a, TensorId b) { return like_first(Op::sub, {a, b}); }
  TensorId mul(TensorId a, TensorId b) { return like_first(Op::mul, {a, b}); }
  TensorId div(TensorId a, TensorId b) { return like_first(Op::div, {a, b}); }
  TensorId add_id(TensorId a, TensorId b, TensorId ids) {
    return like_first(Op::add_id, {a, b, ids});
  }
  TensorId scale(TensorId a) { return like_first(Op::scale, {a}); }
  TensorId unary(TensorId a) { return like_first(Op::unary, {a}); }
  TensorId sqr(TensorId a) { return like_first(Op::sqr, {a}); }
  TensorId sqrt(TensorId a) { return like_first(Op::sqrt, {a}); }
  TensorId fill(TensorId a) { return like_first(Op::fill, {a}); }
  TensorId rms_norm(TensorId a) { return like_first(Op::rms_norm, {a}); }
  TensorId l2_norm(TensorId a) { return like_first(Op::l2_norm, {a}); }
  // kNoTensor stands for no frequency factors.
  TensorId rope(TensorId a, TensorId positions, TensorId factors = kNoTensor);
  TensorId soft_max(TensorId a, TensorId mask = kNoTensor, TensorId sinks = kNoTensor);
  TensorId glu(TensorId gate, TensorId up) { return like_first(Op::glu, {gate, up}); }
  TensorId glu_halves(TensorId gate_up);  // gate and up side by side in one row
  TensorId get_rows(TensorId a, TensorId ids);
  TensorId set_rows(TensorId into, TensorId rows, TensorId ids);
  TensorId copy_into(TensorId a, TensorId into);
  TensorId in_place(Op op, TensorId a);
  TensorId cont(TensorId a);
  TensorId cont_as(TensorId a, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1);
  TensorId concat(TensorId a, TensorId b, size_t axis);
  TensorId repeat(TensorId a, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1, int64_t ne3 = 1);
  TensorId sum_rows(TensorId a, Op op = Op::sum_rows);
  TensorId pad(TensorId a, Extents ne);
  // Indices of the k largest of each row: a full sort, then a view.
  TensorId argsort_top(TensorId a, int64_t k);
  TensorId flash_attn(TensorId q, TensorId k, TensorId v, TensorId mask, TensorId sinks);

 private:
  TensorId push(const Tensor& t) {
    tensors_.push_back(t);
    return TensorId(tensors_.size()) - 1;
  }

  std::vector<Tensor> tensors_;
  struct Step {
    TensorId id;
    int next;
  };
  std::vector<Step> walk_;
};

}  // namespace vramwise::engines::llamacpp
