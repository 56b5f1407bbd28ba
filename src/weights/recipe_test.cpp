#include "weights/recipe.h"

#include <gtest/gtest.h>

#include "weights/test_models.h"

namespace vramwise::weights {
namespace {

using testing::kTiny;
using testing::llama;
using testing::with_config;

struct Loaded {
  model::Model model;
  Result<Weights> weights;

  std::string of(std::string_view name) const {
    for (size_t i = 0; i < model.tensors.size(); ++i) {
      if (model.tensors[i].name == name) return describe(weights->recipe->scheme(i));
    }
    return "no such tensor";
  }
};

Loaded load(std::string_view config, int64_t experts = 4) {
  Loaded out{with_config(llama(kTiny, experts), config), {}};
  out.weights = choose_weights(out.model, "");
  if (!out.weights) ADD_FAILURE() << out.weights.error().message;
  return out;
}

constexpr const char* kQ0 = "model.layers.0.self_attn.q_proj.weight";
constexpr const char* kQ1 = "model.layers.1.self_attn.q_proj.weight";
constexpr const char* kO0 = "model.layers.0.self_attn.o_proj.weight";
constexpr const char* kUp0 = "model.layers.0.mlp.experts.{e}.up_proj.weight";
constexpr const char* kDown1 = "model.layers.1.mlp.experts.{e}.down_proj.weight";
constexpr const char* kGate = "model.layers.0.mlp.gate.weight";
constexpr const char* kHead = "lm_head.weight";

TEST(Recipe, Fp8) {
  const Loaded block = load(R"({"quant_method": "fp8", "activation_scheme": "dynamic",
      "weight_block_size": [128, 128], "modules_to_not_convert": ["gate", "lm_head"]})");
  EXPECT_EQ(block.weights->format, "fp8");
  EXPECT_TRUE(block.weights->from_files);
  EXPECT_EQ(block.of(kQ0), "fp8 in blocks of 128x128");
  EXPECT_EQ(block.of(kUp0), "fp8 in blocks of 128x128");  // "gate" names no gate_proj
  EXPECT_EQ(block.of(kGate), "bfloat16");
  EXPECT_EQ(block.of(kHead), "bfloat16");
  const Loaded tensor = load(R"({"quant_method": "fp8", "activation_scheme": "static",
      "weight_block_size": null, "modules_to_not_convert": ["model.layers.1"]})");
  EXPECT_EQ(tensor.of(kQ0), "fp8 per tensor, static input scales");
  EXPECT_EQ(tensor.of(kQ1), "bfloat16");
  const Loaded fbgemm = load(R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
      "modules_to_not_convert": ["model.layers.0.self_attn.q_proj"]})");
  EXPECT_EQ(fbgemm.of(kQ0), "bfloat16");
  EXPECT_EQ(fbgemm.of(kQ1), "fp8 per channel");
}

TEST(Recipe, Fp8WithFourBitExperts) {
  const Loaded own = load(R"({"quant_method": "fp8", "weight_block_size": [128, 128],
      "scale_fmt": "ue8m0", "expert_dtype": "fp4"})");
  EXPECT_EQ(own.of(kUp0), "MXFP4");
  EXPECT_EQ(own.of(kQ0), "fp8 in blocks of 128x128");
  // Re-quantised: listed experts are NVFP4, by name or by pattern; the ignore list is NVFP4's.
  for (const char* key : {"model.layers.0.mlp.experts", "model.layers.*.mlp.experts"}) {
    const Loaded again =
        load(std::string(R"({"quant_method": "fp8", "weight_block_size": [128, 128],
        "scale_fmt": "ue8m0", "expert_dtype": "fp4", "quant_algo": "MIXED_PRECISION",
        "ignore": ["*.self_attn.*"], "quantized_layers": {")") +
             key + R"(": {"quant_algo": "NVFP4", "group_size": 16}}})");
    EXPECT_EQ(again.of(kUp0), "NVFP4") << key;
    EXPECT_EQ(again.of(kQ0), "fp8 in blocks of 128x128") << key;
    EXPECT_EQ(again.of(kDown1), contains(key, "*") ? "NVFP4" : "MXFP4") << key;
  }
}

