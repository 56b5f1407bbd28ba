#include "verify/reconcile.h"

#include <algorithm>
#include <cmath>

#include "base/sort.h"
#include "base/text.h"
#include "weights/weights.h"

namespace vramwise::verify {
namespace {

std::string gib(double bytes) { return format_bytes(Bytes(int64_t(bytes))); }

std::string signed_gib(double bytes) { return (bytes >= 0 ? "+" : "-") + gib(std::fabs(bytes)); }

// Logs cut or round; 0.6 of the last digit can hide behind a print, and floats differ by a little.
double tolerance(double rounding, double value) { return rounding * 1.2 + std::fabs(value) * 1e-9; }

constexpr double kWorthSaying = 16.0 * 1048576;

// Values of one rank, as the identity of a budget needs them: the rank with the smallest cache.
struct RankView {
  const Log& log;
  std::string rank;

  const Reading* of(std::string_view field) const {
    const Reading* any = nullptr;
    for (const Reading* r : log.all(field)) {
      if (r->rank == rank) return r;
      if (any == nullptr || r->last > any->last) any = r;
    }
    return any;
  }
};

// budget = weights + activations + outside of torch (+ graph estimate) + cache, on one rank.
struct Budget {
  bool complete = false;
  double share = 0, total = 0, parts = 0, available = 0, rounding = 0;
  double budget = 0;
};

Budget budget_of(const Log& log) {
  Budget b;
  const Reading* available = log.one("available");
  if (available == nullptr) available = log.one("cache_in_use");
  const Reading* total = log.one("total");
  const Reading* share = log.one("utilisation");
  if (available == nullptr || total == nullptr || share == nullptr) return b;
  const RankView view{log, available->rank};
  const auto add = [&](std::string_view field) {
    const Reading* r = view.of(field);
    if (r == nullptr) return false;
    b.parts += r->last;
    b.rounding += r->rounding;
    return true;
  };
  // Either all of weights and torch in one peak (0.6.4), or term by term.
  if (view.of("peak_torch") != nullptr) {
    b.complete = add("peak_torch") && add("non_torch");
  } else if (view.of("consumed") != nullptr) {
    b.complete = add("consumed") && add("activation_with_graphs");
  } else {
    const bool weights = add("weights_in_profile") || add("weights");
    b.complete = weights && add("activation") && add("non_torch");
    // The actual size of the graphs is not what was charged; the estimate is.
    if (view.of("graphs_estimated") != nullptr) add("graphs_estimated");
  }
  b.available = available->last;
  b.total = total->last;
  b.share = share->last;
  b.budget = b.share * b.total;
  // "x total_gpu_memory" prints the share with two digits, though it has more.
  if (const Reading* printed = log.one("budget")) {
    b.budget = printed->last;
    b.rounding += printed->rounding;
  } else {
    b.rounding += total->rounding * b.share + share->rounding * b.total;
  }
  b.rounding += available->rounding;
  return b;
}

void check_budget(const Log& log, std::vector<Check>& out) {
  const Budget b = budget_of(log);
  if (!b.complete || b.total <= 0) return;
  Check check;
  check.id = "budget";
  check.difference = b.available - (b.budget - b.parts);
  check.holds = std::fabs(check.difference) <= tolerance(b.rounding, b.budget) + 0.01 * 1073741824;
  if (check.holds) {
    check.text = "the printed parts and the cache add up to the budget of " + gib(b.budget);
  } else {
    const double closes = (b.available + b.parts) / b.total;
    check.text = "the printed parts and the cache add up to " + gib(b.parts + b.available) +
                 ", not to the budget of " + gib(b.budget) + ": they close at a utilisation of " +
                 format_fixed(closes, 3) + ", printed is " + format_fixed(b.share, 3);
  }
  out.push_back(std::move(check));
}

void check_budget_share(const Log& log, std::vector<Check>& out) {
  const Reading* total = log.one("total");
  const Reading* share = log.one("utilisation");
  const Reading* budget = log.one("budget");
  if (total == nullptr || share == nullptr || budget == nullptr) return;
  Check check;
  check.id = "share";
  check.difference = budget->last - total->last * share->last;
  const double rounding = budget->rounding + total->rounding * share->last +
                          std::max(share->rounding, 0.005) * total->last;
  check.holds = std::fabs(check.difference) <= tolerance(rounding, budget->last);
  check.text = check.holds ? "the budget is the utilisation's share of the card"
                           : "the budget of " + gib(budget->last) + " is " +
                                 format_fixed(budget->last / total->last, 3) +
                                 " of the card, not the printed " + format_fixed(share->last, 3);
  out.push_back(std::move(check));
}

// SGLang: K and V, or TensorRT-LLM: pool memory over the bytes of a token.
void check_pool(const Log& log, std::vector<Check>& out) {
  const Reading* per_token = log.one("bytes_per_token");
  const Reading* tokens = log.one("pool_tokens");
  const Reading* memory = log.one("pool_memory");
  if (memory == nullptr) memory = log.one("available");
  if (per_token == nullptr || tokens == nullptr || memory == nullptr) return;
  if (per_token->last <= 0 || tokens->last <= 0) return;
  Check check;
  check.id = "pool";
  const double expected = per_token->last * tokens->last;
  check.difference = memory->last - expected;
  // A few blocks of rounding.
  check.holds =
      std::fabs(check.difference) <= tolerance(memory->rounding, expected) + per_token->last * 256;
  check.text = check.holds ? "tokens times bytes of a token are the pool's memory"
                           : format_grouped(int64_t(tokens->last)) + " tokens of " +
                                 format_grouped(int64_t(per_token->last)) + " bytes are " +
                                 gib(expected) + ", printed is " + gib(memory->last);
  out.push_back(std::move(check));
}

Row row_of(const Expected& expected, Logged logged) {
  Row row;
  row.expected = expected;
  row.difference = logged.value - expected.likely;
  const double slack = tolerance(logged.rounding, logged.value);
  row.exact = std::fabs(row.difference) <= slack;
  row.within_bar =
      row.exact || (logged.value >= expected.low - slack && logged.value <= expected.high + slack);
  row.logged = std::move(logged);
  return row;
}

const Row* find(const std::vector<Row>& rows, std::string_view field) {
  for (const Row& row : rows) {
    if (row.expected.field == field) return &row;
  }
  return nullptr;
}

// Files and format disagree from this share on; total_size leaves out headers and buffers.
constexpr double kOtherFormat = 0.02;

class Attributor {
 public:
  Attributor(const Log& log, const plan::Plan& plan, const plan::Plan* pool, Reconciliation& out)
      : log_(log), plan_(plan), pool_(pool), out_(out) {}

