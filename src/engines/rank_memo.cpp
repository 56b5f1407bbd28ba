#include "engines/rank_memo.h"

#include <algorithm>

namespace vramwise::engines {
namespace {

// More than the layouts and kernels of any search; bounds the memory of endless ones.
constexpr size_t kMostKnown = 512;

}  // namespace

const RankWeights& RankMemo::weights(const Question& question, const RankLayout& layout,
                                     const LoadRules& rules) {
  const auto same = [&](const Known& k) { return k.layout == layout && k.rules == rules; };
  const auto at = std::find_if(known_.begin(), known_.end(), same);
  if (at != known_.end()) return at->weights;
  if (known_.size() >= kMostKnown) known_.clear();
  known_.push_back(
      {layout, rules, rank_weights(*question.model, *question.weights, layout, rules)});
  return known_.back().weights;
}

RankWeights remembered_rank_weights(const Question& question, const RankLayout& layout,
                                    const LoadRules& rules) {
  auto* memo = static_cast<RankMemo*>(question.memo);
  return memo != nullptr ? memo->weights(question, layout, rules)
                         : rank_weights(*question.model, *question.weights, layout, rules);
}

}  // namespace vramwise::engines
