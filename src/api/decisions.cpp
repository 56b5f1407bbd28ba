// The asks that decide: max, gpus, models, compare.
#include <algorithm>

#include "api/answer.h"
#include "api/asks.h"
#include "api/load_blocks.h"
#include "api/load_decisions.h"
#include "base/sort.h"
#include "base/text.h"
#include "catalog/gpu.h"
#include "plan/bounds.h"
#include "plan/choices.h"
#include "plan/sentence.h"

namespace vramwise::api {
namespace {

using json::Value;

// A request without "hardware" or "model" where the ask supplies or ignores it.
Value with_default(const Value& request, std::string_view key, Value fallback) {
  Value changed = request;
  if (changed.find(key) == nullptr) changed.set(key, std::move(fallback));
  return changed;
}

Value one_member(std::string_view key, Value value) {
  Value object = Value::object();
  object.set(key, std::move(value));
  return object;
}

Value choice_block(const plan::GpuChoice& choice) {
  Value item = cards_block(choice.gpu, choice.count, choice.layout);
  item.set("outcome", plan::to_string(choice.verdict.outcome));
  if (choice.users >= 0) item.set("users", choice.users);
  item.set("taken_bytes", choice.taken);
  item.set("free_bytes", choice.free);
  if (choice.price) {
    item.set("usd_per_hour", choice.price->usd_per_hour);
    item.set("offer", choice.price->offer);
    if (!choice.price->date.empty()) item.set("price_date", choice.price->date);
  }
  item.set("pareto", choice.pareto);
  return item;
}

std::string counted_card(const plan::GpuChoice& choice) {
  return (choice.count > 1 ? format_integer(choice.count) + " x " : "") + choice.gpu;
}

// "209 models of the catalog fit, 13 more inside the error bars; the largest is … in awq"
std::string models_sentence(const std::vector<plan::ModelChoice>& choices) {
  if (choices.empty()) return "No model of the catalog fits with this workload";
  const auto fit = std::count_if(choices.begin(), choices.end(), [](const plan::ModelChoice& c) {
    return c.outcome == plan::Outcome::fits;
  });
  const auto tight = int64_t(choices.size()) - fit;
  std::string sentence = fit == 0   ? "No model of the catalog fits for certain"
                         : fit == 1 ? "1 model of the catalog fits"
                                    : format_grouped(fit) + " models of the catalog fit";
  if (tight > 0) {
    sentence += ", " + format_grouped(tight) + (fit > 0 ? " more" : "") + " inside the error bars";
  }
  return sentence + "; the largest is " + choices.front().model + " in " + choices.front().format;
}

// {"prices":[{"gpu":"h100-sxm","count":8,"usd_per_hour":16,"name":"rack 4","date":"2026-11-01"}]}
Result<std::vector<plan::Offer>> read_prices(const json::Reader& request) {
  std::vector<plan::Offer> offers;
  const auto list = request.find("prices");
  if (!list) return offers;
  TRY_ASSIGN(const auto items, list->items());
  if (items.empty() || items.size() > 10'000) {
    return fail(list->error(ErrorCode::invalid_input, "'prices' must list 1 to 10,000 offers"));
  }
  for (const json::Reader& item : items) {
    plan::Offer offer;
    TRY_ASSIGN(const std::string gpu, item.require_string({"gpu"}));
    auto found = catalog::find_gpu(gpu);
    if (!found) return fail(std::move(found.error()).at("prices"));
    offer.gpu = found->id;
    TRY_ASSIGN(const int64_t count, item.integer_or({"count"}, 1, 1, 4096));
    offer.gpus = int(count);
    TRY_ASSIGN(const json::Reader price, item.require({"usd_per_hour"}));
    TRY_ASSIGN(offer.usd_per_hour, price.number(0.0001, 1e6));
    TRY_ASSIGN(const auto name, item.optional_string({"name"}));
    TRY_ASSIGN(const auto date, item.optional_string({"date"}));
    offer.name = name.value_or("own price");
    offer.date = date.value_or("");
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace

Result<Value> ask_max(const json::Reader& request, const Value& id, const Observer& observer) {
  TRY_ASSIGN(const auto name, request.optional_string({"of"}));
  if (name && (*name == "rate" || *name == "users")) {
    Value answer = answer_head(id);
    TRY_ASSIGN(Value load, max_of_load(request, *name, observer));
    for (json::Member& member : load.as_object()) answer.set(member.key, std::move(member.value));
    return answer;
  }
  TRY_ASSIGN(const plan::Of of, plan::of_from_name(name.value_or("context")));
  TRY_ASSIGN(const plan::Request question, plan::read_request(request));
  TRY_ASSIGN(const plan::Resolved resolved, plan::resolve(question));
  TRY_ASSIGN(const plan::Bound bound, plan::find_bound(resolved, of));
  Value block = Value::object();
  block.set("of", plan::to_string(of));
  std::string sentence;
  const std::string on = " on " + plan::describe(resolved.hardware);
  if (of == plan::Of::weights) {
    if (!bound.format.empty()) block.set("format", bound.format);
    sentence = bound.format.empty()
                   ? "No weight format of " + std::string(resolved.engine->name()) + " fits" + on
                   : "The best format that fits" + on + " is " + bound.format;
  } else {
    block.set("value", bound.value);
    block.set("likely_value", bound.likely_value);
    block.set("at_limit", bound.at_limit);
    const std::string unit = of == plan::Of::context       ? " tokens a sequence"
                             : of == plan::Of::concurrency ? " users"
                             : of == plan::Of::batch       ? " batch tokens"
                                                           : " adapter slots";
    sentence = bound.value > 0
                   ? format_grouped(bound.value) + unit + " fit" + on
                   : "Not even one" + std::string(of == plan::Of::concurrency ? " user" : "") +
                         " fits" + on;
    if (bound.likely_value > bound.value) {
      sentence += " for certain, " + format_grouped(bound.likely_value) + " inside the error bars";
    }
    if (bound.at_limit) {
      sentence += of == plan::Of::context ? ": the model's own limit, memory is not what bounds it"
                                          : ": the search's limit, memory is not what bounds it";
    }
  }
  block.set("answer", sentence);
  if (!bound.binding.empty()) block.set("binding", bound.binding);
  if (!bound.explanation.empty()) block.set("explanation", bound.explanation);
  Value answer = answer_head(id);
  if (bound.plan) block.set("plan", plan_answer(Value(), *bound.plan));
  answer.set("max", std::move(block));
  return answer;
}

Result<Value> ask_gpus(const json::Reader& request, const Value& id, const Observer& observer) {
  // The machine is what is asked for; "hardware" may still carry a limit on the count.
  const Value filled = with_default(request.value(), "hardware", one_member("gpu", "h100-sxm"));
  TRY_ASSIGN(const plan::Request question, plan::read_request(json::Reader(filled, "request")));
  TRY_ASSIGN(const plan::Resolved resolved, plan::resolve(question));
  plan::GpuSearchOptions options;
  TRY_ASSIGN(const int64_t most, request.integer_or({"max_count"}, 8, 1, 64));
  options.max_count = int(most);
  TRY_ASSIGN(options.include_tight, request.boolean_or({"include_tight"}, false));
  TRY_ASSIGN(options.prices, read_prices(request));
  if (const auto only = request.find("only")) {
    TRY_ASSIGN(const auto items, only->items());
    for (const json::Reader& item : items) {
      TRY_ASSIGN(std::string gpu, item.string());
      options.only.push_back(std::move(gpu));
    }
  }
  TRY_ASSIGN(plan::GpuSearch search, plan::find_gpus(resolved, options));
  Value block = Value::object();
  std::string sentence;
  // With a load and a promise the order is by what a million tokens cost.
  std::vector<ChoiceCost> costs;
  bool stopped = false;
  if (has_load(request) && request.has("slo")) {
    TRY_ASSIGN(ChoiceCosts found, cost_choices(request, resolved, search.choices, observer));
    costs = std::move(found.costs);
    stopped = found.stopped;
    std::vector<size_t> order(costs.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    sort_stable(order, [&](size_t a, size_t b) {
      const ChoiceCost& x = costs[a];
      const ChoiceCost& y = costs[b];
      // Simulated ones first, then screened ones, then those of which no cost is known.
      const auto rank = [](const ChoiceCost& c) {
        return c.usd_per_million <= 0 ? 2 : c.screening ? 1 : 0;
      };
      if (rank(x) != rank(y)) return rank(x) < rank(y);
      return x.usd_per_million < y.usd_per_million;
    });
    std::vector<plan::GpuChoice> sorted;
    std::vector<ChoiceCost> sorted_costs;
    for (const size_t i : order) {
      sorted.push_back(std::move(search.choices[i]));
      sorted_costs.push_back(costs[i]);
    }
    search.choices = std::move(sorted);
    costs = std::move(sorted_costs);
  }
  const auto cheapest = std::find_if(search.choices.begin(), search.choices.end(),
                                     [](const plan::GpuChoice& c) { return c.price.has_value(); });
  if (search.choices.empty()) {
    sentence = "No GPU of the catalog holds it, up to " + format_integer(most) + " of a kind";
    const int64_t reads = resolved.model->max_positions;
    if (reads > 0 && resolved.workload.sequence_tokens.count() > reads) {
      sentence += "; the model reads at most " + format_grouped(reads) + " tokens";
    }
    if (search.nearest) {
      sentence += "; nearest is " + counted_card(*search.nearest) + ", short by " +
                  format_bytes(search.nearest->verdict.shortfall);
      block.set("nearest", choice_block(*search.nearest));
    }
  } else if (cheapest != search.choices.end()) {
    sentence = "Cheapest to rent: " + counted_card(*cheapest) + " at $" +
               format_fixed(cheapest->price->usd_per_hour, 2) + " an hour (" +
               cheapest->price->offer +
               (cheapest->price->date.empty() ? "" : ", price of " + cheapest->price->date) + ")";
    if (cheapest->users >= 0) {
      sentence +=
          ", " + format_grouped(cheapest->users) + (cheapest->users == 1 ? " user" : " users");
    }
  } else {
    sentence = "Smallest that holds it: " + counted_card(search.choices.front());
  }
  if (!costs.empty() && costs[0].usd_per_million > 0 && !costs[0].screening) {
    sentence = "Cheapest by the million answer tokens: " + counted_card(search.choices[0]) +
               " at $" + format_fixed(costs[0].usd_per_million, 2) + " (" +
               format_fixed(costs[0].rate, costs[0].rate < 10 ? 2 : 1) +
               " requests/s within the promise, " + search.choices[0].price->offer + " at $" +
               format_fixed(search.choices[0].price->usd_per_hour, 2) + " an hour, price of " +
               search.choices[0].price->date + ")";
  }
  if (!costs.empty() && costs[0].usd_per_million > 0 && costs[0].screening) {
    sentence =
        "Cheapest by the million answer tokens, by formula: " + counted_card(search.choices[0]) +
        " at about $" + format_fixed(costs[0].usd_per_million, 2);
  }
  if (stopped) {
    sentence = std::string(kStopped) + sentence;
    block.set("stopped", true);
  }
  block.set("answer", sentence);
  block.set("plans_tried", search.tried);
  Value list = Value::array();
  for (size_t i = 0; i < search.choices.size(); ++i) {
    Value item = choice_block(search.choices[i]);
    if (i < costs.size() && costs[i].usd_per_million > 0) {
      item.set("usd_per_million_output_tokens", costs[i].usd_per_million);
      item.set("rate_per_second", costs[i].rate);
      item.set("screening", costs[i].screening);
      item.set("validated", costs[i].validated);
    }
    list.push(std::move(item));
  }
  block.set("choices", std::move(list));
  Value answer = answer_head(id);
  answer.set("gpus", std::move(block));
  return answer;
}

Result<Value> ask_models(const json::Reader& request, const Value& id) {
  const Value filled = with_default(request.value(), "model", one_member("ref", "any"));
  TRY_ASSIGN(const plan::Request question, plan::read_request(json::Reader(filled, "request")));
  TRY_ASSIGN(const auto choices, plan::find_models(question));
  Value block = Value::object();
  const bool host_alone = question.hardware.cpu_only && choices.empty();
  block.set("answer", host_alone ? "no model of the catalog fits host memory alone under " +
                                       question.engine + "; -e llama.cpp serves from it"
                                 : models_sentence(choices));
  Value list = Value::array();
  for (const plan::ModelChoice& choice : choices) {
    Value item = Value::object();
    item.set("model", choice.model);
    item.set("weights", choice.format);
    item.set("outcome", plan::to_string(choice.outcome));
    item.set("parameters", choice.parameters);
    item.set("active_parameters", choice.active_parameters);
    if (choice.users >= 0) item.set("users", choice.users);
    if (choice.longest_sequence >= 0) item.set("longest_sequence_tokens", choice.longest_sequence);
    item.set("free_bytes", choice.free);
    list.push(std::move(item));
  }
  block.set("choices", std::move(list));
  Value answer = answer_head(id);
  answer.set("models", std::move(block));
  return answer;
}

}  // namespace vramwise::api
