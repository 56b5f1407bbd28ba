#include "workload/lengths.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/catalog.h"
#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

// Pairs that stand for a distribution in sums: the error of a mean is far below the noise of a run.
constexpr size_t kStrata = 16384;
constexpr size_t kMaxPairs = 4'000'000;
constexpr double kZ95 = 1.6448536269514722;

Result<std::pair<double, double>> median_and_tail(const json::Reader& from, int64_t most) {
  TRY_ASSIGN(const auto p50, from.optional_number({"p50"}, 1, double(most)));
  TRY_ASSIGN(const auto p95, from.optional_number({"p95"}, 1, double(most)));
  if (!p50 || !p95) {
    return fail(from.error(ErrorCode::missing_field, "a lognormal length has p50 and p95")
                    .hint("write {\"p50\":1020,\"p95\":4083}"));
  }
  if (*p95 < *p50) {
    return fail(from.error(ErrorCode::inconsistent, "p95 is below p50"));
  }
  return std::pair(*p50, *p95);
}

Result<Side> read_quantiles(const json::Reader& from, int64_t most) {
  Side side;
  side.kind = Side::Kind::quantiles;
  TRY_ASSIGN(const auto points, from.items());
  for (const json::Reader& point : points) {
    TRY_ASSIGN(const auto pair, point.items());
    if (pair.size() != 2) {
      return fail(point.error(ErrorCode::invalid_input, "a quantile is [share, tokens]"));
    }
    TRY_ASSIGN(const double share, pair[0].number(0, 1));
    TRY_ASSIGN(const double tokens, pair[1].number(1, double(most)));
    const double log_tokens = log_of(tokens);
    if (!side.points.empty() &&
        (share <= side.points.back().first || log_tokens < side.points.back().second)) {
      return fail(point.error(ErrorCode::inconsistent, "quantiles must rise"));
    }
    side.points.emplace_back(share, log_tokens);
  }
  if (side.points.size() < 2 || side.points.front().first != 0 || side.points.back().first != 1) {
    return fail(from.error(ErrorCode::invalid_input,
                           "quantiles go from share 0 to share 1, two points at least"));
  }
  return side;
}

Result<Side> read_side(const json::Reader& lengths, std::string_view kind, std::string_view key,
                       int64_t most) {
  TRY_ASSIGN(const json::Reader from, lengths.require({key}));
  Side side;
  if (kind == "fixed") {
    TRY_ASSIGN(const int64_t n, from.integer(1, most));
    side.low = side.high = double(n);
  } else if (kind == "uniform") {
    TRY_ASSIGN(const auto ends, from.items());
    if (ends.size() != 2) {
      return fail(from.error(ErrorCode::invalid_input, "a uniform length is [least, most]"));
    }
    TRY_ASSIGN(const int64_t least, ends[0].integer(1, most));
    TRY_ASSIGN(const int64_t largest, ends[1].integer(least, most));
    side.low = double(least);
    side.high = double(largest);
  } else if (kind == "lognormal") {
    side.kind = Side::Kind::lognormal;
    TRY_ASSIGN(const auto shape, median_and_tail(from, most));
    side.log_median = log_of(shape.first);
    side.sigma = (log_of(shape.second) - side.log_median) / kZ95;
  } else {
    TRY_ASSIGN(side, read_quantiles(from, most));
  }
  side.most = most;
  TRY_ASSIGN(const int64_t cap,
             lengths.integer_or({key == "prompt" ? "max_prompt" : "max_output"}, most, 1, most));
  side.most = cap;
  return side;
}

}  // namespace

int32_t Side::at(double u) const {
  double x = 1;
  switch (kind) {
    case Kind::uniform: x = low + double(int64_t(u * (high - low + 1))); break;
    case Kind::lognormal: x = exp_of(log_median + sigma * inverse_normal(u)); break;
    case Kind::quantiles: {
      size_t i = 1;
      while (i + 1 < points.size() && points[i].first < u) ++i;
      const auto& [p0, l0] = points[i - 1];
      const auto& [p1, l1] = points[i];
      const double part = (u - p0) / (p1 - p0);
      x = exp_of(l0 + (l1 - l0) * std::clamp(part, 0.0, 1.0));
      break;
    }
  }
  if (x > double(most)) return int32_t(most);
  return int32_t(std::max<int64_t>(1, round_of(x)));
}

