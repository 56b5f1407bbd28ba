#include "engines/llamacpp/allocator.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 62;
constexpr size_t kMostChunks = 16;  // GGML_VBUFFER_MAX_CHUNKS
// Larger tensors are impossible on any machine; the cap keeps sums of addresses in range.
constexpr int64_t kLargestTensor = int64_t{1} << 54;

}  // namespace

void BufferPlan::reset(int64_t alignment, int64_t largest) {
  alignment_ = alignment;
  largest_ = largest > 0 ? largest : kUnlimited;
  for (size_t i = 0; i < used_chunks_; ++i) {
    chunks_[i].holes.clear();
    chunks_[i].top = 0;
  }
  used_chunks_ = 0;
}

BufferPlan::Address BufferPlan::allocate(int64_t size) {
  size = align(size);
  int32_t chunk = -1;
  size_t hole = 0;
  // Holes first: in each chunk the smallest that is large enough; later chunks win.
  for (size_t c = 0; c < used_chunks_; ++c) {
    const std::vector<Hole>& holes = chunks_[c].holes;
    int64_t best = kInt64Max;
    for (size_t i = 0; i + 1 < holes.size(); ++i) {
      if (holes[i].size >= size && holes[i].size <= best) {
        best = holes[i].size;
        chunk = int32_t(c);
        hole = i;
      }
    }
  }
  if (chunk < 0) {
    // Then open ends: the least growth, else the tightest fit below the mark.
    int64_t best = kInt64Min;
    for (size_t c = 0; c < used_chunks_; ++c) {
      const std::vector<Hole>& holes = chunks_[c].holes;
      if (holes.empty()) continue;
      const int64_t left = chunks_[c].top - holes.back().offset - size;
      if (holes.back().size >= size && ((best < 0 && left > best) || (left >= 0 && left < best))) {
        best = left;
        chunk = int32_t(c);
        hole = holes.size() - 1;
      }
    }
  }
  if (chunk < 0) {
    if (used_chunks_ == chunks_.size()) chunks_.emplace_back();
    Chunk& fresh = chunks_[used_chunks_];
    const bool last = used_chunks_ + 1 == kMostChunks;
    fresh.holes.push_back({0, last ? kUnlimited : std::max(size, largest_)});
    chunk = int32_t(used_chunks_++);
    hole = 0;
  }
  Chunk& c = chunks_[size_t(chunk)];
  Hole& h = c.holes[hole];
  const int64_t at = h.offset;
  h.offset += size;
  h.size -= size;
  if (h.size == 0) c.holes.erase(c.holes.begin() + int64_t(hole));
  c.top = std::max(c.top, at + size);
  return {chunk, at};
}

void BufferPlan::release(Address at, int64_t size) {
  size = align(size);
  std::vector<Hole>& holes = chunks_[size_t(at.chunk)].holes;
  for (size_t i = 0; i < holes.size(); ++i) {
    Hole& h = holes[i];
    if (h.offset + h.size == at.offset) {
      h.size += size;
      if (i + 1 < holes.size() && h.offset + h.size == holes[i + 1].offset) {
        h.size += holes[i + 1].size;
        holes.erase(holes.begin() + int64_t(i) + 1);
      }
      return;
    }
    if (at.offset + size == h.offset) {
      h.offset = at.offset;
      h.size += size;
      if (i > 0 && holes[i - 1].offset + holes[i - 1].size == at.offset) {
        holes[i - 1].size += h.size;
        holes.erase(holes.begin() + int64_t(i));
      }
      return;
    }
  }
  const auto place = std::find_if(holes.begin(), holes.end(),
                                  [&](const Hole& h) { return h.offset >= at.offset; });
  holes.insert(place, {at.offset, size});
}

int64_t BufferPlan::high_water() const {
  int64_t sum = 0;
  for (size_t i = 0; i < used_chunks_; ++i) sum = saturating_add(sum, chunks_[i].top);
  return sum;
}

void Allocator::give(TensorId id) {
  State& state = state_[size_t(id)];
  const Tensor& t = (*graph_)[id];
  if (state.held || t.base != kNoTensor || t.memory >= 0) return;
  state.held = true;
  if (can_work_in_place(t.op)) {
    for (size_t i = 0; i < t.sources; ++i) {
      const TensorId source = t.source[i];
      State& s = state_[size_t(source)];
      const Tensor& p = (*graph_)[source];
      // A view never qualifies: only a tensor that owns memory and is used here for the last time.
      if (!s.held || p.output || s.uses != 1 || s.views != 0 || p.type != t.type || p.ne != t.ne ||
          p.nb != t.nb) {
        continue;
      }
      state.buffer = s.buffer;
      state.at = s.at;
      s.held = false;
      BufferPlan& buffer = buffers_[size_t(s.buffer)];
      const BackendProfile& backend = backends_[size_t(s.buffer)];
      state.bytes = std::min(kLargestTensor, reserved_bytes(backend, *graph_, t));
      const int64_t had = buffer.align(s.bytes), needs = buffer.align(state.bytes);
      if (had > needs) buffer.release({s.at.chunk, s.at.offset + needs}, had - needs);
      return;
    }
  }
  state.buffer = t.device;
  state.bytes = std::min(kLargestTensor, reserved_bytes(backends_[size_t(t.device)], *graph_, t));
  state.at = buffers_[size_t(t.device)].allocate(state.bytes);
}

void Allocator::take_back(TensorId id) {
  const Tensor& t = (*graph_)[id];
  if (t.output) return;
  State& state = state_[size_t(id)];
  buffers_[size_t(state.buffer)].release(state.at, state.bytes);
  state.held = false;
}

std::vector<int64_t> Allocator::run(const Graph& graph, std::span<const TensorId> leaves,
                                    std::span<const TensorId> nodes,
                                    std::span<const BackendProfile> backends) {
  graph_ = &graph;
  backends_ = backends;
  state_.assign(graph.size(), {});
  buffers_.resize(backends.size());
  for (size_t i = 0; i < backends.size(); ++i) {
    buffers_[i].reset(backends[i].alignment, backends[i].largest_buffer);
  }

  for (const TensorId leaf : leaves) give(leaf);
  for (const TensorId id : nodes) {
    const Tensor& t = graph[id];
    if (t.base != kNoTensor && t.op != Op::none) ++state_[size_t(t.base)].views;
    if (t.input) give(id);
    for (size_t i = 0; i < t.sources; ++i) {
      ++state_[size_t(t.source[i])].uses;
      if (graph[t.source[i]].input) give(t.source[i]);
    }
  }
  for (const TensorId id : nodes) {
    const Tensor& t = graph[id];
    for (size_t i = 0; i < t.sources; ++i) give(t.source[i]);
    give(id);
    for (size_t i = 0; i < t.sources; ++i) {
      const TensorId source = t.source[i];
      State& s = state_[size_t(source)];
      --s.uses;
      if (s.uses != 0 || s.views != 0) continue;
      const TensorId base = graph[source].base;
      if (base != kNoTensor) {
        State& shown = state_[size_t(base)];
        --shown.views;
        if (shown.views == 0 && shown.uses == 0 && shown.held) take_back(base);
      } else if (s.held) {
        take_back(source);
      }
    }
  }

  std::vector<int64_t> bytes;
  for (const BufferPlan& buffer : buffers_) bytes.push_back(buffer.high_water());
  return bytes;
}

}  // namespace vramwise::engines::llamacpp
