#include "engines/launch/write_line.h"

#include <gtest/gtest.h>

#include "engines/launch/read_launch.h"
#include "json/parse.h"

namespace vramwise::engines::launch {
namespace {

Options options_of(std::string_view text) {
  const auto value = json::parse(text, "test");
  return value ? Options::from_json(*value) : Options();
}

TEST(WriteLine, Quoting) {
  EXPECT_EQ(shell_quote("a/b-c_1.5:x=y,z"), "a/b-c_1.5:x=y,z");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("{\"a\": 1}"), "'{\"a\": 1}'");
  EXPECT_EQ(shell_quote("$X"), "'$X'");
}

TEST(WriteLine, LooksLikePeopleWriteIt) {
  EXPECT_EQ(write_line("vllm", "o/m",
                       options_of(R"({"tensor_parallel_size":2,"enforce_eager":true,)"
                                  R"("enable_prefix_caching":false})")),
            "vllm serve o/m --tensor-parallel-size 2 --enforce-eager --no-enable-prefix-caching");
  EXPECT_EQ(write_line("vllm", "o/m", options_of(R"({"compilation_config":{"mode":3}})")),
            "vllm serve o/m --compilation-config '{\"mode\":3}'");
  EXPECT_EQ(write_line("llama.cpp", "a b.gguf", options_of(R"({"ctx_size":4096,"mmap":false})"),
                       {{"A", "1 2"}}),
            "A='1 2' llama-server -m 'a b.gguf' --ctx-size 4096 --no-mmap");
  EXPECT_EQ(write_line("sglang", "o/m", options_of(R"({"cuda_graph_bs_decode":[1,2]})")),
            "python -m sglang.launch_server --model-path o/m --cuda-graph-bs-decode 1 2");
  EXPECT_EQ(write_line("ollama", "m", options_of(R"({"num_parallel":2})")),
            "OLLAMA_NUM_PARALLEL=2 ollama serve &\nollama run m");
  EXPECT_EQ(write_line("nonesuch", "m", Options()), "");
}

TEST(WriteLine, LongLinesAreBroken) {
  const std::string line = write_line(
      "vllm", "organisation/a-model-with-a-long-name",
      options_of(
          R"({"tensor_parallel_size":8,"max_model_len":131072,"gpu_memory_utilization":0.92})"),
      {}, 80);
  size_t start = 0;
  while (start < line.size()) {
    const size_t end = std::min(line.find('\n', start), line.size());
    EXPECT_LE(end - start, 80U);
    start = end + 1;
  }
  EXPECT_NE(line.find(" \\\n  "), std::string::npos);
}

// What is written is read again as the same options.
TEST(WriteLine, RoundTrip) {
  struct Case {
    std::string_view engine, model, options;
  };
  const Case cases[] = {
      {"vllm", "o/m",
       R"({"tensor_parallel_size":2,"max_model_len":-1,"gpu_memory_utilization":0.875,"enforce_eager":true,)"
       R"("enable_chunked_prefill":false,"cudagraph_capture_sizes":[1,2,4],"kv_cache_memory_bytes":1000000000,)"
       R"("speculative_config":{"method":"mtp","num_speculative_tokens":2},)"
       R"("limit_mm_per_prompt":{"image":{"count":2,"width":64}},"hf_overrides":{"a":{"b":"it's","c":[1,2]}}})"},
      {"sglang", "o/m",
       R"({"tp_size":4,"context_length":131072,"mem_fraction_static":0.8,"disable_radix_cache":true,)"
       R"("cuda_graph_bs_decode":[1,8],"cuda_graph_config":{"decode":{"max_bs":8}},"kv_cache_dtype":"fp8_e4m3"})"},
      {"trtllm", "o/m",
       R"({"tensor_parallel_size":8,"free_gpu_memory_fraction":0.5,"enable_chunked_prefill":true,)"
       R"("kv_cache_config":{"dtype":"fp8","enable_block_reuse":false},"cuda_graph_config":{"max_batch_size":8}})"},
      {"llama.cpp", "dir/a.gguf",
       R"({"ctx_size":8192,"n_gpu_layers":"all","flash_attn":"on","tensor_split":[3,1.5],"kv_offload":false,)"
       R"("override_tensor":["exps=CPU","a b=CUDA0"],"cache_type_k":"q8_0","parallel":2,"split_mode":"row"})"},
      {"llama.cpp", "o/m:Q4_K_M", R"({"hf_repo":"o/m:Q4_K_M","ctx_size":0,"mmproj_auto":false})"},
      {"ollama", "m", R"({"context_length":8192,"flash_attention":true,"kv_cache_type":"q8_0"})"},
      {"ollama", "m:7b", R"({"num_ctx":8192,"num_gpu":20,"use_mmap":false})"},
  };
  for (const Case& c : cases) {
    for (const int columns : {0, 80, 20}) {
      const Options given = options_of(c.options);
      const std::string line = write_line(c.engine, c.model, given, {}, columns);
      const auto read = read_launch(line);
      ASSERT_TRUE(read);
      EXPECT_EQ(read->engine, c.engine) << line;
      EXPECT_TRUE(read->errors.empty()) << line << json::dump(to_json(*read));
      const json::Value expected = given.to_json(), got = read->options.to_json();
      EXPECT_EQ(got.as_object().size(), expected.as_object().size()) << line;
      for (const json::Member& member : expected.as_object()) {
        const json::Value* value = got.find(member.key);
        ASSERT_NE(value, nullptr) << line << " lost " << member.key;
        EXPECT_EQ(json::dump(*value), json::dump(member.value)) << line;
      }
      if (c.engine != "ollama") {
        EXPECT_EQ(read->model, c.model) << line;
      }
    }
  }
}

}  // namespace
}  // namespace vramwise::engines::launch