  void run() {
    terms();
    budget();
    others();
    groups();
    buffers();
    sort_stable(out_.attributions, [](const Attribution& a, const Attribution& b) {
      if (a.beyond_bar != b.beyond_bar) return a.beyond_bar;
      return std::fabs(a.bytes) > std::fabs(b.bytes);
    });
  }

 private:
  void add(Component component, double bytes, bool beyond, std::string text) {
    // Inside the bar and below what a log shows: nothing to explain.
    if (!beyond && std::fabs(bytes) < kWorthSaying) return;
    out_.attributions.push_back({component, bytes, beyond, std::move(text)});
  }

  // Terms that the log prints by themselves.
  void terms() {
    for (const std::string_view field :
         {"weights", "activation", "non_torch", "graphs_estimated", "graphs", "peak"}) {
      const Row* row = find(out_.rows, field);
      if (row == nullptr || row->exact) continue;
      // What the capture took is told apart from what was charged for it.
      if (field == "graphs" && find(out_.rows, "graphs_estimated") != nullptr) continue;
      const Component c = row->expected.component;
      add(c, row->difference, !row->within_bar,
          std::string(words_of(c)) + ": " + gib(row->logged.value) + " logged, " +
              gib(row->expected.likely) + " predicted (" + signed_gib(row->difference) + ")" +
              (field == "weights" && !row->within_bar ? other_format(row->difference) : ""));
    }
  }

  // Files that are larger, or smaller, than those of the format taken, as the loaded weights are.
  std::string other_format(double difference) const {
    const Reading* files = log_.one("checkpoint");
    if (files == nullptr) return {};
    const double expected =
        double(weights::at_rest_bytes(*plan_.resolved.model, *plan_.resolved.weights).count());
    const double more = files->first - expected;
    if (std::fabs(more) < kOtherFormat * expected || more * difference < 0) return {};
    return ": the files hold " + gib(files->first) + ", not " + gib(expected) +
           ", so another format than the one taken; give its config.json";
  }

