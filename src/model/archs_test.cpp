// Every family against published numbers: tests/data/model_shapes.json holds the shape keys of
// published configs with the parameter counts and cache sizes they must give.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "json/parse.h"
#include "model/arch_rule.h"
#include "model/dispatch.h"
#include "model/from_config.h"

namespace vramwise::model {
namespace {

json::Value load_data(const std::string& name) {
  std::ifstream file(std::string(VRAMWISE_TESTS_DIR) + "/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  auto value = json::parse(text.str(), name);
  if (!value) {
    ADD_FAILURE() << value.error().message;
    return json::Value::object();
  }
  return std::move(*value);
}

Result<Model> build(const json::Value& config) {
  return from_config(json::Reader(config, "config.json"), "test");
}

int64_t number(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value == nullptr ? 0 : value->as_integer();
}

Bytes windows_of(const Model& model) {
  Bytes total;
  for (const Layer& layer : model.layers) {
    for (const CacheLayout& cache : layer.caches) total += window_bytes(cache, {});
  }
  return total;
}

// What engines register: known here by the class or by the model_type that it spells, or refused.
TEST(Archs, ClassesThatEnginesRegister) {
  const json::Value list = load_data("engine_classes.json");
  for (const char* kind : {"planned", "refused"}) {
    const json::Value* names = list.find(kind);
    ASSERT_NE(names, nullptr);
    EXPECT_GT(names->as_array().size(), 50u);
    for (const json::Value& name : names->as_array()) {
      const bool known =
          rule_for_class(name.as_string()) != nullptr || !spelled_type(name.as_string()).empty();
      EXPECT_EQ(known, std::string_view(kind) == "planned") << name.as_string();
    }
  }
}

TEST(Archs, PublishedCountsAndCaches) {
  const json::Value shapes = load_data("model_shapes.json");
  const json::Value* models = shapes.find("models");
  ASSERT_NE(models, nullptr);
  for (const json::Value& entry : models->as_array()) {
    SCOPED_TRACE(entry.find("model")->as_string());
    auto model = build(*entry.find("config"));
    ASSERT_TRUE(model) << model.error().message;
    model->dtype = DType::bfloat16;
    EXPECT_EQ(parameter_count(*model), number(entry, "parameters"));
    EXPECT_EQ(buffer_count(*model), number(entry, "buffers"));
    EXPECT_EQ(mtp_parameter_count(*model), number(entry, "mtp"));
    EXPECT_LE(active_parameter_count(*model), parameter_count(*model));
    EXPECT_EQ(model->max_positions, number(entry, "max_positions"));
    const json::Value& cache = *entry.find("cache");
    EXPECT_EQ(kv_bytes_per_token(*model).count(), number(cache, "per_token"));
    EXPECT_EQ(fixed_cache_bytes(*model, {}).count(), number(cache, "fixed"));
    EXPECT_EQ(windows_of(*model).count(), number(cache, "windows"));
    EXPECT_EQ(cache_bytes_at(*model, Tokens(32768), {}).count(), number(cache, "at_32768"));
    EXPECT_EQ(cache_bytes_at(*model, Tokens(131072), {}).count(), number(cache, "at_131072"));
  }
}

// What holds for every model, whatever its family.
TEST(Archs, StructureAgreesWithTensors) {
  const json::Value shapes = load_data("model_shapes.json");
  for (const json::Value& entry : shapes.find("models")->as_array()) {
    SCOPED_TRACE(entry.find("model")->as_string());
    auto model = build(*entry.find("config"));
    ASSERT_TRUE(model) << model.error().message;
    std::set<std::string> names;
    int embeddings = 0, heads = 0;
    const int64_t all_layers = int64_t(model->layers.size() + model->mtp_layers.size());
    for (const Tensor& tensor : model->tensors) {
      EXPECT_TRUE(names.insert(tensor.name).second) << "twice: " << tensor.name;
      EXPECT_GT(tensor.elements(), 0) << tensor.name;
      EXPECT_LT(tensor.layer, all_layers) << tensor.name;
      EXPECT_EQ(tensor.copies > 1, tensor.name.find("{e}") != std::string::npos) << tensor.name;
      if (tensor.part == Part::mtp) continue;
      embeddings += tensor.role == Role::token_embedding;
      heads += tensor.role == Role::output_head;
    }
    EXPECT_EQ(embeddings, 1);
    EXPECT_EQ(heads, model->is_encoder_only ? 0 : 1);
    for (size_t i = 0; i < model->layers.size(); ++i) {
      for (const Mixer& mixer : model->layers[i].mixers) {
        const auto* block = std::get_if<AttentionBlock>(&mixer);
        if (block == nullptr) continue;
        EXPECT_GT(block->kv_heads, 0);
        EXPECT_LT(block->shared_with, int64_t(i));
      }
      for (const CacheLayout& cache : model->layers[i].caches) {
        const auto* shared = std::get_if<SharedCache>(&cache);
        if (shared == nullptr) continue;
        ASSERT_LT(shared->layer, int64_t(i));
        EXPECT_FALSE(std::holds_alternative<SharedCache>(
            model->layers[size_t(shared->layer)].caches.front()));
      }
    }
  }
}

TEST(Archs, EveryModelTypeIsServedOnce) {
  std::set<std::string_view> seen;
  for (const ArchFactory factory : arch_factories()) {
    const ArchRule& rule = factory();
    EXPECT_FALSE(rule.model_types.empty());
    EXPECT_NE(rule.build, nullptr);
    for (const std::string_view type : rule.model_types) {
      EXPECT_TRUE(seen.insert(type).second) << type;
    }
  }
  EXPECT_EQ(known_model_types().size(), seen.size());
  EXPECT_GT(seen.size(), 100u);
}

}  // namespace
}  // namespace vramwise::model
