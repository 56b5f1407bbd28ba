#include "engines/llamacpp/graph/builder.h"

#include <algorithm>

namespace vramwise::engines::llamacpp {
namespace {

Extents packed_strides(GgmlType type, const Extents& ne) {
  const int64_t row = bytes_of_row(type, ne[0]);
  const int64_t plane = saturating_multiply(row, ne[1]);
  return {block_bytes(type), row, plane, saturating_multiply(plane, ne[2])};
}

void set_sources(Tensor& t, std::initializer_list<TensorId> sources) {
  for (const TensorId s : sources) t.source[t.sources++] = s;
}

}  // namespace

Graph::Graph() {
  // Room for the largest graphs met (about 6,400 nodes and as many leaves and expansions).
  tensors_.reserve(1 << 14);
  nodes.reserve(1 << 13);
  leaves.reserve(1 << 12);
}

void Graph::clear() {
  tensors_.clear();
  nodes.clear();
  leaves.clear();
}

TensorId Graph::expand(TensorId root) {
  if ((*this)[root].listed) return root;
  (*this)[root].listed = true;
  walk_.push_back({root, 0});
  while (!walk_.empty()) {
    Step& step = walk_.back();
    const Tensor& t = (*this)[step.id];
    bool descended = false;
    while (step.next < t.sources) {
      const TensorId s = t.source[size_t(step.next++)];
      if (!(*this)[s].listed) {
        (*this)[s].listed = true;
        walk_.push_back({s, 0});
        descended = true;
        break;
      }
    }
    if (descended) continue;
    const TensorId done = walk_.back().id;
    walk_.pop_back();
    ((*this)[done].op == Op::none ? leaves : nodes).push_back(done);
  }
  return root;
}

TensorId Graph::make(Op op, GgmlType type, Extents ne, std::initializer_list<TensorId> sources) {
  Tensor& t = tensors_.emplace_back();
  t.op = op;
  t.type = type;
  t.ne = ne;
  t.nb = packed_strides(type, ne);
  set_sources(t, sources);
  return TensorId(tensors_.size()) - 1;
}

TensorId Graph::show(Op op, TensorId shown, Extents ne, Extents nb, int64_t offset,
                     std::initializer_list<TensorId> sources) {
  Tensor& t = tensors_.emplace_back();
  const Tensor& a = (*this)[shown];
  t.op = op;
  t.type = a.type;
  t.ne = ne;
  t.nb = nb;
  t.base = a.base == kNoTensor ? shown : a.base;
  t.offset = a.offset + offset;
  set_sources(t, sources);
  return TensorId(tensors_.size()) - 1;
}

TensorId Graph::view(TensorId a, Extents ne, int64_t nb1, int64_t nb2, int64_t nb3,
                     int64_t offset) {
  return show(Op::view, a, ne, {(*this)[a].nb[0], nb1, nb2, nb3}, offset, {a});
}

TensorId Graph::view_1d(TensorId a, int64_t ne0, int64_t offset) {
  const int64_t row = bytes_of_row((*this)[a].type, ne0);
  return view(a, {ne0, 1, 1, 1}, row, row, row, offset);
}

TensorId Graph::view_2d(TensorId a, int64_t ne0, int64_t ne1, int64_t nb1, int64_t offset) {
  return view(a, {ne0, ne1, 1, 1}, nb1, nb1 * ne1, nb1 * ne1, offset);
}

TensorId Graph::view_3d(TensorId a, int64_t ne0, int64_t ne1, int64_t ne2, int64_t nb1, int64_t nb2,
                        int64_t offset) {
  return view(a, {ne0, ne1, ne2, 1}, nb1, nb2, nb2 * ne2, offset);
}

TensorId Graph::reshape(TensorId a, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
  const int64_t row = bytes_of_row((*this)[a].type, ne0);
  const int64_t plane = saturating_multiply(row, ne1);
  return show(Op::reshape, a, {ne0, ne1, ne2, ne3},
              {(*this)[a].nb[0], row, plane, saturating_multiply(plane, ne2)}, 0, {a});
}

TensorId Graph::permute(TensorId a, size_t p0, size_t p1, size_t p2, size_t p3) {
  const Tensor& t = (*this)[a];
  Extents ne{}, nb{};
  const std::array<size_t, 4> place = {p0, p1, p2, p3};
  for (size_t i = 0; i < 4; ++i) {
    ne[place[i]] = t.ne[i];
    nb[place[i]] = t.nb[i];
  }
  return show(Op::permute, a, ne, nb, 0, {a});
}

TensorId Graph::transpose(TensorId a) {
  const Tensor& t = (*this)[a];
  return show(Op::transpose, a, {t.ne[1], t.ne[0], t.ne[2], t.ne[3]},
              {t.nb[1], t.nb[0], t.nb[2], t.nb[3]}, 0, {a});
}

TensorId Graph::plane(TensorId a, int64_t i) {
  const Tensor& t = (*this)[a];
  const int64_t row = bytes_of_row(t.type, t.ne[0]);
  return view_2d(a, t.ne[0], t.ne[1], row, i * row * t.ne[1]);
}

TensorId Graph::mul_mat(TensorId weight, TensorId x) {
  const int64_t out = (*this)[weight].ne[1];
  const Extents& in = (*this)[x].ne;
  return make(Op::mul_mat, GgmlType::F32, {out, in[1], in[2], in[3]}, {weight, x});
}

TensorId Graph::mul_mat_id(TensorId stack, TensorId x, TensorId ids) {
  return make(Op::mul_mat_id, GgmlType::F32,
              {(*this)[stack].ne[1], (*this)[ids].ne[0], (*this)[x].ne[2], 1}, {stack, x, ids});
}

TensorId Graph::like_first(Op op, std::initializer_list<TensorId> sources) {
  const Tensor& first = (*this)[*sources.begin()];
  return make(op, first.type, first.ne, sources);
}

TensorId Graph::rope(TensorId a, TensorId positions, TensorId factors) {
  if (factors == kNoTensor) return like_first(Op::rope, {a, positions});
  return like_first(Op::rope, {a, positions, factors});
}

TensorId Graph::soft_max(TensorId a, TensorId mask, TensorId sinks) {
  if (mask == kNoTensor) return like_first(Op::soft_max, {a});
  if (sinks == kNoTensor) return like_first(Op::soft_max, {a, mask});
  return like_first(Op::soft_max, {a, mask, sinks});
}

TensorId Graph::glu_halves(TensorId gate_up) {
  Extents ne = (*this)[gate_up].ne;
  ne[0] /= 2;
  return make(Op::glu, (*this)[gate_up].type, ne, {gate_up});
}

TensorId Graph::get_rows(TensorId a, TensorId ids) {
  const Extents& n = (*this)[ids].ne;
  const GgmlType type = (*this)[a].type == GgmlType::I32 ? GgmlType::I32 : GgmlType::F32;
  return make(Op::get_rows, type, {(*this)[a].ne[0], n[0], n[1], n[2]}, {a, ids});
}

TensorId Graph::set_rows(TensorId into, TensorId rows, TensorId ids) {
  return show(Op::set_rows, into, (*this)[into].ne, (*this)[into].nb, 0, {rows, ids, into});
}

TensorId Graph::copy_into(TensorId a, TensorId into) {
  return show(Op::cpy, into, (*this)[into].ne, (*this)[into].nb, 0, {a, into});
}

TensorId Graph::in_place(Op op, TensorId a) {
  return show(op, a, (*this)[a].ne, (*this)[a].nb, 0, {a});
}

TensorId Graph::cont(TensorId a) { return like_first(Op::cont, {a}); }

TensorId Graph::cont_as(TensorId a, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
  return make(Op::cont, (*this)[a].type, {ne0, ne1, ne2, ne3}, {a});
}

TensorId Graph::concat(TensorId a, TensorId b, size_t axis) {
  Extents ne = (*this)[a].ne;
  ne[axis] += (*this)[b].ne[axis];
  return make(Op::concat, (*this)[a].type, ne, {a, b});
}

TensorId Graph::repeat(TensorId a, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
  return make(Op::repeat, (*this)[a].type, {ne0, ne1, ne2, ne3}, {a});
}

TensorId Graph::sum_rows(TensorId a, Op op) {
  Extents ne = (*this)[a].ne;
  ne[0] = 1;
  return make(op, (*this)[a].type, ne, {a});
}

TensorId Graph::pad(TensorId a, Extents ne) { return make(Op::pad, (*this)[a].type, ne, {a}); }

TensorId Graph::argsort_top(TensorId a, int64_t k) {
  const TensorId sorted = make(Op::argsort, GgmlType::I32, (*this)[a].ne, {a});
  const Tensor t = (*this)[sorted];
  return view(sorted, {k, t.ne[1], t.ne[2], t.ne[3]}, t.nb[1], t.nb[2], t.nb[3]);
}

TensorId Graph::flash_attn(TensorId q, TensorId k, TensorId v, TensorId mask, TensorId sinks) {
  const Extents& n = (*this)[q].ne;
  const Extents ne = {(*this)[v].ne[0], n[2], n[1], n[3]};
  if (sinks == kNoTensor) return make(Op::flash_attn, GgmlType::F32, ne, {q, k, v, mask});
  return make(Op::flash_attn, GgmlType::F32, ne, {q, k, v, mask, sinks});
}

}  // namespace vramwise::engines::llamacpp
