#include "plan/choices.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/sort.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "plan/cards.h"
#include "plan/held.h"
#include "plan/outcome_rank.h"

namespace vramwise::plan {
namespace {

Bytes taken_on_fullest(const engines::Assessment& a) {
  return held_ledger(a).total(a.fullest_device).likely;
}

Resolved with_cards(const Resolved& resolved, const catalog::Gpu& gpu, int count,
                    const engines::Layout& layout) {
  Resolved changed = on_cards(resolved, gpu, size_t(count));
  for (const auto& [name, value] : layout.options) changed.settings.options.set(name, value);
  return changed;
}

// Cheaper and at least as many users, or as cheap and more users.
void mark_pareto(std::vector<GpuChoice>& choices) {
  for (GpuChoice& choice : choices) {
    if (!choice.price) continue;
    choice.pareto = std::none_of(choices.begin(), choices.end(), [&](const GpuChoice& other) {
      if (!other.price || &other == &choice) return false;
      const bool cheaper = other.price->usd_per_hour < choice.price->usd_per_hour;
      const bool as_cheap = other.price->usd_per_hour <= choice.price->usd_per_hour;
      return (cheaper && other.users >= choice.users) || (as_cheap && other.users > choice.users);
    });
  }
}

// A layout further down the engine's list has to serve this much more to be offered beside the
// first: for a few users more nobody takes a pipeline's waits or whole copies of a model.
constexpr int64_t kWorthPercent = 10;

// Of one kind and number of cards: the first layout that fits, for layouts come best first, and the
// one that serves the most users, where that is worth it.
class Best {
 public:
  void take(GpuChoice choice) {
    if (!first_) {
      first_ = std::move(choice);
    } else if (choice.users > (most_ ? most_->users : first_->users)) {
      if (choice.users * 100 >= first_->users * (100 + kWorthPercent)) most_ = std::move(choice);
    }
  }
  void give(std::vector<GpuChoice>& choices) {
    if (first_) choices.push_back(std::move(*first_));
    if (most_) choices.push_back(std::move(*most_));
  }

