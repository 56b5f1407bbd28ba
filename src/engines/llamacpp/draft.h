// A draft model beside the target: a second model and context, with buffers of its own.
// Source: ggml-org/llama.cpp common/speculative.cpp, tools/server/server-context.cpp.
#pragma once

#include <memory>

#include "engines/llamacpp/budget.h"
#include "engines/llamacpp/memo.h"

namespace vramwise::engines::llamacpp {

class Draft {
 public:
  // `q`, `target`, `rules`, `profile` and `request` are the target's and must outlive it. Errors:
  // the drafter's own options, models without a GGUF form.
  static Result<std::unique_ptr<Draft>> make(const Question& q, const Shape& target,
                                             const Rules& rules, const json::Value& profile,
                                             const Request& request, Notes& notes);

  // What it takes beside a target context of these settings. What lies on devices that the target
  // does not use is kept in `elsewhere`.
  void add_to(Budget& budget, const ContextSettings& target, int64_t train_ctx);

  // Bytes that one more token of a sequence takes in its caches on a device of the plan, at the
  // placement of the last add_to().
  int64_t bytes_per_token(size_t device) const;

  struct Elsewhere {
    size_t device = 0;  // of the hardware
    int64_t model = 0, cache = 0, compute = 0;
  };
  const std::vector<Elsewhere>& elsewhere() const { return elsewhere_; }
  // An estimated head's weights as parts of the likely ones; 1, 1 where they are exact.
  double low() const { return low_; }
  double high() const { return high_; }
  bool is_estimated() const { return !budgeter_; }
  const Shape& shape() const { return budgeter_ ? file_->shape : target_; }

 private:
  Draft(const Shape& target, const Request& request) : target_(target), request_(request) {}
  void add_estimate(Budget& budget, const ContextSettings& context);

  const Shape& target_;
  const Request& request_;
  Rules rules_;
  std::shared_ptr<const ModelFile> file_;
  Request own_;
  std::unique_ptr<Budgeter> budgeter_;  // null: a head that is only estimated
  int64_t head_bytes_ = 0, head_layers_ = 0;
  double low_ = 1, high_ = 1;
  std::vector<Elsewhere> elsewhere_;
  std::vector<int64_t> token_bytes_;  // of each device of the plan; the last is the host
};

}  // namespace vramwise::engines::llamacpp
