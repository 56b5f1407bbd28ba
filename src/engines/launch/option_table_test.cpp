#include "engines/launch/option_table.h"

#include <gtest/gtest.h>

#include <set>

#include "json/parse.h"

namespace vramwise::engines::launch {
namespace {

constexpr std::string_view kEngines[] = {"vllm",      "sglang", "trtllm", "llamacpp", "ollama",
                                         "koboldcpp", "mlx_lm", "tgi",    "lmdeploy", "lmstudio"};

TEST(OptionTable, EveryTableLoads) {
  OptionTables tables;
  for (const std::string_view engine : kEngines) {
    const OptionTable* table = tables.get(engine);
    ASSERT_NE(table, nullptr) << engine;
    EXPECT_GE(table->options().size(), 20U) << engine;
    std::set<std::string> names;
    for (const Option& option : table->options()) {
      EXPECT_TRUE(names.insert(option.name).second) << engine << " twice: " << option.name;
    }
  }
  EXPECT_EQ(tables.get("nonesuch"), nullptr);
}

TEST(OptionTable, ExactSpellings) {
  OptionTables tables;
  const OptionTable& vllm = *tables.get("vllm");
  EXPECT_EQ(vllm.exact("--max-model-len")->option->name, "max_model_len");
  EXPECT_EQ(vllm.exact("-tp")->option->name, "tensor_parallel_size");
  EXPECT_TRUE(vllm.exact("--no-enable-prefix-caching")->negative);
  EXPECT_FALSE(vllm.exact("--max-model-le"));
  EXPECT_FALSE(vllm.exact("--input-len"));
  EXPECT_TRUE(vllm.exact("--input-len", "bench"));
  EXPECT_TRUE(tables.get("sglang")->exact("--cuda-graph-max-bs")->deprecated);
  EXPECT_EQ(tables.get("trtllm")->exact("--tp_size")->option->name, "tensor_parallel_size");
}

TEST(OptionTable, Beginnings) {
  OptionTables tables;
  EXPECT_EQ(tables.get("vllm")->beginning_with("--gpu-memory").size(), 1U);
  EXPECT_GT(tables.get("vllm")->beginning_with("--max-num").size(), 1U);
  EXPECT_EQ(tables.get("sglang")->beginning_with("--tp").size(), 1U);
  EXPECT_GT(tables.get("sglang")->beginning_with("--pp").size(), 1U);
}

TEST(OptionTable, RemovalDependsOnTheVersion) {
  OptionTables tables;
  const OptionTable& vllm = *tables.get("vllm");
  const Option& swap = *vllm.by_name("swap_space");
  EXPECT_TRUE(vllm.is_removed(swap, ""));
  EXPECT_FALSE(vllm.is_removed(swap, "0.8.5"));
  EXPECT_TRUE(vllm.is_removed(swap, "0.21.0"));
  EXPECT_FALSE(vllm.is_removed(*vllm.by_name("max_model_len"), ""));
  const OptionTable& ollama = *tables.get("ollama");
  EXPECT_FALSE(ollama.is_removed(*ollama.by_name("max_vram"), "0.5.0"));
  EXPECT_TRUE(ollama.is_removed(*ollama.by_name("max_vram"), "0.30.1"));
}

TEST(OptionTable, Suggestions) {
  OptionTables tables;
  const auto near = [&](std::string_view engine, std::string_view token) {
    const auto s = tables.suggest(engine, token);
    return s.spelling + (s.other.empty() ? "" : " of " + std::string(s.other));
  };
  EXPECT_EQ(near("vllm", "--max-model-length"), "--max-model-len");
  EXPECT_EQ(near("vllm", "--tensor-paralel-size"), "--tensor-parallel-size");
  EXPECT_EQ(near("sglang", "--gpu-memory-utilization"), "--mem-fraction-static of vllm");
  EXPECT_EQ(near("llamacpp", "--max-model-len"), "--ctx-size of vllm");
  EXPECT_EQ(near("llamacpp", "--context-lengt"), "--ctx-size");
  EXPECT_EQ(near("sglang", "-ngl"), " of llamacpp");
  EXPECT_EQ(near("trtllm", "--max-batch-size"), "--max_batch_size");
  EXPECT_EQ(near("vllm", "--qqqqqqqqqqqqqqq"), "");
  EXPECT_EQ(near("vllm", std::string(5000, 'x')), "");
}

TEST(OptionTable, RefusesAFileWithoutOptions) {
  const auto empty = json::parse("{}", "test");
  EXPECT_FALSE(OptionTable::from_json("x", *empty));
  const auto nameless = json::parse(R"({"options": [{"type": "int"}]})", "test");
  EXPECT_FALSE(OptionTable::from_json("x", *nameless));
}

// A page's build leaves harmless rows out and says so.
TEST(OptionTable, PartialTables) {
  const auto file =
      json::parse(R"({"partial": true, "options": [{"name": "a", "memory": "kv"}]})", "test");
  const auto table = OptionTable::from_json("x", *file);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->is_partial());
}

}  // namespace
}  // namespace vramwise::engines::launch