Lengths Lengths::fixed(int32_t prompt, int32_t output) {
  Lengths l;
  l.name_ = "fixed";
  l.prompt_.low = l.prompt_.high = double(prompt);
  l.output_.low = l.output_.high = double(output);
  l.sample_ = {{prompt, output}};
  l.finish();
  return l;
}

Result<Lengths> Lengths::read(const json::Reader& given, const Trace* trace, Notes& notes) {
  if (!given.is_object()) {
    return fail(given.error(ErrorCode::invalid_input, "'lengths' must be an object")
                    .hint("write \"lengths\":{\"kind\":\"preset\",\"name\":\"chat\"}"));
  }
  Lengths l;
  TRY_ASSIGN(std::string kind, given.require_string({"kind"}));
  l.name_ = kind;
  json::Value preset;
  std::optional<json::Reader> from = given;
  if (kind == "preset") {
    TRY_ASSIGN(const std::string name, given.require_string({"name"}));
    auto entry = catalog::find(catalog::Kind::workload, name);
    if (!entry) {
      Error error = entry.error();
      std::vector<std::string> known;
      for (const std::string_view id : catalog::ids(catalog::Kind::workload)) {
        known.emplace_back(id);
      }
      error.hints.push_back("presets: " + join(known, ", "));
      return fail(std::move(error).at(given.where()));
    }
    preset = std::move(entry->value);
    l.name_ = entry->id;
    const json::Reader whole(preset, "catalog/workloads/" + entry->id + ".json");
    TRY_ASSIGN(l.source_, whole.require_string({"source"}));
    TRY_ASSIGN(l.rows_, whole.integer_or({"requests"}, 0));
    if (const auto arrivals = whole.find("arrivals")) {
      TRY_ASSIGN(const auto cv, arrivals->optional_number({"gap_cv"}, 0, 1000));
      l.gap_cv_ = cv.value_or(0);
    }
    TRY_ASSIGN(const bool estimate, whole.boolean_or({"estimate"}, false));
    if (estimate) {
      notes.assume("lengths_estimated",
                   "the shape of '" + l.name_ + "' is an estimate, not measured", l.source_);
    }
    TRY_ASSIGN(from, whole.require({"lengths"}));
    TRY_ASSIGN(kind, from->require_string({"kind"}));
  }
  if (kind == "samples") {
    TRY_ASSIGN(const json::Reader pairs, from->require({"pairs"}));
    TRY_ASSIGN(const auto items, pairs.items());
    if (items.empty() || items.size() > kMaxPairs) {
      return fail(pairs.error(ErrorCode::invalid_input, "give 1 to 4,000,000 pairs"));
    }
    for (const json::Reader& item : items) {
      TRY_ASSIGN(const auto pair, item.items());
      if (pair.size() != 2) {
        return fail(item.error(ErrorCode::invalid_input, "a pair is [prompt, output]"));
      }
      TRY_ASSIGN(const int64_t prompt, pair[0].integer(1, kMaxPrompt));
      TRY_ASSIGN(const int64_t output, pair[1].integer(1, kMaxOutput));
      l.sample_.push_back({int32_t(prompt), int32_t(output)});
    }
    TRY_ASSIGN(const auto order, from->optional_string({"order"}));
    l.in_order_ = order.value_or("") == "as_given";
    l.from_pairs_ = true;
    l.rows_ = int64_t(l.sample_.size());
  } else if (kind == "trace") {
    if (trace == nullptr || trace->rows.empty()) {
      return fail(given.error(ErrorCode::missing_field, "lengths of kind 'trace' without a trace")
                      .hint("give the file's text as workload.trace.text"));
    }
    for (const TraceRow& row : trace->rows) l.sample_.push_back({row.prompt, row.output});
    l.name_ = trace->name;
    l.from_pairs_ = true;
    l.rows_ = int64_t(l.sample_.size());
  } else if (kind == "fixed" || kind == "uniform" || kind == "lognormal" || kind == "quantiles") {
    TRY_ASSIGN(l.prompt_, read_side(*from, kind, "prompt", kMaxPrompt));
    TRY_ASSIGN(const json::Reader output, from->require({"output"}));
    if (kind == "quantiles" && output.value().is_array() && !output.value().as_array().empty() &&
        output.value().as_array().front().is_object()) {
      TRY_ASSIGN(const auto parts, output.items());
      for (const json::Reader& part : parts) {
        TRY_ASSIGN(const auto to, part.optional_number({"to"}, 0, 1));
        TRY_ASSIGN(Side side, read_side(part, kind, "output", kMaxOutput));
        const double before = l.outputs_by_prompt_.empty() ? 0 : l.outputs_by_prompt_.back().first;
        if (!to || *to <= before) {
          return fail(
              part.error(ErrorCode::inconsistent, "the shares 'to' must be there and rise"));
        }
        l.outputs_by_prompt_.emplace_back(*to, std::move(side));
      }
      if (l.outputs_by_prompt_.back().first != 1) {
        return fail(output.error(ErrorCode::invalid_input, "the last share 'to' must be 1"));
      }
    } else {
      TRY_ASSIGN(l.output_, read_side(*from, kind, "output", kMaxOutput));
    }
    TRY_ASSIGN(const auto rho, from->optional_number({"correlation"}, -1, 1));
    // Spearman's coefficient of a pair of normals with correlation r is 6/pi asin(r/2).
    l.copula_ = 2 * sin_of(3.14159265358979323846 * rho.value_or(0) / 6);
  } else {
    return fail(
        given.error(ErrorCode::not_found, "unknown kind of lengths '" + kind.substr(0, 60) + "'")
            .hint("kinds: fixed, uniform, lognormal, quantiles, samples, preset, trace"));
  }
  // What is said beside a preset or a trace holds for it too.
  TRY_ASSIGN(const int64_t max_prompt, given.integer_or({"max_prompt"}, kMaxPrompt, 1, kMaxPrompt));
  TRY_ASSIGN(const int64_t max_output, given.integer_or({"max_output"}, kMaxOutput, 1, kMaxOutput));
  l.prompt_.most = std::min(l.prompt_.most, max_prompt);
  l.output_.most = std::min(l.output_.most, max_output);
  for (auto& [to, side] : l.outputs_by_prompt_) side.most = std::min(side.most, max_output);
  for (Pair& pair : l.sample_) {
    pair.prompt = int32_t(std::min<int64_t>(pair.prompt, max_prompt));
    pair.output = int32_t(std::min<int64_t>(pair.output, max_output));
  }
  if (const auto prefix = given.find("prefix")) {
    TRY_ASSIGN(l.shared_tokens_, prefix->require_integer({"shared_tokens"}, 1, kMaxPrompt));
    TRY_ASSIGN(l.groups_, prefix->integer_or({"groups"}, 1, 1, 1 << 20));
  }
  TRY_ASSIGN(const auto hits, given.optional_number({"hit_share"}, 0, 0.99));
  l.hit_share_ = hits.value_or(0);
  if (l.hit_share_ > 0) {
    if (l.shared_tokens_ > 0) {
      return fail(given
                      .error(ErrorCode::inconsistent,
                             "'prefix' and 'hit_share' both say what a prefix cache holds")
                      .hint("'prefix' where the shared text is known, 'hit_share' where only the "
                            "measured ratio is"));
    }
    notes.assume("hit_share",
                 "prompt tokens found in the prefix cache are not computed; their blocks count in "
                 "full for everybody, because a ratio does not say who runs beside whom");
  }
  if (!l.from_pairs_) {
    // Every stratum of the prompt once, answers by the copula, in an order of no meaning.
    Random random(0x6c656e67746873, Stream::lengths);
    const size_t count = kStrata;
    std::vector<uint32_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = uint32_t(i);
    for (size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    const double rest = square_root(1 - l.copula_ * l.copula_);
    l.sample_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const double u = (double(i) + 0.5) / double(count);
      double v = (double(order[i]) + 0.5) / double(count);
      if (l.copula_ != 0) {
        v = normal_cdf(l.copula_ * inverse_normal(u) + rest * inverse_normal(v));
      }
      l.sample_.push_back({l.prompt_.at(u), l.answer_to(u).at(v)});
    }
    for (size_t i = count - 1; i > 0; --i) std::swap(l.sample_[i], l.sample_[random.below(i + 1)]);
  }
  l.finish();
  return l;
}

