#include "model/from_config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::model {
namespace {

constexpr std::string_view kQwen3 = R"({
  "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096,
  "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
  "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "torch_dtype": "bfloat16",
  "max_position_embeddings": 40960, "tie_word_embeddings": false})";

json::Value parsed(std::string_view text) {
  auto value = json::parse(text, "config.json");
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : json::Value();
}

Result<Model> build(const json::Value& config, std::string_view family = {}) {
  return from_config(json::Reader(config, "config.json"), "id", family);
}

Result<Model> with(std::string_view key, json::Value value) {
  json::Value config = parsed(kQwen3);
  config.set(key, std::move(value));
  return build(config);
}

// Config of google/gemma-3-4b-it: its text model leaves out the vocabulary, 262,208 with the image
// token; the tokenizer, and so a GGUF file, has 262,144.
TEST(FromConfig, GgufFilesOfGemma3HoldTheRowsOfTheTokenizer) {
  const auto model = build(parsed(R"({
    "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": {
      "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
      "num_hidden_layers": 34, "sliding_window": 1024}})"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->vocab_size, 262'208);
  EXPECT_EQ(model->gguf.vocab_rows, 262'144);
}

// Vision and MTP layer of LGAI-EXAONE/EXAONE-4.5-33B: together the hub counts 34,350,097,664.
TEST(FromConfig, ExaoneTowerHasFewerHeadsForKeys) {
  const auto model = build(parsed(R"({
    "model_type": "exaone4_5", "tie_word_embeddings": false, "text_config": {
      "model_type": "exaone4_5_text", "hidden_size": 5120, "intermediate_size": 27392,
      "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 64,
      "num_nextn_predict_layers": 1, "sliding_window": 4096, "sliding_window_pattern": "LLLG",
      "vocab_size": 153600},
    "vision_config": {"depth": 28, "hidden_size": 2048, "intermediate_size": 5120, "num_heads": 32,
      "num_key_value_heads": 8, "out_hidden_size": 5120, "patch_size": 14, "spatial_merge_size": 2,
      "temporal_patch_size": 2}})"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(parameter_count(*model), 33'813'987'328);
  EXPECT_EQ(parameter_count(*model) + mtp_parameter_count(*model), 34'350'097'664);
}

TEST(FromConfig, Qwen3) {
  const auto model = build(parsed(kQwen3));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->id, "id");
  EXPECT_EQ(model->architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(parameter_count(*model), 8'190'735'360);
  EXPECT_EQ(kv_bytes_per_token(*model).count(), 147'456);
  EXPECT_EQ(model->max_positions, 40960);
  EXPECT_EQ(model->gguf.architecture, "qwen3");
  ASSERT_EQ(model->layers.size(), 36u);
  const auto& block = std::get<AttentionBlock>(model->layers[0].mixers.front());
  EXPECT_EQ(block.qk_norm, QkNorm::per_head);
  EXPECT_FALSE(block.qkv_bias);
  ASSERT_EQ(model->rope_tables.size(), 1u);
  EXPECT_EQ(model->rope_tables[0].positions, 40960);
  EXPECT_EQ(model->rope_tables[0].rotary_dim, 128);
}

TEST(FromConfig, NullCountsAsAbsent) {
  const auto model = with("head_dim", nullptr);
  ASSERT_TRUE(model);
  EXPECT_EQ(parameter_count(*model), 8'190'735'360);  // the class default is 128
}

struct Fault {
  std::string_view key;
  json::Value value;
  ErrorCode code;
  std::string_view says;
};

TEST(FromConfig, Faults) {
  const Fault faults[] = {
      // kinds
      {"hidden_size", "4096", ErrorCode::invalid_input, "hidden_size"},
      {"vocab_size", 1.5, ErrorCode::invalid_input, "vocab_size"},
      {"attention_bias", 1, ErrorCode::invalid_input, "attention_bias"},
      {"architectures", 3, ErrorCode::internal, ""},
      // ranges
      {"num_hidden_layers", -3, ErrorCode::invalid_input, "num_hidden_layers"},
      {"num_hidden_layers", 0, ErrorCode::invalid_input, "num_hidden_layers"},
      {"num_hidden_layers", 10001, ErrorCode::too_large, "10001"},
      {"hidden_size", int64_t{1} << 40, ErrorCode::too_large, "hidden_size"},
      {"num_attention_heads", 1e30, ErrorCode::too_large, "num_attention_heads"},
      {"intermediate_size", int64_t{1} << 32, ErrorCode::internal, ""},
      // contradictions
      {"num_key_value_heads", 7, ErrorCode::inconsistent, "32"},
      // missing
      {"hidden_size", nullptr, ErrorCode::missing_field, "hidden_size"},
      {"vocab_size", nullptr, ErrorCode::missing_field, "vocab_size"},
      {"torch_dtype", "int7", ErrorCode::unsupported, "int7"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(std::string(fault.key) + " = " + json::dump(fault.value));
    const auto model = with(fault.key, fault.value);
    if (fault.code == ErrorCode::internal) {
      EXPECT_TRUE(model);  // odd, but it describes a model
      continue;
    }
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, fault.code) << model.error().message;
    EXPECT_TRUE(contains(model.error().message, fault.says)) << model.error().message;
  }
}

TEST(FromConfig, InconsistentHeadsNameBothValues) {
  json::Value config = parsed(R"({"model_type": "llama", "hidden_size": 4100, "vocab_size": 100,
    "intermediate_size": 100, "num_hidden_layers": 2, "num_attention_heads": 32})");
  const auto model = build(config);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::inconsistent);
  EXPECT_TRUE(contains(model.error().message, "4100")) << model.error().message;
  EXPECT_EQ(model.error().where.pointer, "/num_attention_heads");
  EXPECT_TRUE(contains(model.error().message, "32")) << model.error().message;
}

TEST(FromConfig, MoreExpertsVisitedThanThere) {
  json::Value config = parsed(kQwen3);
  config.set("model_type", "qwen3_moe");
  config.set("num_experts", 8);
  config.set("num_experts_per_tok", 9);
  config.set("moe_intermediate_size", 768);
  const auto model = build(config);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::inconsistent);
  EXPECT_TRUE(contains(model.error().message, "9")) << model.error().message;
}

TEST(FromConfig, MoreParametersThanAnswersCanHold) {
  json::Value config = parsed(R"({"model_type": "llama", "hidden_size": 4294967296,
    "vocab_size": 4294967296, "intermediate_size": 4294967296, "num_hidden_layers": 10000,
    "num_attention_heads": 4096, "head_dim": 1048576})");
  const auto model = build(config);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::too_large);
}