TEST(Recipe, IntegerGroups) {
  const Loaded awq = load(R"({"quant_method": "awq", "bits": 4, "group_size": 64,
      "zero_point": true, "version": "gemm", "modules_to_not_convert": ["self_attn."]})");
  EXPECT_EQ(awq.of(kUp0), "AWQ 4-bit, groups of 64 with zero points");
  EXPECT_EQ(awq.of(kQ0), "bfloat16");
  const Loaded gptq = load(R"({"quant_method": "gptq", "bits": 8, "group_size": -1,
      "desc_act": true, "sym": true,
      "dynamic": {"-:.*\\.self_attn\\..*": {}, "+:.*layers\\.1\\..*down.*": {"bits": 4}}})");
  EXPECT_EQ(gptq.weights->format, "gptq-int8");
  EXPECT_EQ(gptq.of(kQ0), "bfloat16");
  EXPECT_EQ(gptq.of(kUp0), "GPTQ 8-bit, one group per row, act order");
  EXPECT_EQ(gptq.of(kDown1), "GPTQ 4-bit, one group per row, act order");
  const Loaded some = load(R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
      "modules_in_block_to_quantize": [["self_attn.q_proj"], ["mlp.down_proj"]]})",
                           0);
  EXPECT_EQ(some.of(kQ0), "GPTQ 4-bit, groups of 128");
  EXPECT_EQ(some.of(kO0), "bfloat16");
  const Loaded round = load(R"({"quant_method": "auto-round", "bits": 4, "group_size": 128,
      "sym": true, "packing_format": "auto_round:auto_gptq",
      "extra_config": {"model.layers.0.self_attn.q_proj": {"bits": 16}}})");
  EXPECT_EQ(round.of(kQ0), "bfloat16");
  EXPECT_EQ(round.of(kQ1), "GPTQ 4-bit, groups of 128");
}

TEST(Recipe, CompressedTensors) {
  const Loaded int4 = load(R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
      "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, "weights":
        {"num_bits": 4, "group_size": 32, "strategy": "group", "symmetric": true, "type": "int"}}},
      "ignore": ["lm_head", "re:.*self_attn.*"], "kv_cache_scheme": {"num_bits": 8, "type": "float"}})");
  EXPECT_EQ(int4.weights->format, "w4a16");
  EXPECT_EQ(int4.weights->recipe->kv_cache_dtype, "fp8");
  EXPECT_EQ(int4.of(kQ0), "bfloat16");
  EXPECT_EQ(int4.of(kUp0), "compressed-tensors 4-bit, groups of 32");
  const Loaded fp8 = load(R"({"quant_method": "compressed-tensors", "format": "float-quantized",
      "config_groups": {"group_0": {"targets": ["Linear"],
        "input_activations": {"num_bits": 8, "type": "float", "dynamic": true, "strategy": "token"},
        "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": true}}},
      "ignore": ["lm_head", "re:.*mlp.gate$"]})");
  EXPECT_EQ(fp8.weights->format, "fp8-channel");
  EXPECT_EQ(fp8.of(kQ0), "fp8 per channel");
  const Loaded mixed = load(R"({"quant_method": "compressed-tensors", "config_groups": {
      "a": {"targets": ["re:.*down_proj$"], "weights": {"num_bits": 8, "type": "float",
            "strategy": "block", "block_structure": "128x128"}},
      "b": {"targets": ["Linear"], "format": "nvfp4-pack-quantized",
            "input_activations": {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": "local"},
            "weights": {"num_bits": 4, "type": "float", "group_size": 16, "strategy": "tensor_group"}}}})");
  EXPECT_EQ(mixed.of(kDown1), "fp8 in blocks of 128x128");
  EXPECT_EQ(mixed.of(kUp0), "NVFP4");
  EXPECT_EQ(mixed.of(kHead), "NVFP4");  // not ignored, so it is a Linear as well
  const Loaded int8 = load(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
      "targets": ["Linear"], "input_activations": {"num_bits": 8, "type": "int"},
      "weights": {"num_bits": 8, "type": "int", "strategy": "channel"}}}, "ignore": ["lm_head"]})");
  EXPECT_EQ(int8.weights->format, "w8a8");
}

