#include "workload/occupancy.h"

#include <algorithm>

#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

// Sums over a sample that several formulas share.
struct Means {
  double prompt = 0, prompt_square = 0, output = 0;
  double read = 0;  // mean tokens that a decode step of one sequence reads
};

Means means_of(const std::vector<Pair>& sample) {
  Means m;
  double read = 0;
  double decodes = 0;
  for (const Pair& pair : sample) {
    const double p = pair.prompt;
    const double o = pair.output;
    m.prompt += p;
    m.prompt_square += p * p;
    m.output += o;
    if (o > 1) {
      read += (o - 1) * (p + o / 2);
      decodes += o - 1;
    }
  }
  const double n = double(std::max<size_t>(1, sample.size()));
  m.prompt /= n;
  m.prompt_square /= n;
  m.output /= n;
  m.read = decodes > 0 ? read / decodes : 0;
  return m;
}

}  // namespace

// In steps a request holds y tokens, y = P, …, P+O-1, each for one step (P for as long as its
// prefill takes). The sums of y, y² and y³ over a run of whole numbers are differences of
// polynomials at the half points.
Held held_by_one(const std::vector<Pair>& sample, PrefillSteps prefill) {
  double weight = 0, m1 = 0, m2 = 0, m3 = 0;
  for (const Pair& pair : sample) {
    const double p = pair.prompt;
    const double o = pair.output;
    const double extra = prefill.of(p) - 1;
    const double a = p - 0.5;
    const double b = p + o - 0.5;
    weight += o + extra;
    const double h = prefill.held(p);
    m1 += (b * b - a * a) / 2 + extra * h;
    m2 += (b * b * b - a * a * a) / 3 - o / 12 + extra * h * h;
    m3 += (b * b * b * b - a * a * a * a) / 4 - (b * b - a * a) / 8 + extra * h * h * h;
  }
  Held held;
  if (weight <= 0) return held;
  held.steps = weight / double(sample.size());
  held.mean = m1 / weight;
  held.variance = m2 / weight - held.mean * held.mean;
  held.third = m3 / weight - 3 * held.mean * m2 / weight + 2 * held.mean * held.mean * held.mean;
  return held;
}

double held_within(const std::vector<Pair>& sample, double window) {
  double sum = 0;
  double steps = 0;
  for (const Pair& pair : sample) {
    const double p = pair.prompt;
    const double o = pair.output;
    // Steps before the window is full; from then on it stays so.
    const double growing = std::clamp(window - p, 0.0, o);
    sum += growing * (p + (growing - 1) / 2) + (o - growing) * window;
    steps += o;
  }
  return steps > 0 ? sum / steps : 0;
}

double normal_quantile(double mean, double variance, double p) {
  return mean + inverse_normal(p) * square_root(variance);
}

double gamma_quantile(double mean, double variance, double third, double p) {
  if (variance <= 0) return mean;
  const double deviation = square_root(variance);
  const double skew = third / (variance * deviation);
  if (skew > -1e-6 && skew < 1e-6) return normal_quantile(mean, variance, p);
  const double a = 4 / (skew * skew);
  const double root = square_root(a);
  const double z = inverse_normal(skew > 0 ? p : 1 - p);
  const double cube = 1 - 1 / (9 * a) + z / (3 * root);
  const double x = (a * cube * cube * cube - a) / root;
  return mean + deviation * (skew > 0 ? x : -x);
}

double held_by(const Held& one, int64_t users, double p) {
  const double c = double(users);
  return gamma_quantile(c * one.mean, c * one.variance, c * one.third, p);
}

