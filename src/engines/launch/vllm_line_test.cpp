#include <gtest/gtest.h>

#include "support/launch.h"

namespace vramwise::engines::launch {
namespace {

using testing::LaunchCase;

TEST(VllmLine, SpellingsOfOneOption) {
  const LaunchCase cases[] = {
      {"vllm serve o/m --block-size 32", "options", R"({"block_size":32})"},
      {"vllm serve o/m --block_size=32", "options", R"({"block_size":32})"},
      {"vllm serve o/m -pp=2", "options", R"({"pipeline_parallel_size":2})"},
      {"vllm serve o/m -qfp8", "options", R"({"quantization":"fp8"})"},
      {"vllm serve o/m -pp2", "unknown", R"([{"token":"-pp2","value":"","nearest":""}])"},
      {"vllm serve o/m --cpu-offload-g 8", "options", R"({"cpu_offload_gb":8})"},
      {"vllm serve o/m --max-num 8", "errors", R"(["ambiguous_prefix"])"},
      {"vllm serve o/m --no-enable-chunked-prefill", "options",
       R"({"enable_chunked_prefill":false})"},
      {"vllm serve o/m --no-disable-sliding-window", "options",
       R"({"disable_sliding_window":false})"},
      {"vllm serve o/m --no-disable-log-stats --headless", "unknown",
       R"([{"token":"--no-disable-log-stats","value":"","nearest":"--disable-log-stats"}])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, Booleans) {
  const LaunchCase cases[] = {
      {"vllm serve o/m --enforce-eager", "options", R"({"enforce_eager":true})"},
      {"vllm serve o/m --enforce-eager=1", "errors", R"(["flag_takes_no_value"])"},
      {"vllm serve o/m --enforce-eager True", "errors", R"(["stray_word"])"},
      {"python -m vllm.entrypoints.openai.api_server --model o/m --enforce-eager True", "warnings",
       R"(["stray_word"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, Sizes) {
  const LaunchCase cases[] = {
      {"vllm serve o/m --max-model-len 8k", "options", R"({"max_model_len":8000})"},
      {"vllm serve o/m --max-model-len 8K", "options", R"({"max_model_len":8192})"},
      {"vllm serve o/m --max-model-len 1.5k", "options", R"({"max_model_len":1500})"},
      {"vllm serve o/m --max-model-len 1.5K", "errors", R"(["suffix_refused"])"},
      {"vllm serve o/m --max-model-len AUTO", "options", R"({"max_model_len":-1})"},
      {"vllm serve o/m --max-model-len -1", "options", R"({"max_model_len":-1})"},
      {"vllm serve o/m --kv-cache-memory-bytes 2G", "options",
       R"({"kv_cache_memory_bytes":2147483648})"},
      {"vllm serve o/m --max-num-seqs 2k", "errors", R"(["not_an_integer"])"},
      {"vllm serve o/m --max-num-seqs None", "options", "{}"},
      {"vllm serve o/m --quantization ''", "options", "{}"},
      {"vllm serve o/m --gpu-memory-utilization high", "errors", R"(["not_a_number"])"},
      {"vllm serve o/m --kv-cache-dtype q8_0", "errors", R"(["bad_choice"])"},
      {"vllm serve o/m --max-model-len", "errors", R"(["missing_value"])"},
      {"vllm serve o/m --max-model-len --enforce-eager", "options", R"({"enforce_eager":true})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, JsonAndDottedKeys) {
  const LaunchCase cases[] = {
      {"vllm serve o/m -cc '{\"mode\": 3}'", "options", R"({"compilation_config":{"mode":3}})"},
      {"vllm serve o/m -sc.method mtp -sc.num_speculative_tokens=2", "options",
       R"({"speculative_config":{"method":"mtp","num_speculative_tokens":2}})"},
      {"vllm serve o/m --compilation_config.cudagraph_mode NONE", "options",
       R"({"compilation_config":{"cudagraph_mode":"NONE"}})"},
      {"vllm serve o/m --hf-overrides.list+ a --hf-overrides.list+=b,c", "options",
       R"({"hf_overrides":{"list":["a","b","c"]}})"},
      {"vllm serve o/m --kv-transfer-config.kv_buffer_size 2g", "options",
       R"({"kv_transfer_config":{"kv_buffer_size":2000000000}})"},
      {"vllm serve o/m -cc.mode 3 -cc '{\"cudagraph_mode\":\"FULL\"}'", "warnings",
       R"(["dotted_replaces_json"])"},
      {"vllm serve o/m -cc.mode 3 -cc '{\"cudagraph_mode\":\"FULL\"}'", "options",
       R"({"compilation_config":{"mode":3}})"},
      {"vllm serve o/m --hf-overrides \"{'a': 1}\"", "errors", R"(["json_lost_quotes"])"},
      {"vllm serve o/m --hf-overrides '{\"a\": 1,}x'", "errors", R"(["json_invalid"])"},
      {"vllm serve o/m --hf-overrides \"{\"a\": 1}\"", "options", R"({"hf_overrides":{"a":1}})"},
      {"vllm serve o/m --hf-overrides \"{\"a\": 1}\"", "errors", R"(["json_lost_quotes"])"},
      {"vllm serve o/m --kv-transfer-config '{\"kv_buffer_size\": 4K}'", "options",
       R"({"kv_transfer_config":{"kv_buffer_size":4096}})"},
      {"vllm serve o/m --speculative-config '{\"n\": 4K}'", "errors", R"(["json_invalid"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, OptimizationLevel) {
  const LaunchCase cases[] = {
      {"vllm serve o/m -O1", "options", R"({"optimization_level":1})"},
      {"vllm serve o/m -O 0", "options", R"({"optimization_level":0})"},
      {"vllm serve o/m -O=3", "options", R"({"optimization_level":3})"},
      {"vllm serve o/m -O.mode 3", "options", R"({"compilation_config":{"mode":3}})"},
      {"vllm serve o/m -O '{\"mode\":0}'", "options", R"({"compilation_config":{"mode":0}})"},
      {"vllm serve o/m -O9", "errors", R"(["bad_choice"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, TheModel) {
  const LaunchCase cases[] = {
      {"vllm serve o/m", "model", "\"o/m\""},
      {"vllm serve --port 1 o/m", "model", "\"o/m\""},
      {"vllm serve --model o/m", "model", "\"o/m\""},
      {"vllm serve o/m --model p/q", "model", "\"o/m\""},
      {"vllm serve", "model", "\"Qwen/Qwen3-0.6B\""},
      {"vllm serve $M -tp 2", "model", ""},
      {"vllm serve --cudagraph-capture-sizes 1 2 o/m --served-model-name x", "errors",
       R"(["not_an_integer","model_swallowed","missing_model"])"},
      {"vllm serve --served-model-name x --model o/m", "errors", ""},
      {"vllm serve o/m p/q", "errors", R"(["stray_word"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, RemovedAndForeignOptions) {
  const LaunchCase cases[] = {
      {"vllm serve o/m --num-scheduler-steps 8 --device cuda", "removed",
       R"(["num_scheduler_steps","device"])"},
      {"vllm serve o/m --num-scheduler-steps 8 --device cuda", "errors", R"(["removed_option"])"},
      {"docker run vllm/vllm-openai:v0.8.5 --model o/m --num-scheduler-steps 8", "options",
       R"({"num_scheduler_steps":8})"},
      {"vllm serve o/m --mem-fraction-static 0.8", "errors", R"(["other_engine"])"},
      {"vllm serve o/m --mem-fraction-static 0.8", "unknown",
       R"([{"token":"--mem-fraction-static","value":"0.8","nearest":"--gpu-memory-utilization"}])"},
      {"vllm serve o/m -tp 2 -tp 4", "warnings", R"(["last_wins"])"},
      {"vllm serve o/m -tp 2 --tensor-parallel-size 4", "options", R"({"tensor_parallel_size":4})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, ConfigurationFiles) {
  constexpr std::string_view kFile =
      "cat > c.yaml <<EOF\nmodel: o/m\ntensor_parallel_size: 4\nmax-num-seqs: 16\n"
      "enable-lora: true\nenforce-eager: false\ncompilation-config: {mode: 3}\n"
      "cudagraph-capture-sizes: [1, 8]\nEOF\nvllm serve --config ./c.yaml --max-num-seqs 8";
  EXPECT_EQ(testing::launch_field(kFile, "model"), "\"o/m\"");
  EXPECT_EQ(testing::launch_field(kFile, "options"),
            R"({"tensor_parallel_size":4,"max_num_seqs":8,"enable_lora":true,)"
            R"("compilation_config":{"mode":3},"cudagraph_capture_sizes":[1,8]})");
  EXPECT_EQ(testing::launch_field(kFile, "warnings"), R"(["yaml_false_ignored"])");
  const LaunchCase cases[] = {
      {"vllm serve o/m --config c.yaml", "warnings", R"(["file_not_seen"])"},
      {"vllm serve o/m --config=c.yaml", "warnings", R"(["config_equals_ignored"])"},
      {"echo '- 1' > c.yaml\nvllm serve o/m --config c.yaml", "errors", R"(["file_invalid"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(VllmLine, ConfigurationFilesGivenBeside) {
  const auto read = read_launch("vllm serve --config conf/serve.yaml --trust-remote-code", {},
                                {{"serve.yaml", "model: o/m\nmax-model-len: 4096\n"}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->model, "o/m");
  EXPECT_EQ(json::dump(read->options.to_json()), R"({"max_model_len":4096})");
  EXPECT_TRUE(read->warnings.empty());
  EXPECT_TRUE(read->files_not_seen.empty());
  // What it said are options of their own now; the rest stays.
  EXPECT_EQ(json::dump(read->kept.to_json()), R"({"trust_remote_code":true})");
  const auto without = read_launch("vllm serve --config conf/serve.yaml");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->files_not_seen, std::vector<std::string>{"conf/serve.yaml"});
  const auto large = read_launch("vllm serve m", {}, {{"x", std::string(kMaxPaste + 1, 'a')}});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
}

TEST(VllmLine, Forms) {
  const LaunchCase cases[] = {
      {"vllm bench latency --model o/m --batch-size 8 -tp 2", "entry", "\"bench latency\""},
      {"vllm bench latency --model o/m --batch-size 8 -tp 2", "ignored", R"(["bench.batch_size"])"},
      {"vllm bench latency --model o/m --batch-size 8 -tp 2", "options",
       R"({"tensor_parallel_size":2})"},
      {"vllm run-batch --model o/m -i in.jsonl", "entry", "\"run-batch\""},
      {"python3 -u -m vllm.entrypoints.api_server --model o/m", "entry",
       "\"vllm.entrypoints.api_server\""},
      {"python -m dynamo.vllm --model o/m -tp 2", "options", R"({"tensor_parallel_size":2})"},
  };
  EXPECT_LAUNCH(cases);
}

}  // namespace
}  // namespace vramwise::engines::launch
