#include "engines/launch/embedded.h"

#include <gtest/gtest.h>

#include "engines/launch/read_launch.h"

namespace vramwise::engines::launch {
namespace {

std::string options_of(std::string_view line) {
  const auto reading = read_launch(line);
  if (!reading) return "not read";
  const auto found = as_llamacpp(*reading);
  return found ? json::dump(found->options.to_json()) : "none";
}

TEST(Embedded, KoboldCpp) {
  EXPECT_EQ(
      options_of("koboldcpp a.gguf --contextsize 16384 --gpulayers 40 --quantkv 1"),
      R"({"ctx_size":16384,"parallel":1,"batch_size":512,"ubatch_size":512,"n_outputs_max":512,)"
      R"("cache_ram":0,"ctx_checkpoints":0,"flash_attn":"on","cache_type_k":"q8_0",)"
      R"("cache_type_v":"q8_0","n_gpu_layers":40})");
  // Without flash attention values stay as they are; -1 leaves the layers to the program.
  EXPECT_EQ(
      options_of("koboldcpp a.gguf --gpulayers -1 --quantkv 1 --noflashattention --moecpu "
                 "--noswa --lowvram"),
      R"({"swa_full":true,"kv_offload":false,"ctx_size":16384,"parallel":1,"batch_size":512,)"
      R"("ubatch_size":512,"n_outputs_max":512,"cache_ram":0,"ctx_checkpoints":0,"flash_attn":"off","cache_type_k":"q8_0",)"
      R"("cpu_moe":true})");
}

TEST(Embedded, LmStudio) {
  EXPECT_EQ(
      options_of("lms load qwen3-8b --gpu max --context-length 32768"),
      R"({"ctx_size":32768,"parallel":4,"kv_unified":true,"batch_size":512,"ubatch_size":512,"n_gpu_layers":"all"})");
  const auto reading = read_launch("lms load qwen3-8b --gpu 0.5");
  ASSERT_TRUE(reading);
  const auto found = as_llamacpp(*reading);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->options.has("n_gpu_layers"));
  EXPECT_EQ(found->left.size(), 1u);
}

TEST(Embedded, OthersAreNone) { EXPECT_EQ(options_of("vllm serve Qwen/Qwen3-8B"), "none"); }

}  // namespace
}  // namespace vramwise::engines::launch
