// How long prompts and answers are: a distribution with a name, drawn or summed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "json/reader.h"
#include "workload/random.h"
#include "workload/source.h"
#include "workload/trace.h"

namespace vramwise::workload {

struct Pair {
  int32_t prompt = 1;
  int32_t output = 1;
};

// One side of a request: prompt or answer.
struct Side {
  enum class Kind { uniform, lognormal, quantiles } kind = Kind::uniform;
  double low = 1, high = 1;                       // uniform, whole numbers, both included
  double log_median = 0, sigma = 0;               // lognormal
  std::vector<std::pair<double, double>> points;  // quantiles: share, ln(length); linear between
  int64_t most = kMaxPrompt;
  // The length below which the share u lies.
  int32_t at(double u) const;
};

class Lengths {
 public:
  // The "lengths" of a request; a trace comes from "trace" beside it (trace.h). Errors carry the
  // place; not_found for an unknown preset.
  static Result<Lengths> read(const json::Reader& from, const Trace* trace, Notes& notes);
  static Lengths fixed(int32_t prompt, int32_t output);

  // A request of this distribution.
  Pair draw(Random& random) const;
  // `count` pairs that stand for the distribution (a stratified sample, or the pairs themselves).
  const std::vector<Pair>& sample() const { return sample_; }
  bool in_given_order() const { return in_order_; }
  bool is_sample() const { return from_pairs_; }
  int64_t longest_output() const { return longest_output_; }
  // Requests whose sum is above the limit are cut (the answer first). Returns their share.
  double clip(int64_t max_tokens);

  const std::string& name() const { return name_; }      // "chat", "lognormal", the trace's name
  const std::string& source() const { return source_; }  // of a preset
  double gap_cv() const { return gap_cv_; }              // of the preset's own arrivals; 0 unknown
  // Text that requests share: tokens from the start, spread over that many groups.
  int64_t shared_tokens() const { return shared_tokens_; }
  int64_t groups() const { return groups_; }
  // Share of the prompt tokens that a prefix cache holds, when only that is known.
  double hit_share() const { return hit_share_; }

  // Means and moments of the sample.
  double mean_prompt() const { return mean_prompt_; }
  double mean_output() const { return mean_output_; }
  // q-quantile of prompt, output or their sum.
  int64_t quantile_prompt(double q) const { return nearest(prompts_, q); }
  int64_t quantile_output(double q) const { return nearest(outputs_, q); }
  int64_t quantile_total(double q) const { return nearest(totals_, q); }
  // Distribution-free 95 % interval of quantile_total from the order statistics of `rows`.
  std::pair<int64_t, int64_t> total_interval(double q) const;
  // How many requests the figures rest on; 0: a formula, not observations.
  int64_t rows() const { return rows_; }

 private:
  void finish();
  static int64_t nearest(const std::vector<int64_t>& sorted, double q);

  std::string name_, source_;
  // The answer of a prompt at share u of all prompts.
  const Side& answer_to(double u) const;

  Side prompt_, output_;
  // Answers that depend on the prompt: the sides of prompts up to a share, rising; empty: output_.
  std::vector<std::pair<double, Side>> outputs_by_prompt_;
  double copula_ = 0;  // correlation of the normals behind both sides
  std::vector<Pair> sample_;
  bool from_pairs_ = false;  // draw from sample_ instead of the sides
  bool in_order_ = false;
  int64_t max_total_ = 0;  // 0: none
  int64_t rows_ = 0;
  int64_t shared_tokens_ = 0, groups_ = 1;
  double hit_share_ = 0, gap_cv_ = 0;
  int64_t longest_output_ = 1;
  double mean_prompt_ = 1, mean_output_ = 1;
  std::vector<int64_t> prompts_, outputs_, totals_;  // sorted
};

}  // namespace vramwise::workload
