// Laws that hold for every model of the catalog, whatever its family.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/api.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/model_ref.h"
#include "json/parse.h"
#include "model/from_config.h"
#include "plan/plan.h"
#include "turns.h"
#include "weights/weights.h"

namespace vramwise {
namespace {

struct Named {
  std::string id;
  model::Model model;
};

// Every catalog model, built once for all tests.
const std::vector<Named>& models() {
  static const std::vector<Named> all = [] {
    std::vector<Named> list;
    for (const std::string_view id : catalog::ids(catalog::Kind::model)) {
      const auto ref = catalog::resolve_model(id);
      if (!ref) continue;
      auto model = model::from_config(json::Reader(ref->config, id), id);
      if (model) list.push_back({std::string(id), std::move(*model)});
    }
    return list;
  }();
  return all;
}

TEST(Catalog, EveryModelBuilds) {
  for (const std::string_view id : catalog::ids(catalog::Kind::model)) {
    const auto ref = catalog::resolve_model(id);
    ASSERT_TRUE(ref) << id;
    const auto model = model::from_config(json::Reader(ref->config, id), id);
    EXPECT_TRUE(model) << id << ": " << (model ? "" : model.error().message);
  }
  EXPECT_GE(models().size(), 150u);
}

TEST(Catalog, EveryConfigRoundTrips) {
  for (const std::string_view id : catalog::ids(catalog::Kind::model)) {
    const auto ref = catalog::resolve_model(id);
    ASSERT_TRUE(ref) << id;
    const auto again = json::parse(json::dump(ref->config), "again");
    ASSERT_TRUE(again) << id;
    EXPECT_EQ(*again, ref->config) << id;
    const auto first = model::from_config(json::Reader(ref->config, id), id);
    const auto second = model::from_config(json::Reader(*again, id), id);
    if (!first || !second) continue;
    EXPECT_EQ(parameter_count(*first), parameter_count(*second)) << id;
    EXPECT_EQ(first->tensors.size(), second->tensors.size()) << id;
  }
}

TEST(Catalog, MoreTokensNeverCostLess) {
  model::CacheTypes types;
  for (const Named& named : models()) {
    Bytes before;
    for (int64_t tokens = 1; tokens <= 1 << 20; tokens = tokens * 3 + 1) {
      const Bytes here = cache_bytes_at(named.model, Tokens(tokens), types);
      EXPECT_GE(here, before) << named.id << " at " << tokens;
      before = here;
    }
    EXPECT_GE(before, fixed_cache_bytes(named.model, types)) << named.id;
  }
}

TEST(Catalog, ActiveParametersAreAPartOfAll) {
  for (const Named& named : models()) {
    EXPECT_GT(active_parameter_count(named.model), 0) << named.id;
    EXPECT_LE(active_parameter_count(named.model), parameter_count(named.model)) << named.id;
  }
}

TEST(Catalog, SmallerFormatsAreSmaller) {
  for (const Named& named : models()) {
    const auto full = weights::choose_weights(named.model, "bf16");
    const auto eight = weights::choose_weights(named.model, "fp8-tensor");
    const auto four = weights::choose_weights(named.model, "awq");
    ASSERT_TRUE(full) << named.id;
    const Bytes whole = weights::at_rest_bytes(named.model, *full);
    if (eight) {
      EXPECT_LE(weights::at_rest_bytes(named.model, *eight), whole) << named.id;
      if (four) {
        EXPECT_LE(weights::at_rest_bytes(named.model, *four),
                  weights::at_rest_bytes(named.model, *eight))
            << named.id;
      }
    }
  }
}

// Plans of a catalog model, asked as a door asks.
json::Value answered(std::string_view id, std::string_view engine, int ranks, std::string_view gpu,
                     std::string_view options) {
  const std::string request =
      "{\"schema_version\":1,\"levers\":false,\"weights\":\"bf16\",\"model\":{\"ref\":\"" +
      std::string(id) + "\"},\"engine\":{\"name\":\"" + std::string(engine) +
      "\",\"options\":" + std::string(options) + "},\"hardware\":{\"gpu\":\"" + std::string(gpu) +
      "\",\"count\":" + format_integer(ranks) + "}}";
  const auto answer = json::parse(api::handle(request), "answer");
  return answer ? *answer : json::Value::object();
}

int64_t number(const json::Value* value) {
  return value != nullptr && value->is_integer() ? value->as_integer() : 0;
}

// Every total is the sum of its rows: of the answer, of each component, of each reading.
TEST(Catalog, TotalsAreTheSumsOfTheirRows) {
  int counted = 0;
  Turns turns(3);
  const std::vector<std::string_view> engines = {"vllm", "sglang", "llama.cpp"};
  for (const Named& named : models()) {
    if (named.model.is_encoder_only) continue;
    turns.next_model(named.model.architecture);
    for (size_t i = 0; i < engines.size(); ++i) {
      if (!turns.asks(i)) continue;
      const std::string_view engine = engines[i];
      const json::Value answer = answered(named.id, engine, 1, "h200-sxm", "{}");
      const json::Value* ledger = answer.find("ledger");
      const json::Value* totals = answer.find("totals");
      if (ledger == nullptr || totals == nullptr) continue;
      ++counted;
      int64_t sum = 0;
      std::map<std::string, int64_t> parts;
      for (const json::Value& row : ledger->as_array()) {
        const json::Value* device = row.find("device");
        if (device == nullptr || !device->is_integer() || device->as_integer() != 0) continue;
        sum += number(row.find("bytes"));
        parts[row.find("component")->as_string()] += number(row.find("bytes"));
      }
      EXPECT_EQ(sum, number(totals->find("total_bytes"))) << named.id << " in " << engine;
      for (const auto& [part, bytes] : parts) {
        const json::Value* said = totals->find(part + "_bytes");
        if (said != nullptr) {
          EXPECT_EQ(bytes, number(said)) << named.id << " " << part << " in " << engine;
        }
      }
    }
  }
  EXPECT_GT(counted, 600);  // a test that skips everything tests nothing
}

// The shards of all ranks together hold at least the whole: splitting replicates, never loses.
TEST(Catalog, TensorParallelShardsCoverTheWhole) {
  int compared = 0;
  for (const Named& named : models()) {
    const auto weights = weights::choose_weights(named.model, "bf16");
    if (!weights || named.model.is_encoder_only) continue;
    plan::Resolved resolved;
    resolved.model = std::make_shared<const model::Model>(named.model);
    resolved.weights = std::make_shared<const weights::Weights>(*weights);
    const auto engine = engines::find_engine("vllm");
    ASSERT_TRUE(engine);
    resolved.engine = *engine;
    plan::HardwareSpec hardware;
    hardware.devices.resize(1);
    hardware.devices[0].gpu = "b300";
    const auto weights_at = [&](int ranks) -> std::optional<int64_t> {
      hardware.devices.assign(size_t(ranks), hardware.devices[0]);
      auto machine = plan::resolve_hardware(hardware);
      if (!machine) return std::nullopt;
      plan::Resolved sized = resolved;
      sized.hardware = std::move(*machine);
      sized.settings.options.set("tensor_parallel_size", int64_t{ranks});
      const auto plan = plan::make_plan(std::move(sized), plan::Levers::skip);
      if (!plan || !plan->assessment.refusals.empty()) return std::nullopt;
      int64_t sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        sum += plan->assessment.reserve.total(rank, engines::Component::weights).likely.count();
      }
      // What the allocator's blocks hold beyond the tensors follows the sizes, not the sum.
      for (const engines::LedgerRow& row : plan->assessment.reserve.rows) {
        if (row.item == "rounding of the allocator") sum -= row.bytes.likely.count();
      }
      return sum;
    };
    const auto whole = weights_at(1);
    for (const int ranks : {2, 4, 8}) {
      const auto shards = weights_at(ranks);
      if (!whole || !shards) continue;
      ++compared;
      EXPECT_GE(*shards, *whole) << named.id << " over " << ranks;
    }
  }
  EXPECT_GT(compared, 350);  // heads of a few small models cannot be divided by 8
}

}  // namespace
}  // namespace vramwise