  // The cache gets what the other terms leave: what they do not explain has another cause.
  void budget() {
    const Row* cache = find(out_.rows, "available");
    if (cache == nullptr || cache->exact) return;
    double left = cache->difference;
    double slack = tolerance(cache->logged.rounding, cache->logged.value);
    bool all = true;
    for (const std::string_view field : {"weights", "activation", "non_torch"}) {
      const Row* row = find(out_.rows, field);
      if (row == nullptr) {
        all = false;
        continue;
      }
      left += row->difference;
      slack += tolerance(row->logged.rounding, row->logged.value);
    }
    if (const Row* graphs = find(out_.rows, "graphs_estimated")) {
      left += graphs->difference;
      slack += tolerance(graphs->logged.rounding, graphs->logged.value);
    } else if (const Reading* charged = log_.one("graphs_estimated");
               charged != nullptr && log_.one("utilisation_with_graphs") == nullptr) {
      left += charged->last;
      slack += charged->rounding;
      add(Component::graphs, charged->last, charged->last > kWorthSaying,
          "CUDA graphs: " + gib(charged->last) +
              " charged to the budget, where none were expected");
    }
    // Another share or another card than planned.
    const Reading* logged_budget = log_.one("budget");
    for (const engines::Requirement& r : plan_.assessment.requirements) {
      if (r.what != "utilisation" || logged_budget == nullptr) continue;
      const double off = logged_budget->last - double(r.needed.likely.count());
      if (std::fabs(off) > tolerance(logged_budget->rounding, off)) left -= off;
      slack += logged_budget->rounding;
      break;
    }
    if (std::fabs(left) <= slack + 0.01 * 1073741824) return;
    const bool own = std::any_of(out_.checks.begin(), out_.checks.end(),
                                 [](const Check& c) { return !c.holds && c.id != "pool"; });
    if (own || all) {
      add(Component::log_arithmetic, left, true,
          "the cache of " + gib(cache->logged.value) + " is " + signed_gib(left) +
              " against what the printed terms leave of the budget");
      return;
    }
    // The terms that are not printed: the one with the wider bar first.
    const bool torch = find(out_.rows, "activation") == nullptr;
    const Component c = torch ? Component::activations : Component::non_torch;
    const bool both = torch && find(out_.rows, "non_torch") == nullptr;
    std::string text =
        (both
             ? std::string("activations and memory outside of torch, which this log does not print")
             : std::string(words_of(c)) + ", which this log does not print") +
        ": " + signed_gib(-left) + " against the plan";
    // Free memory before and after is what vLLM measures (v1/worker/gpu_worker.py).
    if (both && left < -slack && !cache->within_bar && log_.config.engine == "vllm") {
      text += "; what another process took of the card while this one started is in it";
    }
    add(c, -left, !cache->within_bar, std::move(text));
  }

  void others() {
    const Reading* free = log_.one("free_at_start");
    if (free == nullptr) return;
    for (const engines::Requirement& r : plan_.assessment.requirements) {
      if (r.what != "utilisation") continue;
      const double seen = free->last;
      const double taken = double(r.available.likely.count()) - seen;
      if (seen < double(r.available.low.count()) - free->rounding) {
        add(Component::other_processes, taken, true,
            "other processes hold about " + gib(taken) + " of the card: " + gib(seen) +
                " were free at the start");
      }
      return;
    }
  }

  // The pool at the memory that was logged.
  void groups() {
    if (pool_ == nullptr) return;
    const std::vector<Expected> expected = expectations(*pool_);
    const Reading* memory = log_.one("available");
    for (const Expected& e : expected) {
      if (e.component != Component::groups) continue;
      const auto seen = logged(log_, e);
      if (!seen || e.likely <= 0) continue;
      const double share = memory != nullptr && memory->last > 0
                               ? 1.2 * memory->rounding / std::fabs(memory->last)
                               : 0;
      const double block = double(std::max<int64_t>(16, pool_->assessment.kv.block_tokens));
      const bool tokens = e.field == "pool_tokens";
      const double slack = e.likely * share +
                           (tokens                     ? block
                            : e.field == "concurrency" ? 0.011
                                                       : 1.0) +
                           tolerance(seen->rounding, 0);
      const double off = seen->value - e.likely;
      if (std::fabs(off) <= slack) continue;
      const double bytes = -off / e.likely * (memory != nullptr ? memory->last : 0);
      add(Component::groups, bytes, true,
          "how the cache is laid out: " + gib(memory != nullptr ? memory->last : 0) + " hold " +
              printed(e, seen->value) + ", planned are " + printed(e, e.likely));
      return;
    }
  }

  static std::string printed(const Expected& e, double value) {
    if (e.field == "concurrency") return format_fixed(value, 2) + " sequences";
    if (e.field == "blocks") return format_grouped(int64_t(value)) + " blocks";
    if (e.field == "pool_tokens") return format_grouped(int64_t(value)) + " tokens";
    return format_fixed(value, 2) + " (" + e.line + ")";
  }

  // llama.cpp: every buffer is a row of its own.
  void buffers() {
    for (const Row& row : out_.rows) {
      if (row.exact || row.expected.device.empty()) continue;
      add(row.expected.component, row.difference, !row.within_bar,
          row.expected.line + ": " + gib(row.logged.value) + " logged, " +
              gib(row.expected.likely) + " predicted");
    }
  }

  const Log& log_;
  const plan::Plan& plan_;
  const plan::Plan* pool_;
  Reconciliation& out_;
};

}  // namespace

std::vector<Check> check_log(const Log& log) {
  std::vector<Check> checks;
  check_budget_share(log, checks);
  check_budget(log, checks);
  check_pool(log, checks);
  return checks;
}

Reconciliation reconcile(const Log& log, const plan::Plan& plan, const plan::Plan* pool) {
  Reconciliation out;
  for (const Expected& e : expectations(plan)) {
    auto seen = logged(log, e);
    if (seen) out.rows.push_back(row_of(e, std::move(*seen)));
  }
  out.checks = check_log(log);
  Attributor(log, plan, pool, out).run();
  for (const Row& row : out.rows) out.agrees = out.agrees && row.within_bar;
  for (const Check& check : out.checks) out.agrees = out.agrees && check.holds;
  return out;
}

}  // namespace vramwise::verify
