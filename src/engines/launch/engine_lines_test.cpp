// Lines of every engine but vLLM: SGLang, llama.cpp, TensorRT-LLM, Ollama and the small ones.
#include <gtest/gtest.h>

#include "support/launch.h"

namespace vramwise::engines::launch {
namespace {

using testing::launch_field;
using testing::LaunchCase;

TEST(SglangLine, PlainArgparse) {
  const LaunchCase cases[] = {
      {"sglang serve o/m --tp 4", "options", R"({"tp_size":4})"},
      {"sglang serve --model-type llm o/m --tp=4", "model", "\"o/m\""},
      {"sglang serve --model-path o/m --ep 4", "options", R"({"ep_size":4})"},
      {"python -m sglang.launch_server --model o/m --chunked-prefill 4096", "options",
       R"({"chunked_prefill_size":4096})"},
      {"sglang serve o/m --pp 2", "errors", R"(["ambiguous_prefix"])"},
      {"sglang serve o/m --tp_size 2", "errors", R"(["underscore_refused"])"},
      {"sglang serve o/m --disable-radix-cache true", "errors", R"(["stray_word"])"},
      {"sglang serve o/m --no-enable-lora", "unknown",
       R"([{"token":"--no-enable-lora","value":"","nearest":"--enable-lora"}])"},
      {"sglang serve o/m --context-length 64Ki --max-prefill-tokens 8k", "options",
       R"({"context_length":65536,"max_prefill_tokens":8000})"},
      {"sglang serve o/m --context-length 64K", "errors", R"(["suffix_refused"])"},
      {"sglang serve o/m --cuda-graph-bs 1 2 4", "options", R"({"cuda_graph_bs_decode":[1,2,4]})"},
      {"sglang serve o/m --disable-piecewise-cuda-graph", "options",
       R"({"cuda_graph_backend_prefill":"disabled"})"},
      {"sglang serve o/m --enable-ep-moe", "removed", R"(["enable_ep_moe"])"},
      {"python -m sglang.launch_server --tp 2", "errors", R"(["missing_model"])"},
      {"python -m sglang_router.launch_server --model-path o/m --dp 2 --router-policy cache_aware",
       "options", R"({"dp_size":2})"},
      {"cat > r.yml <<X\nmodel-path: o/m\ntp-size: 2\nenable-lora: true\nX\nsglang serve --config "
       "r.yml --tp-size 4",
       "options", R"({"tp_size":4,"enable_lora":true})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(LlamaLine, WholeTokensOnly) {
  const LaunchCase cases[] = {
      {"llama-server -m a.gguf --ctx_size 4096 --n_gpu_layers 9", "options",
       R"({"ctx_size":4096,"n_gpu_layers":9})"},
      {"llama-server -m a.gguf --ctx 4096", "unknown",
       R"([{"token":"--ctx","value":"4096","nearest":""}])"},
      {"llama-server -m a.gguf -c=4096", "errors", R"(["equals_not_allowed"])"},
      {"llama-server -m a.gguf -ngl99", "unknown",
       R"([{"token":"-ngl99","value":"","nearest":""}])"},
      {"llama-server -m a.gguf -c", "errors", R"(["missing_value"])"},
      {"llama-server -m a.gguf extra", "errors", R"(["stray_word"])"},
      {"llama-server -m a.gguf --tensor-parallel-size 2", "errors", R"(["other_engine"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(LlamaLine, Values) {
  const LaunchCase cases[] = {
      {"llama-server -m a.gguf -c 16k", "options", R"({"ctx_size":16})"},
      {"llama-server -m a.gguf -c 16k", "warnings", R"(["suffix_ignored"])"},
      {"llama-server -m a.gguf -c many", "errors", R"(["not_an_integer"])"},
      {"llama-server -m a.gguf -c 99999999999", "errors", R"(["not_an_integer"])"},
      {"llama-server -m a.gguf -ngl all", "options", R"({"n_gpu_layers":"all"})"},
      {"llama-server -m a.gguf -fa 1", "options", R"({"flash_attn":"on"})"},
      {"llama-server -m a.gguf -fa -c 8", "errors", R"(["bad_choice","stray_word"])"},
      {"llama-server -m a.gguf -ctk q9_9", "errors", R"(["bad_choice"])"},
      {"llama-server -m a.gguf -ts 2/1,1", "options", R"({"tensor_split":[2,1,1]})"},
      {"llama-server -m a.gguf -fitt 512,1024", "options", R"({"fit_target":[512,1024]})"},
      {"llama-server -m a.gguf --no-kv-offload --no-mmap", "options",
       R"({"kv_offload":false,"mmap":false})"},
      {"llama-server -m a.gguf -ot 'a=CPU,b=CUDA0' -ot c=CPU", "options",
       R"({"override_tensor":["a=CPU","b=CUDA0","c=CPU"]})"},
      {"llama-server -m a.gguf -c 8 -c 16", "warnings", R"(["last_wins"])"},
      {"llama-server -m a.gguf --draft 8", "removed", R"(["draft_max"])"},
      {"llama-server -m a.gguf -fmoe", "warnings", R"(["fork_option"])"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(LlamaLine, VariablesComeFirst) {
  const LaunchCase cases[] = {
      {"LLAMA_ARG_CTX_SIZE=4096 llama-server -m a.gguf", "options", R"({"ctx_size":4096})"},
      {"LLAMA_ARG_CTX_SIZE=4096 llama-server -m a.gguf -c 8", "options", R"({"ctx_size":8})"},
      {"LLAMA_ARG_NO_KV_OFFLOAD=anything llama-server -m a.gguf", "options",
       R"({"kv_offload":false})"},
      {"LLAMA_ARG_SWA_FULL=false llama-server -m a.gguf", "options", "{}"},
      {"LLAMA_ARG_KV_UNIFIED=off llama-server -m a.gguf", "options", R"({"kv_unified":false})"},
      {"LLAMA_ARG_MODEL=b.gguf llama-server", "model", "\"b.gguf\""},
  };
  EXPECT_LAUNCH(cases);
}

TEST(LlamaLine, WhereTheModelComesFrom) {
  const LaunchCase cases[] = {
      {"llama-server -hf o/m:Q8_0", "model", "\"o/m:Q8_0\""},
      {"llama-server -hf o/m -m local.gguf", "model", "\"local.gguf\""},
      {"llama-server -mu http://x/y.gguf", "model", "\"http://x/y.gguf\""},
      {"llama-server --gpt-oss-120b-default -c 4096", "model", "\"ggml-org/gpt-oss-120b-GGUF\""},
      {"llama-server --gpt-oss-120b-default -c 4096", "options",
       R"({"hf_repo":"ggml-org/gpt-oss-120b-GGUF","ctx_size":4096,"batch_size":32768,"ubatch_size":2048,"parallel":2})"},
      {"./server -m a.gguf -c 8", "entry", "\"server\""},
      {"./build/bin/llama-cli.exe -m a.gguf", "entry", "\"llama-cli\""},
      {"llama completion -m a.gguf", "entry", "\"llama completion\""},
      {"python3 -m llama_cpp.server --model a.gguf --n_ctx 4096", "options",
       R"({"ctx_size":4096})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(LlamaLine, Bench) {
  const LaunchCase cases[] = {
      {"llama-bench -m a.gguf -ngl 0-8+4 -ub 128-512*2", "options",
       R"({"bench.n_gpu_layers":[0,4,8],"bench.ubatch_size":[128,256,512]})"},
      {"llama-bench -m a.gguf -p 64 -p 128 -fa on", "options",
       R"({"bench.n_prompt":[64,128],"bench.flash_attn":["on"]})"},
      {"llama-bench -m a.gguf,b.gguf", "model", "\"a.gguf\""},
  };
  EXPECT_LAUNCH(cases);
}

TEST(LlamaLine, Presets) {
  constexpr std::string_view kPreset =
      "version = 1\n[*]\nngl = 99\n[small]\nm = s.gguf\nc = 4096\n[big]\nhf = o/m\nno-mmap = "
      "true\n";
  EXPECT_EQ(launch_field(kPreset, "several"), R"(["small","big"])");
  EXPECT_EQ(launch_field(kPreset, "options"), R"({"n_gpu_layers":99,"ctx_size":4096})");
  EXPECT_EQ(
      launch_field(kPreset, "sections"),
      R"([{"name":"small","model":"s.gguf","options":{"n_gpu_layers":99,"ctx_size":4096}},)"
      R"({"name":"big","model":"o/m","options":{"n_gpu_layers":99,"hf_repo":"o/m","mmap":false}}])");
}

TEST(TrtllmLine, ClickAndYaml) {
  const LaunchCase cases[] = {
      {"trtllm-serve o/m --tp_size 2 --max_batch_size=8", "options",
       R"({"tensor_parallel_size":2,"max_batch_size":8})"},
      {"trtllm-serve serve o/m --tensor_parallel_size 2", "model", "\"o/m\""},
      {"trtllm-serve o/m --max_bat 8", "unknown",
       R"([{"token":"--max_bat","value":"8","nearest":""}])"},
      {"trtllm-serve o/m --max-seq-len 8", "errors", R"(["dash_refused"])"},
      {"trtllm-serve o/m --config e.yml", "warnings", R"(["file_not_seen"])"},
      {"trtllm-serve", "errors", R"(["missing_model"])"},
      {"cat > e.yml <<X\ncuda_graph_config: null\nprint_iter_log: true\nnonsense: "
       "1\nuse_cuda_graph: true\nX\n"
       "trtllm-serve o/m --config e.yml",
       "options", R"({"cuda_graph_config":null})"},
      {"cat > e.yml <<X\ncuda_graph_config: null\nprint_iter_log: true\nnonsense: "
       "1\nuse_cuda_graph: true\nX\n"
       "trtllm-serve o/m --config e.yml",
       "removed", R"(["use_cuda_graph"])"},
      {"cat > e.yml <<X\nmax_batch_size: 4\nX\ntrtllm-serve o/m --config e.yml --max_batch_size 8",
       "options", R"({"max_batch_size":4})"},
      {"cat > e.yml <<X\nkv_cache_config: {dtype: fp8}\nX\n"
       "trtllm-serve o/m --free_gpu_memory_fraction 0.5 --config e.yml",
       "warnings", R"(["yaml_replaces_block"])"},
      {"cat > e.yml <<X\nkv_cache_config: {free_gpu_memory_fraction: 0.7}\nX\n"
       "trtllm-serve o/m --free_gpu_memory_fraction 0.5 --config e.yml",
       "options", R"({"kv_cache_config":{"free_gpu_memory_fraction":0.7}})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(OllamaLine, EnvironmentOfTheServer) {
  const LaunchCase cases[] = {
      {"OLLAMA_NUM_PARALLEL=4 ollama serve", "options", R"({"num_parallel":4})"},
      {"OLLAMA_FLASH_ATTENTION=sure ollama serve", "options", R"({"flash_attention":true})"},
      {"OLLAMA_FLASH_ATTENTION=F ollama serve", "options", R"({"flash_attention":false})"},
      {"OLLAMA_GPU_OVERHEAD=1G ollama serve", "warnings", R"(["suffix_refused"])"},
      {"export OLLAMA_KV_CACHE_TYPE=' q8_0 '\nollama start", "options",
       R"({"kv_cache_type":"q8_0"})"},
      {"OLLAMA_NUM_PARALLEL=4 ollama run m", "warnings", R"(["env_of_client"])"},
      {"OLLAMA_HOST=box ollama run m:1b hello", "warnings", ""},
      {"OLLAMA_HOST=box ollama run m:1b hello", "model", "\"m:1b\""},
      {"docker run -e OLLAMA_NUM_PARALLEL=2 ollama/ollama:rocm", "options",
       R"({"num_parallel":2})"},
      {"docker run -e OLLAMA_NUM_PARALLEL=2 ollama/ollama:rocm", "entry",
       "\"docker ollama serve\""},
      {"docker exec -it ollama ollama run m", "entry", "\"run\""},
  };
  EXPECT_LAUNCH(cases);
}

TEST(OllamaLine, ModelfilesAndRequests) {
  constexpr std::string_view kFile =
      "# a comment\nFrom m:8b\nparameter NUM_CTX 1\nPARAMETER num_ctx 4096\nPARAMETER low_vram "
      "true\n"
      "SYSTEM \"\"\"\nPARAMETER num_gpu 1\n\"\"\"\nPARAMETER stop \"a\"\n";
  EXPECT_EQ(launch_field(kFile, "options"), R"({"num_ctx":4096})");
  EXPECT_EQ(launch_field(kFile, "removed"), R"(["low_vram"])");
  EXPECT_EQ(launch_field(kFile, "ignored"), R"(["stop"])");
  EXPECT_EQ(launch_field(kFile, "unknown"), R"([{"token":"NUM_CTX","value":"1","nearest":""}])");
  const LaunchCase cases[] = {
      {"curl -s http://h:11434/api/chat -d '{\"model\":\"m\",\"options\":{\"num_ctx\":8}}'",
       "options", R"({"num_ctx":8})"},
      {"curl http://h:8000/v1/models", "errors", R"(["no_engine"])"},
      {"cat > Modelfile <<X\nFROM m\nPARAMETER num_gpu 3\nX\nollama create n -f Modelfile",
       "options", R"({"num_gpu":3})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(OtherLines, TheSmallOnes) {
  const LaunchCase cases[] = {
      {"koboldcpp a.gguf 5001 --contextsize 8192 --gpulayers", "options",
       R"({"koboldcpp.contextsize":8192,"koboldcpp.gpulayers":1})"},
      {"koboldcpp --model a.gguf --moecpu --quantkv 3", "options",
       R"({"koboldcpp.moecpu":"all","koboldcpp.quantkv":"bf16"})"},
      {"koboldcpp --config x.kcpps", "warnings", R"(["file_not_seen"])"},
      {"python koboldcpp.py a.gguf -c 4096", "model", "\"a.gguf\""},
      {"mlx_lm.server --model o/m --prompt-cache-bytes 512MB", "options",
       R"({"mlx_lm.prompt_cache_bytes":512000000})"},
      {"text-generation-launcher --model-id o/m --num-shard=2 --trust-remote-code", "options",
       R"({"tgi.num_shard":2})"},
      {"NUM_SHARD=4 text-generation-launcher --model-id o/m --num-shard 2", "options",
       R"({"tgi.num_shard":2})"},
      {"text-generation-launcher --model-id o/m --max-input 9", "unknown",
       R"([{"token":"--max-input","value":"9","nearest":""}])"},
      {"lmdeploy serve api_server o/m --session 4096", "options",
       R"({"lmdeploy.session_len":4096})"},
      {"lms load k/m --gpu 0.5 --context-length 4096", "options",
       R"({"lmstudio.load.gpu":"0.5","lmstudio.load.context_length":4096})"},
      {"mlc_llm serve o/m", "warnings", R"(["not_planned"])"},
      {"docker run nvcr.io/nim/meta/m:1.0", "engine", "\"nim\""},
  };
  EXPECT_LAUNCH(cases);
}

TEST(EngineLines, VariablesNamedLikeTheEnginesOwnAreNotDropped) {
  // Known and harmless, known to matter, and a typing error.
  const std::string line =
      "VLLM_LOGGING_LEVEL=DEBUG VLLM_BATCH_INVARIANT=1 VLLM_ATTENTION_BACKEN=X PATH=/bin "
      "vllm serve o/m";
  const auto read = read_launch(line);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->unknown.size(), 1U);
  EXPECT_EQ(read->unknown[0].token, "VLLM_ATTENTION_BACKEN");
  EXPECT_EQ(read->unknown[0].nearest, "VLLM_ATTENTION_BACKEND");
}

}  // namespace
}  // namespace vramwise::engines::launch
