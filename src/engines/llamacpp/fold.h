// A model of many alike layers needs the compute buffers of one with few: from one round of its
// pattern of layers to the next, the allocator is left as it was found. Searches, which ask for the
// buffers of one model dozens of times, ask for those of the folded one.
//
// A graph whose layers leave something behind for the end grows from round to round; so one round
// more must need the same bytes before the folded model is believed (Budgeter::plan_of). Not a fact
// about llama.cpp: tests/property/folded_layers_test.cpp holds it against all layers.
#pragma once

#include <vector>

#include "engines/llamacpp/graph/blocks.h"
#include "engines/llamacpp/shape.h"

namespace vramwise::engines::llamacpp {

class FoldedModel {
 public:
  // Leaves so many rounds of every pattern. False, and nothing to ask for, when that leaves no
  // layer out, or where layers use each other's tensors. Calls with the same `placement` lay the
  // same layers of one model on the same devices, so that what was left before is left again; 0:
  // nothing is known of it.
  bool fold(const GraphInput& whole, size_t rounds, size_t placement = 0);

  // The same question about the folded model. Valid until the next fold().
  const GraphInput& input() const { return input_; }

 private:
  bool fold_anew(const GraphInput& whole, size_t rounds);
  void keep(const GraphInput& whole, const std::vector<size_t>& kept);

  size_t placement_ = 0, rounds_ = 0;
  bool folds_ = false;
  Shape shape_;
  WeightTable weights_;
  std::vector<int16_t> layer_device_;
  GraphInput input_;
};

}  // namespace vramwise::engines::llamacpp