TEST(FromConfig, FaultsHaveAPlace) {
  constexpr std::string_view kText = "{\"model_type\": \"llama\",\n \"hidden_size\": \"big\"}";
  const json::Value config = parsed(kText);
  const auto model = from_config(json::Reader(config, "config.json", kText), "id");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().where.source, "config.json");
  EXPECT_EQ(model.error().where.pointer, "/hidden_size");
  EXPECT_EQ(model.error().where.line, 2);
}

TEST(FromConfig, KeysOfNoModelResembleNone) {
  const auto model = build(parsed("{}"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::unsupported);
  ASSERT_FALSE(model.error().hints.empty());
  EXPECT_TRUE(contains(model.error().hints.back(), "config.json"));
  EXPECT_FALSE(contains(model.error().hints.back(), "--assume-family"));
}

TEST(FromConfig, UnknownFamilySaysWhatItResembles) {
  const struct {
    std::string_view config, family;
  } cases[] = {
      {R"({"model_type": "newthing", "hidden_size": 1})", "llama"},
      {R"({"model_type": "newthing", "kv_lora_rank": 512})", "deepseek_v3"},
      {R"({"model_type": "newthing", "num_experts": 8})", "qwen3_moe"},
      {R"({"model_type": "newthing", "linear_num_key_heads": 8})", "qwen3_next"},
      {R"({"model_type": "newthing", "text_config": {"num_experts": 8}})", "qwen3_moe"},
      {R"({"model_type": "newthing", "num_experts": 8, "shared_expert_intermediate_size": 8})",
       "qwen2_moe"},
      {R"({"model_type": "newthing", "mamba_d_ssm": 64})", "falcon_h1"},
      {R"({"model_type": "newthing", "compress_ratios": [0, 4]})", "deepseek_v4"},
      {R"({"model_type": "newthing", "compress_ratios": [2], "kv_source_layer_ids": [0]})",
       "deepseek_v41"},
      {R"({"hidden_size": 1})", "llama"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.config);
    const auto model = build(parsed(c.config));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::unsupported);
    ASSERT_FALSE(model.error().hints.empty());
    EXPECT_TRUE(contains(model.error().hints.back(), "--assume-family " + std::string(c.family)))
        << model.error().hints.back();
    // What is proposed has to be a family that can be passed.
    const auto known = known_model_types();
    EXPECT_NE(std::find(known.begin(), known.end(), c.family), known.end());
  }
  const auto near = build(parsed(R"({"model_type": "qwen33"})"));
  ASSERT_FALSE(near);
  EXPECT_TRUE(contains(near.error().hints.front(), "qwen3")) << near.error().hints.front();
}

