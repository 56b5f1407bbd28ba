#include "engines/launch/read_launch.h"

#include <gtest/gtest.h>

#include "support/launch.h"

namespace vramwise::engines::launch {
namespace {

using testing::launch_field;
using testing::LaunchCase;

TEST(ReadLaunch, WrappersAreTakenOff) {
  constexpr std::string_view kWrapped[] = {
      "sudo -E -u me vllm serve o/m -tp 2",
      "env -i -u X A=1 vllm serve o/m -tp 2",
      "nohup nice -n 5 ionice -c 2 vllm serve o/m -tp 2 &",
      "timeout -s INT -k 5 1h vllm serve o/m -tp 2",
      "taskset -c 0-7 vllm serve o/m -tp 2",
      "numactl -N 0 -m 0 vllm serve o/m -tp 2",
      "uv run --with vllm --python 3.12 vllm serve o/m -tp 2",
      "uvx --from vllm vllm serve o/m -tp 2",
      "conda run -n e vllm serve o/m -tp 2",
      "apptainer exec --nv -B a:b img.sif vllm serve o/m -tp 2",
      "bash -lc 'vllm serve o/m -tp 2'",
      "sh -c \"exec vllm serve o/m -tp 2\"",
      "tmux new -d -s x 'vllm serve o/m -tp 2'",
      "screen -dmS x vllm serve o/m -tp 2",
      "script -c 'vllm serve o/m -tp 2' log",
      "ssh -p 22 box vllm serve o/m -tp 2",
      "ray job submit --working-dir . -- vllm serve o/m -tp 2",
      "nsys profile -o out --trace=cuda vllm serve o/m -tp 2",
      "strace -f -o t vllm serve o/m -tp 2",
      "cd /srv && source venv/bin/activate && vllm serve o/m -tp 2 | tee log",
      "if true; then vllm serve o/m -tp 2; fi",
      "docker exec -it box vllm serve o/m -tp 2",
      "kubectl exec -n x pod -- vllm serve o/m -tp 2",
  };
  for (const std::string_view line : kWrapped) {
    EXPECT_EQ(launch_field(line, "options"), R"({"tensor_parallel_size":2})") << line;
    EXPECT_EQ(launch_field(line, "model"), "\"o/m\"") << line;
  }
}

TEST(ReadLaunch, RanksAndSchedulers) {
  const LaunchCase cases[] = {
      {"torchrun --nproc-per-node 2 --nnodes 2 -m sglang.launch_server --model-path o/m",
       "processes", "4"},
      {"mpiexec -np 4 -x A=1 --mca a b trtllm-llmapi-launch trtllm-serve o/m", "processes", "4"},
      {"srun --ntasks 8 --gpus-per-node=4 trtllm-serve o/m", "gpus", "4"},
      {"srun -G 2 vllm serve o/m", "gpus", "2"},
      {"#!/bin/bash\n#SBATCH --gres=gpu:a100:2\nsrun vllm serve o/m -tp 4", "errors",
       R"(["gpu_count"])"},
      {"sbatch --gres=gpu:2 --wrap='vllm serve o/m'", "gpus", "2"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(ReadLaunch, VisibleDevices) {
  const LaunchCase cases[] = {
      {"CUDA_VISIBLE_DEVICES=3,1,x,0 vllm serve o/m", "gpus", "[3,1]"},
      {"CUDA_VISIBLE_DEVICES= vllm serve o/m", "gpus", "0"},
      {"CUDA_VISIBLE_DEVICES=-1 llama-server -m a.gguf", "gpus", "0"},
      {"CUDA_VISIBLE_DEVICES=GPU-aa,GPU-bb vllm serve o/m", "gpus", "2"},
      {"ROCR_VISIBLE_DEVICES=6,7 HIP_VISIBLE_DEVICES=1 vllm serve o/m", "gpus", "[7]"},
      {"docker run --gpus device=4,5 -e CUDA_VISIBLE_DEVICES=1 vllm/vllm-openai o/m", "gpus",
       "[5]"},
      {"docker run --gpus 2 -e CUDA_VISIBLE_DEVICES=0 vllm/vllm-openai o/m", "gpus", "[0]"},
      {"docker run --gpus '\"device=0,1\"' vllm/vllm-openai o/m -tp 4", "errors",
       R"(["gpu_count"])"},
      {"docker run --gpus count=2,capabilities=gpu vllm/vllm-openai o/m", "gpus", "2"},
      {"docker run -e NVIDIA_VISIBLE_DEVICES=void vllm/vllm-openai o/m", "gpus", "0"},
      {"vllm serve o/m -tp $(nvidia-smi -L | wc -l)", "gpus", "\"all\""},
      {"CUDA_VISIBLE_DEVICES=0,1 vllm serve o/m -tp 2 -dp 2", "errors", R"(["gpu_count"])"},
      {"CUDA_VISIBLE_DEVICES=0,1 sglang serve o/m --tp-size 2 --dp-size 2 --enable-dp-attention",
       "errors", ""},
      {"CUDA_VISIBLE_DEVICES=0 sglang serve o/m --tp-size 2 --nnodes 2", "errors", ""},
  };
  EXPECT_LAUNCH(cases);
}

TEST(ReadLaunch, Images) {
  const LaunchCase cases[] = {
      {"docker run -it --rm vllm/vllm-openai:v0.12.0 o/m", "entry", "\"docker vllm/vllm-openai\""},
      {"docker run -it --rm vllm/vllm-openai:v0.12.0 o/m", "version", "\"0.12.0\""},
      {"docker run -p8000:8000 -v a:b public.ecr.aws/q/vllm-release-repo:x o/m", "model",
       "\"o/m\""},
      {"docker run --ipc host rocm/vllm vllm serve o/m", "entry", "\"serve\""},
      {"docker run --entrypoint vllm vllm/vllm-openai serve o/m", "model", "\"o/m\""},
      {"podman run --device nvidia.com/gpu=2 lmsysorg/sglang sglang serve o/m", "gpus", "[2]"},
      {"docker run ghcr.io/ggml-org/llama.cpp:light -m a.gguf", "entry", "\"docker llama-cli\""},
      {"docker run ghcr.io/ggml-org/llama.cpp:full -b -m a.gguf -ngl 9", "entry",
       "\"docker llama-bench\""},
      {"docker run -e KCPP_MODEL=a.gguf -e KCPP_ARGS='--contextsize 9' koboldai/koboldcpp",
       "options", R"({"koboldcpp.contextsize":9})"},
      {"docker run unknown/image vllm serve o/m", "model", "\"o/m\""},
      {"docker build -t x .", "errors", R"(["no_engine"])"},
      {"FROM vllm/vllm-openai:v0.12.0\nENV A=1\nCMD [\"o/m\", \"--dtype\", \"half\"]", "options",
       R"({"dtype":"half"})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(ReadLaunch, Manifests) {
  constexpr std::string_view kCompose =
      "x-gpu: &gpu\n  deploy: {resources: {reservations: {devices: [{driver: nvidia, count: "
      "all}]}}}\n"
      "services:\n  web:\n    image: nginx\n  llm:\n    <<: *gpu\n    image: "
      "vllm/vllm-openai:${TAG:-v0.12.0}\n"
      "    entrypoint: [vllm, serve]\n    command: [\"o/m\", \"--max-model-len=${LEN:-4096}\"]\n"
      "    environment: {A: 1}\n";
  EXPECT_EQ(launch_field(kCompose, "options"), R"({"max_model_len":4096})");
  EXPECT_EQ(launch_field(kCompose, "gpus"), "\"all\"");
  constexpr std::string_view kPod =
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: x\n      image: "
      "lmsysorg/sglang:latest\n"
      "      env:\n        - {name: TP, value: \"2\"}\n"
      "      command: [\"/bin/bash\", \"-c\"]\n      args:\n        - |\n"
      "          export A=1\n          sglang serve o/m \\\n            --tp $TP --unset $(NOPE)\n"
      "      resources: {limits: {amd.com/gpu: 2}}\n";
  EXPECT_EQ(launch_field(kPod, "options"), R"({"tp_size":2})");
  EXPECT_EQ(launch_field(kPod, "gpus"), "2");
  constexpr std::string_view kSwap =
      "models:\n  a:\n    cmd: |\n      llama-server -m a.gguf\n      -c 4096\n  b:\n    cmd: "
      "llama-server -m b.gguf\n";
  EXPECT_EQ(
      launch_field(kSwap, "several"),
      R"([{"name":"a","model":"a.gguf","options":{"ctx_size":4096}},{"name":"b","model":"b.gguf","options":{}}])");
  constexpr std::string_view kUnit =
      "[Unit]\nDescription=x\n[Service]\nEnvironment=CTX=4096\nExecStart=/opt/llama-server -m "
      "a.gguf \\\n -c ${CTX}\n";
  EXPECT_EQ(launch_field(kUnit, "options"), R"({"ctx_size":4096})");
}

TEST(ReadLaunch, PythonAndLogs) {
  const LaunchCase cases[] = {
      {"from vllm import LLM, SamplingParams\nllm = LLM(\n  'o/m',\n  tensor_parallel_size=2,  # "
       "two\n  "
       "max_model_len=\"8k\",\n  enforce_eager=False,\n)\n",
       "options", R"({"tensor_parallel_size":2,"max_model_len":8000,"enforce_eager":false})"},
      {"from vllm import LLM\nllm = LLM(model=name, swap_space=4)", "removed", R"(["swap_space"])"},
      {"from vllm import LLM\nllm = LLM(model=name)", "warnings", R"(["hole"])"},
      {"import sglang\ne = sglang.Engine(model_path='o/m', tp_size=2)", "engine", "\"sglang\""},
      {"from llama_cpp import Llama\nl = Llama(model_path='a.gguf', n_ctx=4096, n_gpu_layers=-1)",
       "options", R"({"ctx_size":4096,"n_gpu_layers":-1})"},
      {"from tensorrt_llm import LLM\nx = LLM('o/m', kv_cache_config=KvCacheConfig(dtype='fp8'))",
       "options", R"({"kv_cache_config":{"dtype":"fp8"}})"},
      {"python -c \"from vllm import LLM; LLM('o/m', max_num_seqs=4)\"", "options",
       R"({"max_num_seqs":4})"},
      {"x non-default args: {'model': 'o/m', 'hf_overrides': {'a': None}, 'new_thing': 1}", "entry",
       "\"log\""},
      {"[x] server_args=ServerArgs(model_path='o/m', tp_size=2, port=1, device=None, zzz=1)",
       "options", R"({"tp_size":2})"},
  };
  EXPECT_LAUNCH(cases);
}

TEST(ReadLaunch, SeveralAndNone) {
  constexpr std::string_view kTwo = "llama-server -m a.gguf -c 8 &\nvllm serve o/m --enforce-eager";
  EXPECT_EQ(launch_field(kTwo, "several"),
            R"([{"model":"a.gguf","options":{"ctx_size":8}},)"
            R"({"engine":"vllm","entry":"serve","model":"o/m","options":{"enforce_eager":true}}])");
  EXPECT_EQ(launch_field("", "errors"), R"(["no_engine"])");
  EXPECT_EQ(launch_field("./start.sh", "errors"), R"(["no_engine"])");
  EXPECT_EQ(launch_field("ls -la", "engine"), "\"\"");
  EXPECT_EQ(launch_field("# vllm serve o/m", "model"), "\"o/m\"");
}

TEST(ReadLaunch, EveryFindingHasASentence) {
  const json::Value answer = testing::launch_answer("llama-server -m a.gguf -c 8k --bogus 1");
  const json::Value* remarks = answer.find("remarks");
  ASSERT_NE(remarks, nullptr);
  ASSERT_EQ(remarks->as_array().size(), 1U);
  EXPECT_EQ(remarks->as_array()[0].find("text")->as_string(),
            "-c 8k is read as 8, probably meant 8192");
}

TEST(ReadLaunch, LimitsHold) {
  const auto large = read_launch(std::string(kMaxPaste + 1, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
  std::string many = "vllm serve o/m";
  for (int i = 0; i < 20'000; ++i) many += " --unknown-option-" + std::to_string(i) + " 1";
  EXPECT_TRUE(read_launch(many));
  std::string dotted = "vllm serve o/m";
  for (int i = 0; i < 20'000; ++i) dotted += " --hf-overrides.k" + std::to_string(i) + " 1";
  EXPECT_TRUE(read_launch(dotted));
  std::string nested = "x";
  for (int i = 0; i < 40; ++i) nested = "bash -c \"" + nested + "\"";
  EXPECT_TRUE(read_launch(nested));
  EXPECT_TRUE(read_launch(std::string("vllm serve \0\xff\xfe a", 16)));
}

}  // namespace
}  // namespace vramwise::engines::launch