TEST(Recipe, ModelOpt) {
  const Loaded nested = load(R"({"producer": {"name": "modelopt"}, "quantization": {
      "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
      "exclude_modules": ["lm_head", "model.layers.0*", "*.mlp.gate"]}})");
  EXPECT_EQ(nested.weights->format, "nvfp4");
  EXPECT_EQ(nested.weights->recipe->kv_cache_dtype, "fp8");
  EXPECT_TRUE(nested.weights->recipe->kv_dtype_from_hf_quant_config);
  EXPECT_EQ(nested.of(kQ0), "bfloat16");
  EXPECT_EQ(nested.of(kQ1), "NVFP4");
  const Loaded flat =
      load(R"({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"],
      "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": false}})");
  EXPECT_EQ(flat.of(kQ0), "fp8 per tensor, static input scales");
  EXPECT_FALSE(flat.weights->recipe->kv_dtype_from_hf_quant_config);
  const Loaded mixed = load(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
      "quantized_layers": {"model.layers.0.mlp.experts": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
        "model.layers.1.mlp.experts.0.down_proj": {"quant_algo": "MXFP8"},
        "model.layers.0.self_attn.o_proj": {"quant_algo": "FP8"},
        "lm_head": {"quant_algo": "NVFP4"}}})");
  EXPECT_EQ(mixed.of(kUp0), "NVFP4 weights only");
  EXPECT_EQ(mixed.of(kDown1), "MXFP8");
  EXPECT_EQ(mixed.of(kO0), "fp8 per tensor, static input scales");
  EXPECT_EQ(mixed.of(kQ0), "bfloat16");
  EXPECT_EQ(mixed.of(kHead), "NVFP4");
}

TEST(Recipe, Others) {
  const Loaded mxfp4 = load(R"({"quant_method": "mxfp4",
      "modules_to_not_convert": ["model.layers.*.self_attn", "model.embed_tokens", "lm_head"]})");
  EXPECT_EQ(mxfp4.of(kUp0), "MXFP4");
  EXPECT_EQ(mxfp4.of(kQ0), "bfloat16");
  const Loaded bnb = load(R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
      "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true,
      "llm_int8_skip_modules": ["lm_head", "model.layers.1.mlp"]})");
  EXPECT_EQ(bnb.of(kQ0), "bitsandbytes 4-bit, nested absmax");
  EXPECT_EQ(bnb.of(kDown1), "bfloat16");
  const Loaded quark = load(R"({"quant_method": "quark", "exclude": ["lm_head", "*self_attn*"],
      "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}},
      "layer_quant_config": {"*layers.1*down_proj": {"weight": {"dtype": "fp8_e4m3",
        "qscheme": "per_tensor"}}}})");
  EXPECT_EQ(quark.of(kUp0), "MXFP4");
  EXPECT_EQ(quark.of(kDown1), "fp8 per tensor");
  EXPECT_EQ(quark.of(kQ0), "bfloat16");
  const Loaded mlx = load(R"({"group_size": 64, "bits": 4, "mode": "affine",
      "model.layers.0.self_attn.q_proj": {"group_size": 64, "bits": 8}, "lm_head": false})");
  EXPECT_EQ(mlx.of(kQ0), "MLX 8-bit, groups of 64 with scale and bias");
  EXPECT_EQ(mlx.of(kQ1), "MLX 4-bit, groups of 64 with scale and bias");
  EXPECT_EQ(mlx.of(kHead), "bfloat16");
  EXPECT_EQ(mlx.weights->notes.warnings.size(), 1u);
}