TEST(FromConfig, FilesThatLookLikeConfigs) {
  struct Case {
    const char *config, *says;
  };
  const Case cases[] = {
      {R"({"peft_type":"LORA","base_model_name_or_path":"org/base","r":16})", "'org/base'"},
      {R"({"_class_name":"FluxTransformer2DModel","_diffusers_version":"0.30"})", "diffusion"},
      {R"({"dim":5120,"n_layers":40,"n_heads":32,"vocab_size":131072})", "params.json"},
  };
  for (const Case& c : cases) {
    const auto model = build(parsed(c.config));
    ASSERT_FALSE(model) << c.config;
    EXPECT_NE(model.error().message.find(c.says), std::string::npos) << model.error().message;
    EXPECT_FALSE(model.error().hints.empty());
  }
}

TEST(FromConfig, AssumedFamily) {
  json::Value config = parsed(kQwen3);
  config.set("model_type", "qwen3_plus");
  config.set("architectures", json::Value::array());
  ASSERT_FALSE(build(config));
  const auto model = build(config, "qwen3");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->model_type, "qwen3_plus");
  EXPECT_EQ(model->gguf.architecture, "");  // nobody has converted it yet
  ASSERT_FALSE(model->notes.assumptions.empty());
  EXPECT_EQ(model->notes.assumptions.back().id, "assumed_family");
  EXPECT_FALSE(build(config, "nonsense"));
}

TEST(FromConfig, ClassStandsInForModelType) {
  json::Value config = parsed(kQwen3);
  config.erase("model_type");
  const auto model = build(config);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(parameter_count(*model), 8'190'735'360);
}

// A class that no rule lists spells its model_type; one that spells none is told the nearest.
TEST(FromConfig, ClassSpellsTheModelType) {
  const auto build = [](std::string_view name) {
    const std::string text = R"({"architectures":[")" + std::string(name) +
                             R"("],"hidden_size":64,"intermediate_size":128,"head_dim":16,
      "num_attention_heads":4,"num_hidden_layers":2,"vocab_size":100})";
    const json::Value config = *json::parse(text, "config.json");
    return from_config(json::Reader(config, "config.json"), "x");
  };
  const auto gemma = build("Gemma2ForCausalLM");
  ASSERT_TRUE(gemma) << gemma.error().message;
  EXPECT_TRUE(gemma->layers[0].post_ffn_norm);
  const auto unknown = build("Gemma22ForCausalLM");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().hints.front().find("gemma2"), std::string::npos);
}

TEST(FromConfig, NotAnObject) {
  for (const std::string_view text : {"[]", "3", "\"llama\"", "null"}) {
    EXPECT_FALSE(build(parsed(text))) << text;
  }
}

TEST(FromConfig, QuantizationIsCopiedFromWhereverItStands) {
  json::Value config = parsed(kQwen3);
  config.set("quantization_config", parsed(R"({"quant_method": "fp8"})"));
  const auto model = build(config);
  ASSERT_TRUE(model);
  ASSERT_NE(model->quantization_config.find("quant_method"), nullptr);
  EXPECT_TRUE(build(parsed(kQwen3))->quantization_config.is_null());
}

// Command-R says 8,192 positions and was trained on 131,072; source as in rope.cpp.
TEST(FromConfig, TheLengthThatAModelWasTrainedOnGoesBeforeItsPositions) {
  EXPECT_EQ(with("model_max_length", parsed("131072"))->max_positions, 131072);
  EXPECT_EQ(with("model_max_length", parsed("null"))->max_positions, 40960);
}

struct Scaling {
  std::string_view rope;
  int64_t positions, original, rows;
  bool long_rope;
};

