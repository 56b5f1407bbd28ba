// The shares of a model's weights that a search meets again and again: they depend on how the ranks
// divide the model and on the kernels, not on the size of the cards.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/rank_weights.h"

namespace vramwise::engines {

class RankMemo final : public Memo {
 public:
  // rank_weights() of the question's model and weights; each share is counted once.
  const RankWeights& weights(const Question& question, const RankLayout& layout,
                             const LoadRules& rules);

 private:
  struct Known {
    RankLayout layout;
    LoadRules rules;
    RankWeights weights;
  };
  std::vector<Known> known_;
};

// The same, remembered where the question has a memo. Only for engines whose memo is a RankMemo.
RankWeights remembered_rank_weights(const Question& question, const RankLayout& layout,
                                    const LoadRules& rules);

}  // namespace vramwise::engines