TEST(Recipe, AskingForTheOwnFormatKeepsTheOwnConfig) {
  const model::Model m = with_config(llama(kTiny), R"({"quant_method": "fp8",
      "activation_scheme": "static", "weight_block_size": null})");
  EXPECT_TRUE(choose_weights(m, "fp8")->from_files);
  EXPECT_FALSE(choose_weights(m, "awq")->from_files);
  EXPECT_FALSE(choose_weights(m, "bf16")->from_files);
}

TEST(Recipe, FaultsHavePlaces) {
  struct {
    const char* config;
    ErrorCode code;
    const char* pointer;
  } const cases[] = {
      {R"({"quant_method": "hqq"})", ErrorCode::unsupported, ""},
      {R"({"quant_method": 7})", ErrorCode::invalid_input, "/quant_method"},
      {R"({"bits": 4})", ErrorCode::missing_field, ""},
      {R"({"quant_method": "fp8", "weight_block_size": [128]})", ErrorCode::invalid_input,
       "/weight_block_size"},
      {R"({"quant_method": "awq", "bits": 4, "group_size": 96})", ErrorCode::inconsistent, ""},
      {R"({"quant_method": "awq", "modules_to_not_convert": [1]})", ErrorCode::invalid_input,
       "/modules_to_not_convert/0"},
      {R"({"quant_method": "modelopt", "quant_algo": "FP3"})", ErrorCode::unsupported, ""},
      {R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"],
          "weights": {"num_bits": 4, "type": "int"}}}, "ignore": ["re:("]})",
       ErrorCode::invalid_input, "/ignore/0"},
      {R"({"quant_method": "gptq", "dynamic": {"-:[": {}}})", ErrorCode::invalid_input, nullptr},
  };
  for (const auto& c : cases) {
    const auto w = choose_weights(with_config(llama(kTiny), c.config), "");
    ASSERT_FALSE(w) << c.config;
    EXPECT_EQ(w.error().code, c.code) << c.config << ": " << w.error().message;
    if (!c.pointer) continue;
    EXPECT_EQ(w.error().where.pointer, c.pointer) << c.config;
  }
}

TEST(ModuleList, NamesWholeComponents) {
  ModuleList list;
  for (const char* entry :
       {"gate", "model.layers.1", "vision*", "model.layers.*.router", "re:.*x$"}) {
    ASSERT_TRUE(list.add(entry));
  }
  EXPECT_TRUE(list.matches("model.layers.5.mlp.gate"));
  EXPECT_FALSE(list.matches("model.layers.5.mlp.gate_proj"));
  EXPECT_TRUE(list.matches("model.layers.1.self_attn.q_proj"));
  EXPECT_FALSE(list.matches("model.layers.10.self_attn.q_proj"));
  EXPECT_TRUE(list.matches("vision_tower.blocks.0"));
  EXPECT_FALSE(list.matches("model.vision_tower"));
  EXPECT_TRUE(list.matches("model.layers.3.router"));
  EXPECT_TRUE(list.matches("model.layers.3.router.proj"));
  EXPECT_FALSE(list.matches("model.layers.3.routers"));
  EXPECT_TRUE(list.matches("axx"));
  EXPECT_FALSE(list.matches(""));
}

TEST(ModuleList, FindsPrefixesAmongNeighbours) {
  ModuleList list;
  for (const char* entry : {"a.b*", "a.bcd*", "a.bz*"}) ASSERT_TRUE(list.add(entry));
  EXPECT_TRUE(list.matches("a.bcx"));
  EXPECT_TRUE(list.matches("a.b"));
  EXPECT_TRUE(list.matches("a.bzz"));
  EXPECT_FALSE(list.matches("a.a"));
  EXPECT_FALSE(list.matches("a"));
  EXPECT_FALSE(list.matches("b"));
}

}  // namespace
}  // namespace vramwise::weights