Pair Lengths::draw(Random& random) const {
  if (from_pairs_ || copula_ != 0) return sample_[random.below(sample_.size())];
  const double u = random.uniform();
  Pair pair{prompt_.at(u), answer_to(u).at(random.uniform())};
  if (max_total_ > 0 && int64_t{pair.prompt} + pair.output > max_total_) {
    pair.prompt = int32_t(std::min<int64_t>(pair.prompt, max_total_ - 1));
    pair.output = int32_t(std::max<int64_t>(1, max_total_ - pair.prompt));
  }
  return pair;
}

const Side& Lengths::answer_to(double u) const {
  if (outputs_by_prompt_.empty()) return output_;
  size_t i = 0;
  while (i + 1 < outputs_by_prompt_.size() && outputs_by_prompt_[i].first < u) ++i;
  return outputs_by_prompt_[i].second;
}

double Lengths::clip(int64_t max_tokens) {
  if (max_tokens < 2) return 0;
  max_total_ = max_tokens;
  int64_t cut = 0;
  for (Pair& pair : sample_) {
    if (int64_t{pair.prompt} + pair.output <= max_tokens) continue;
    ++cut;
    pair.prompt = int32_t(std::min<int64_t>(pair.prompt, max_tokens - 1));
    pair.output = int32_t(std::min<int64_t>(pair.output, max_tokens - pair.prompt));
  }
  const double share = double(cut) / double(sample_.size());
  if (cut > 0) finish();
  return share;
}