int64_t users_at(const Held& one, double tokens, double p, int64_t limit) {
  int64_t low = 0;
  int64_t high = limit;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (held_by(one, middle, p) <= tokens) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

LinearStep linear(const StepTime& time, int64_t decodes, double mean_prompt) {
  LinearStep s;
  const int64_t n = std::max<int64_t>(2, decodes);
  const double at_one = time.step(1, 0, 0, 0);
  const double at_n = time.step(n, 0, 0, 0);
  s.per_decode = (at_n - at_one) / double(n - 1);
  s.fixed = at_one - s.per_decode;
  s.per_context_token = time.per_context_token;
  // What a prompt adds to a step that decodes anyway.
  const int64_t prompt = std::max<int64_t>(1, round_of(mean_prompt));
  const double with = time.step(n, 0, prompt, double(prompt) * double(prompt));
  s.per_prefill_token = (with - at_n) / double(prompt);
  return s;
}

ClosedLoop closed_loop(const std::vector<Pair>& sample, const LinearStep& step, int64_t users,
                       double think_seconds, int64_t batch_tokens) {
  const Means m = means_of(sample);
  const double per_token = step.per_decode + step.per_context_token * m.read;
  double low = 0;
  double high = step.per_prefill_token > 0 ? 1 / (step.per_prefill_token * m.prompt)
                                           : double(users) / step.fixed;
  ClosedLoop loop;
  for (int i = 0; i < 80; ++i) {
    const double x = (low + high) / 2;
    const double rest = 1 - x * step.per_prefill_token * m.prompt - x * (m.output - 1) * per_token;
    const double t = rest > 1e-9 ? step.fixed / rest : 1e9;
    const double decoding = x * (m.output - 1) * t;
    const double prefilling = x * (step.fixed + step.per_prefill_token * m.prompt);
    const double needed = decoding + prefilling + x * t / 2 + x * think_seconds;
    if (needed > double(users)) {
      high = x;
    } else {
      low = x;
      loop.requests_per_second = x;
      loop.step_seconds = t;
      loop.decoding = decoding;
    }
  }
  loop.users = double(users);
  const double thinking = loop.requests_per_second * think_seconds;
  loop.in_system_share = std::clamp(1 - thinking / double(users), 0.0, 1.0);
  // A step full of prompts starts batch / P of them, and each stays O steps: more than the product
  // cannot run, the others wait and hold nothing.
  const double room = std::max(1.0, double(batch_tokens) - loop.decoding);
  loop.most_running = std::max(1.0, room / m.prompt * m.output);
  // The step that computes the prompt lasts longer, and it holds the prompt for as long.
  const double t = std::max(loop.step_seconds, 1e-12);
  loop.prefill = {1, step.per_prefill_token / t, double(batch_tokens)};
  loop.one = held_by_one(sample, loop.prefill);
  return loop;
}

double ClosedLoop::tokens_at(double p) const {
  const double q = in_system_share;
  double n1 = users * q;
  double n2 = n1 * (1 - q);
  double n3 = n2 * (1 - 2 * q);
  if (n1 > most_running) {
    n1 = most_running;
    n2 = n3 = 0;
  }
  const double m = one.mean;
  return gamma_quantile(n1 * m, n1 * one.variance + n2 * m * m,
                        n1 * one.third + 3 * n2 * m * one.variance + n3 * m * m * m, p);
}

double saturation_rate(const std::vector<Pair>& sample, const LinearStep& step) {
  const Means m = means_of(sample);
  const double work = step.per_prefill_token * m.prompt +
                      (m.output - 1) * (step.per_decode + step.per_context_token * m.read);
  return work > 0 ? 1 / work : 1e9;
}

OpenLoop open_loop(const std::vector<Pair>& sample, const LinearStep& step, double rate,
                   double gap_cv) {
  OpenLoop loop;
  const Means m = means_of(sample);
  const double r = rate * step.per_prefill_token * m.prompt;
  const double d = rate * (m.output - 1) * (step.per_decode + step.per_context_token * m.read);
  loop.prefill_share = r;
  loop.load = r + d;
  loop.stable = loop.load < 1;
  if (!loop.stable) return loop;
  const double t = step.fixed / (1 - loop.load);
  loop.step_seconds = t;
  const double g = step.per_prefill_token;
  // A newcomer sees the longer steps more often.
  const double step_variance = rate * t * g * g * m.prompt_square / (1 - r * r);
  const double seen = t + step_variance / t;
  const double others = g * rate * m.prompt * seen;
  loop.one = held_by_one(sample, {1 + (step.fixed + others) / t, g / t});
  loop.in_system = rate * (step.fixed + g * m.prompt + others + (m.output - 1) * t);
  // Prompts lengthen steps and longer steps collect more arrivals: a branching process.
  std::vector<int32_t> outputs;
  outputs.reserve(sample.size());
  for (const Pair& pair : sample) outputs.push_back(pair.output);
  std::sort(outputs.begin(), outputs.end());
  double half = 0;
  double before = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const double left = 1 - double(i) / double(outputs.size());
    half += left * left * (outputs[i] - before);
    before = outputs[i];
  }
  half /= m.output;
  const double spread = r + r * r * (m.prompt_square / (m.prompt * m.prompt) - 1);
  const double open = 1 - r;
  const double z =
      1 + (spread / (open * open) + 1 / open - 1 + (gap_cv * gap_cv - 1) / (open * open)) * half;
  loop.variance = loop.in_system * z / (1 - d / open);
  return loop;
}

// The number in the system as a negative binomial, each holding an independent amount.
double OpenLoop::tokens_at(double p) const {
  if (!stable || in_system <= 0) return 0;
  const double n2 = std::max(variance, in_system);
  // Third cumulant of a negative binomial with this mean and variance.
  const double ratio = n2 / in_system;
  const double n3 = n2 * (2 * ratio - 1);
  const double k1 = in_system * one.mean;
  const double k2 = in_system * one.variance + n2 * one.mean * one.mean;
  const double k3 = in_system * one.third + 3 * n2 * one.mean * one.variance +
                    n3 * one.mean * one.mean * one.mean;
  return gamma_quantile(k1, k2, k3, p);
}

}  // namespace vramwise::workload