// Source: vllm/config/model.py; vllm/model_executor/layers/rotary_embedding.
TEST(FromConfig, RopeScalingAndPositions) {
  const Scaling cases[] = {
      {R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})", 131072,
       32768, 131072, false},
      {R"({"type": "linear", "factor": 2})", 81920, 0, 81920, false},
      {R"({"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192})", 40960,
       0, 40960, false},
      {R"({"type": "longrope", "original_max_position_embeddings": 4096})", 40960, 4096,
       40960 + 4096, true},
      {R"({"rope_type": "default"})", 40960, 0, 40960, false},
  };
  for (const Scaling& c : cases) {
    SCOPED_TRACE(c.rope);
    const auto model = with("rope_scaling", parsed(c.rope));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->max_positions, c.positions);
    EXPECT_EQ(model->original_positions.value_or(0), c.original);
    EXPECT_EQ(model->long_rope, c.long_rope);
    ASSERT_EQ(model->rope_tables.size(), 1u);
    EXPECT_EQ(model->rope_tables[0].positions, c.rows);
  }
}

// No single hostile value may crash, hang or give a number beyond 2^53.
TEST(FromConfig, HostileValues) {
  const json::Value hostile[] = {nullptr,
                                 true,
                                 -1,
                                 0,
                                 1,
                                 3,
                                 int64_t{1} << 20,
                                 int64_t{1} << 32,
                                 kLargestExactInteger,
                                 kInt64Max,
                                 0.5,
                                 1e300,
                                 "",
                                 "auto",
                                 json::Value::array(),
                                 json::Value::object(),
                                 json::Value(json::Array{json::Value(1), json::Value("x")})};
  constexpr std::string_view kConfigs[] = {
      kQwen3,
      R"({"model_type": "deepseek_v32", "hidden_size": 64, "intermediate_size": 64,
          "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100, "q_lora_rank": 16,
          "kv_lora_rank": 16, "index_n_heads": 2, "index_head_dim": 8, "n_routed_experts": 4,
          "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_shared_experts": 1,
          "first_k_dense_replace": 1, "num_nextn_predict_layers": 1, "moe_layer_freq": 1})",
      R"({"model_type": "gemma4", "text_config": {"hidden_size": 64, "intermediate_size": 64,
          "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2,
          "vocab_size": 100, "head_dim": 16, "global_head_dim": 32, "num_kv_shared_layers": 2,
          "sliding_window": 8, "hidden_size_per_layer_input": 4, "enable_moe_block": true,
          "num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 8},
          "vision_config": {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
          "patch_size": 2, "num_attention_heads": 2, "position_embedding_size": 4}})",
      R"({"model_type": "nemotron_h", "hidden_size": 64, "hybrid_override_pattern": "M*-E",
          "num_hidden_layers": 4, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
          "vocab_size": 100, "mamba_num_heads": 4, "mamba_head_dim": 8, "n_routed_experts": 4,
          "num_experts_per_tok": 1, "moe_intermediate_size": 8})",
      R"({"model_type": "whisper", "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
          "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_attention_heads": 4,
          "num_mel_bins": 8, "vocab_size": 100})"};
  for (const std::string_view text : kConfigs) {
    const json::Value base = parsed(text);
    ASSERT_TRUE(build(base)) << text;
    for (const json::Member& member : base.as_object()) {
      for (const json::Value& value : hostile) {
        json::Value config = base;
        config.set(member.key, value);
        const auto model = build(config);
        if (model) {
          EXPECT_LE(parameter_count(*model), kLargestExactInteger);
        } else {
          EXPECT_NE(model.error().message, "");
          EXPECT_NE(model.error().code, ErrorCode::internal);
        }
      }
    }
  }
}

// The keys as the config has them; Qwen says depth, which is not one of them.
TEST(FromConfig, VisionTowerAsTheConfigNamesIt) {
  const auto named = [](std::string_view tower) {
    const auto model = build(parsed(R"({"model_type": "llava_onevision", "text_config": {
        "model_type": "qwen2", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 32}, "vision_config": {
        "intermediate_size": 6, "patch_size": 2, "image_size": 4, "num_attention_heads": 2, )" +
                                    std::string(tower) + "}}"));
    EXPECT_TRUE(model) << (model ? "" : model.error().message);
    return model && model->vision ? model->vision->named : std::nullopt;
  };
  const auto both = named(R"("hidden_size": 4, "num_hidden_layers": 2)");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->hidden_size, 4);
  EXPECT_EQ(both->layers, 2);
}

}  // namespace
}  // namespace vramwise::model