void Lengths::finish() {
  prompts_.clear();
  outputs_.clear();
  totals_.clear();
  double prompt = 0;
  double output = 0;
  for (const Pair& pair : sample_) {
    prompts_.push_back(pair.prompt);
    outputs_.push_back(pair.output);
    totals_.push_back(int64_t{pair.prompt} + pair.output);
    prompt += pair.prompt;
    output += pair.output;
  }
  std::sort(prompts_.begin(), prompts_.end());
  std::sort(outputs_.begin(), outputs_.end());
  std::sort(totals_.begin(), totals_.end());
  mean_prompt_ = prompt / double(sample_.size());
  mean_output_ = output / double(sample_.size());
  longest_output_ = outputs_.back();
  if (!from_pairs_ && copula_ == 0) {
    // A draw may go beyond the sample.
    for (const auto& [to, side] : outputs_by_prompt_) {
      longest_output_ = std::max<int64_t>(longest_output_, side.at(1 - 1e-16));
    }
    if (outputs_by_prompt_.empty()) {
      longest_output_ = std::max<int64_t>(longest_output_, output_.at(1 - 1e-16));
    }
  }
}

int64_t Lengths::nearest(const std::vector<int64_t>& sorted, double q) {
  const int64_t last = int64_t(sorted.size()) - 1;
  return sorted[size_t(std::clamp<int64_t>(int64_t(q * double(sorted.size())), 0, last))];
}

std::pair<int64_t, int64_t> Lengths::total_interval(double q) const {
  const double n = double(rows_ > 0 ? rows_ : int64_t(totals_.size()));
  const double half = 1.96 * square_root(q * (1 - q) / n);
  return {nearest(totals_, q - half), nearest(totals_, q + half)};
}

}  // namespace vramwise::workload