 private:
  std::optional<GpuChoice> first_, most_;
};

}  // namespace

Resolved with_choice(const Resolved& resolved, const GpuChoice& choice) {
  const auto gpu = catalog::find_gpu(choice.gpu);
  return gpu ? with_cards(resolved, *gpu, choice.count, choice.layout) : resolved;
}

Result<GpuSearch> find_gpus(const Resolved& resolved, const GpuSearchOptions& options) {
  GpuSearch search;
  const PriceList prices = options.prices.empty() ? PriceList() : PriceList(options.prices);
  std::vector<std::string> ids = options.only;
  if (ids.empty()) {
    for (const std::string_view id : catalog::ids(catalog::Kind::gpu)) ids.emplace_back(id);
  }
  for (const std::string& id : ids) {
    TRY_ASSIGN(const catalog::Gpu gpu, catalog::find_gpu(id));
    if (!resolved.engine->runs_on(gpu)) continue;
    const int most = std::min(options.max_count, gpu.max_per_node > 0 ? gpu.max_per_node : 1);
    for (int count = 1; count <= most; count *= 2) {
      const Resolved sized = with_cards(resolved, gpu, count, {});
      Best best;
      for (const engines::Layout& layout : resolved.engine->layouts(sized.question(), count)) {
        const auto plan =
            sketch_plan(with_cards(resolved, gpu, count, layout), engines::Detail::lever);
        ++search.tried;
        if (!plan) continue;
        GpuChoice choice;
        choice.gpu = gpu.id;
        choice.count = count;
        choice.layout = layout;
        choice.verdict = plan->verdict;
        choice.users = plan->assessment.users;
        choice.taken = taken_on_fullest(plan->assessment);
        choice.free = gpu.total - choice.taken;
        const Outcome outcome = choice.verdict.outcome;
        if (outcome == Outcome::fits || (options.include_tight && outcome == Outcome::tight)) {
          choice.price = prices.cheapest(gpu.id, count);
          best.take(std::move(choice));
          continue;
        }
        const bool nearer = !search.nearest || choice.verdict.shortfall.count() == 0 ||
                            (choice.verdict.shortfall < search.nearest->verdict.shortfall &&
                             search.nearest->verdict.shortfall.count() > 0);
        if (outcome != Outcome::refuses_to_start && nearer) search.nearest = std::move(choice);
      }
      best.give(search.choices);
    }
  }
  mark_pareto(search.choices);
  sort_stable(search.choices, [](const GpuChoice& a, const GpuChoice& b) {
    if (a.price.has_value() != b.price.has_value()) return a.price.has_value();
    if (a.price && a.price->usd_per_hour != b.price->usd_per_hour) {
      return a.price->usd_per_hour < b.price->usd_per_hour;
    }
    const Bytes total_a = (a.taken + a.free) * a.count;
    const Bytes total_b = (b.taken + b.free) * b.count;
    if (total_a != total_b) return total_a < total_b;
    return a.gpu != b.gpu ? a.gpu < b.gpu : a.count < b.count;
  });
  if (!search.choices.empty()) search.nearest.reset();
  return search;
}

namespace {

struct Candidate {
  std::string id;
  std::shared_ptr<const model::Model> model;
};

// The models of the catalog, without the quantised variants of others: the formats of their base
// cover them. Those whose base is not there (gpt-oss, DeepSeek-V3) count by themselves.
std::vector<Candidate> models_of_catalog() {
  std::vector<Candidate> plain, quantised;
  std::set<std::pair<std::string, int64_t>> bases;
  for (const std::string_view id : catalog::ids(catalog::Kind::model)) {
    ModelSpec spec;
    spec.ref = std::string(id);
    std::string format;
    Notes notes;
    auto model = resolve_model(spec, format, notes);
    if (!model || !format.empty()) continue;
    Candidate candidate{std::string(id), std::move(*model)};
    if (!candidate.model->quantization_config.is_null()) {
      quantised.push_back(std::move(candidate));
      continue;
    }
    bases.emplace(candidate.model->architecture, parameter_count(*candidate.model));
    plain.push_back(std::move(candidate));
  }
  for (Candidate& candidate : quantised) {
    const auto key = std::pair(candidate.model->architecture, parameter_count(*candidate.model));
    if (bases.count(key) == 0) plain.push_back(std::move(candidate));
  }
  return plain;
}

}  // namespace

Result<std::vector<ModelChoice>> find_models(const Request& request) {
  TRY_ASSIGN(const engines::Engine* engine, engines::find_engine(request.engine));
  TRY_ASSIGN(const engines::Hardware hardware, resolve_hardware(request.hardware));
  std::vector<ModelChoice> choices;
  const std::vector<Candidate> candidates = models_of_catalog();
  for (const Candidate& listed : candidates) {
    Resolved resolved;
    resolved.engine = engine;
    resolved.hardware = hardware;
    resolved.settings = request.settings;
    resolved.workload = request.workload;
    resolved.model = listed.model;
    // A workload longer than the model reads is not a question for it.
    if (resolved.model->max_positions > 0 &&
        request.workload.sequence_tokens.count() > resolved.model->max_positions) {
      continue;
    }
    std::optional<ModelChoice> best;
    // A repository that is published quantised is loaded as it is; only a GGUF is made of it.
    std::vector<std::string_view> formats = engine->weight_formats();
    if (!resolved.model->quantization_config.is_null()) {
      const auto first = weights::choose_weights(*resolved.model, formats.front());
      if (first && !first->is_gguf()) formats = {""};
    }
    for (const std::string_view candidate : formats) {
      auto weights = weights::choose_weights(*resolved.model, candidate);
      if (!weights) continue;
      const std::string format = weights->format;
      if (!request.weights.empty() && format != request.weights) continue;
      Resolved sized = resolved;
      sized.set_weights(std::move(*weights));
      auto plan = make_plan(std::move(sized), Levers::skip);
      if (!plan || rank(plan->verdict.outcome) > rank(Outcome::tight)) continue;
      // Inside the bars only with a likely value that serves somebody.
      const bool fits = plan->verdict.outcome == Outcome::fits;
      if (!fits && (best || plan->assessment.users == 0)) continue;
      ModelChoice choice;
      choice.outcome = plan->verdict.outcome;
      choice.model = listed.id;
      choice.format = format;
      choice.parameters = parameter_count(*resolved.model);
      choice.active_parameters = active_parameter_count(*resolved.model);
      choice.users = plan->assessment.users;
      choice.longest_sequence = plan->assessment.longest_sequence;
      if (!hardware.devices.empty()) {
        choice.free = hardware.devices[size_t(plan->assessment.fullest_device)].free() -
                      taken_on_fullest(plan->assessment);
      }
      best = std::move(choice);
      if (best->outcome == Outcome::fits) break;
    }
    if (best) choices.push_back(std::move(*best));
  }
  sort_stable(choices, [](const ModelChoice& a, const ModelChoice& b) {
    if (a.outcome != b.outcome) return rank(a.outcome) < rank(b.outcome);
    return a.parameters != b.parameters ? a.parameters > b.parameters : a.model < b.model;
  });
  return choices;
}

}  // namespace vramwise::plan
