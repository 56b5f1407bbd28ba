#include "weights/gguf_model.h"

#include <gtest/gtest.h>

#include <map>

#include "weights/file_layout.h"
#include "weights/gguf_fused.h"
#include "weights/test_models.h"

namespace vramwise::weights {
namespace {

using testing::kLlama70b;
using testing::kTiny;
using testing::llama;

std::map<std::string, int> count_by_type(const GgufModel& gguf) {
  std::map<std::string, int> counts;
  for (const GgufTensor& t : gguf.tensors) ++counts[std::string(info(t.type).name)];
  return counts;
}

// Dynamic mixtures are named with "UD" and without it; their size is none of a standard one's.
TEST(Gguf, DynamicMixturesAreToldApart) {
  for (const char* name : {"UD-Q4_K_XL", "Q4_K_XL", "q4_k_xl"}) {
    const auto gguf = quantize(llama(kTiny), name);
    ASSERT_FALSE(gguf) << name;
    ASSERT_EQ(gguf.error().hints.size(), 2u) << name;
    EXPECT_EQ(gguf.error().hints[0].rfind("dynamic UD mixtures", 0), 0u) << gguf.error().hints[0];
    EXPECT_EQ(gguf.error().hints[1], "a similar mixture exists: Q4_K_M");
  }
}

TEST(Gguf, Q4KMOfLlama31_70b) {
  model::Model m = llama(kLlama70b);
  m.gguf.rope_freqs = true;  // Llama 3.1 scales its rotary embedding
  m.rope_tables.push_back({131072, 128, false, 1});
  const auto gguf = quantize(m, "Q4_K_M");
  ASSERT_TRUE(gguf);
  // llama-quantize prints 40543.11 MiB: 42,512,531,712 bytes.
  EXPECT_EQ(gguf->tensor_bytes(), Bytes(42'512'531'712));
  // token_embd stays on the host: 128,256 rows x 8192 / 256 x 144 B = 591,003,648 B = 563.62 MiB …
  const GgufTensor* embedding = gguf->find("token_embd.weight");
  ASSERT_TRUE(embedding);
  EXPECT_EQ(embedding->bytes(), Bytes(591'003'648));
  // … and the card holds the rest, 39,979.48 MiB.
  const Bytes on_card = gguf->tensor_bytes() - embedding->bytes();
  EXPECT_EQ(on_card, Bytes(41'921'528'064));
  EXPECT_NEAR(double(on_card.count()) / (1 << 20), 39979.48, 0.005);
  EXPECT_NEAR(gguf->bits_per_weight(), 4.82, 0.005);
  // Eight query heads share a V: Q4_K becomes Q5_K there, where it is not Q6_K already. Of 80 V and
  // 80 down matrices 40 each get Q6_K: the first 10, the last 10, and each third of the 60 between.
  const auto types = count_by_type(*gguf);
  EXPECT_EQ(types.at("Q6_K"), 40 + 40 + 1);  // and the output matrix
  EXPECT_EQ(types.at("Q5_K"), 40);
  EXPECT_EQ(types.at("F32"), 2 * 80 + 1 + 1);  // norms, output_norm, rope_freqs
  EXPECT_EQ(gguf->find("rope_freqs.weight")->extent[0], 64);
}

TEST(Gguf, ConversionNamesAndTypes) {
  const auto gguf = gguf_tensors(llama(kTiny));
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->architecture, "llama");
  EXPECT_EQ(gguf->block_count, 2);
  const GgufTensor* k = gguf->find("blk.1.attn_k.weight");
  ASSERT_TRUE(k);
  EXPECT_EQ(k->extent, (std::array<int64_t, 4>{256, 128, 1, 1}));  // in, out
  EXPECT_EQ(k->type, GgmlType::F16);
  EXPECT_EQ(gguf->find("blk.0.attn_norm.weight")->type, GgmlType::F32);
  EXPECT_TRUE(gguf->find("blk.0.ffn_norm.weight"));
  EXPECT_TRUE(gguf->find("output_norm.weight"));
  EXPECT_TRUE(gguf->find("output.weight"));
  EXPECT_FALSE(gguf_tensors(model::Model{}));  // no architecture known
}

TEST(Gguf, ExpertsAreStacked) {
  const auto gguf = gguf_tensors(llama(kTiny, 8));
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->find("blk.0.ffn_down_exps.weight")->extent,
            (std::array<int64_t, 4>{512, 256, 8, 1}));
  EXPECT_EQ(gguf->find("blk.0.ffn_gate_inp.weight")->type, GgmlType::F32);
  // Eight experts: keys, values and outputs of attention are cheap, so they get more bits.
  const auto mixed = quantize(llama(kTiny, 8), "Q4_K_M");
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->find("blk.0.attn_v.weight")->type, GgmlType::Q8_0);
  EXPECT_EQ(mixed->find("blk.0.attn_k.weight")->type, GgmlType::Q8_0);
  EXPECT_EQ(mixed->find("blk.0.attn_output.weight")->type, GgmlType::Q5_K);
}

TEST(Gguf, FusedExpertsAreSplitWhateverTheirOrder) {
  // [E, in, 2 x out] as gpt-oss stores it and [E, 2 x out, in] as Granite does.
  for (const model::Shape shape : {model::Shape{4, 256, 1024}, model::Shape{4, 1024, 256}}) {
    model::Model m;
    m.gguf.architecture = "any";
    m.hidden_size = 256;
    m.layers.emplace_back();
    m.layers[0].feed_forward = model::MoeFeedForward{.experts = 4, .active = 1, .width = 512};
    testing::add(m, "layers.0.experts.gate_up_proj", shape, model::Role::expert_fused_gate_up, 0);
    testing::add(m, "layers.0.experts.gate_up_proj_bias", {4, 1024},
                 model::Role::expert_fused_gate_up_bias, 0);
    const auto gguf = gguf_tensors(m);
    ASSERT_TRUE(gguf);
    for (const char* name : {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight"}) {
      ASSERT_TRUE(gguf->find(name)) << name;
      EXPECT_EQ(gguf->find(name)->extent, (std::array<int64_t, 4>{256, 512, 4, 1}));
    }
    EXPECT_EQ(gguf->find("blk.0.ffn_up_exps.bias")->extent, (std::array<int64_t, 4>{512, 4, 1, 1}));
    EXPECT_EQ(gguf->find("blk.0.ffn_up_exps.bias")->type, GgmlType::F32);
  }
}

TEST(Gguf, LatentAttentionIsSplitPerHead) {
  model::Model m;
  m.gguf.architecture = "deepseek2";
  m.hidden_size = 2048;
  model::LatentBlock mla;
  mla.query_heads = 16;
  mla.kv_lora_rank = 512;
  mla.nope_dim = mla.value_dim = 128;
  mla.rope_dim = 64;
  m.layers.emplace_back();
  m.layers[0].mixers.push_back(mla);
  testing::add(m, "model.layers.0.self_attn.kv_b_proj.weight", {16 * 256, 512}, model::Role::kv_up,
               0);
  testing::add(m, "model.layers.0.self_attn.kv_a_layernorm.weight", {512}, model::Role::norm, 0);
  const auto gguf = gguf_tensors(m);
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->find("blk.0.attn_k_b.weight")->extent, (std::array<int64_t, 4>{128, 512, 16, 1}));
  EXPECT_EQ(gguf->find("blk.0.attn_v_b.weight")->extent, (std::array<int64_t, 4>{512, 128, 16, 1}));
  EXPECT_TRUE(gguf->find("blk.0.attn_kv_a_norm.weight"));
}

TEST(Gguf, TiedEmbeddingsAreTreatedAsOutput) {
  testing::LlamaShape tied = kTiny;
  tied.tied = true;
  const auto gguf = quantize(llama(tied), "Q4_K_M");
  ASSERT_TRUE(gguf);
  EXPECT_FALSE(gguf->find("output.weight"));
  EXPECT_EQ(gguf->find("token_embd.weight")->type, GgmlType::Q6_K);
}

TEST(Gguf, RowsThatBlocksDoNotDivideFallBack) {
  testing::LlamaShape odd = kTiny;
  odd.ffn = 160;  // 5 x 32: no K-quant
  const auto gguf = quantize(llama(odd), "Q4_K_M");
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->find("blk.0.ffn_down.weight")->type, GgmlType::Q5_0);
  odd.ffn = 144;  // nothing with blocks
  EXPECT_EQ(quantize(llama(odd), "Q4_K_M")->find("blk.0.ffn_down.weight")->type, GgmlType::F16);
  // Types without a fallback end the run, as they end llama-quantize's.
  const auto failed = quantize(llama(odd), "Q8_0");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::inconsistent);
}

TEST(Gguf, ConversionsKeepWhatTheConverterForces) {
  model::Model m = llama(kTiny);
  model::Tensor router;
  router.name = "model.layers.0.self_attn.indexer.weights_proj.weight";
  router.shape = {64, 256};
  router.role = model::Role::indexer;
  router.layer = 0;
  m.tensors.push_back(router);
  for (const char* name : {"F16", "BF16", "F32"}) {
    const auto gguf = quantize(m, name);
    ASSERT_TRUE(gguf) << name;
    EXPECT_EQ(gguf->file_type, name);
    EXPECT_EQ(gguf->find("blk.0.indexer.proj.weight")->type, GgmlType::F32) << name;
    EXPECT_EQ(info(gguf->find("blk.0.attn_q.weight")->type).name, std::string_view(name));
  }
}

TEST(Gguf, ImatrixChangesThreeRules) {
  const model::Model m = llama({16, 256, 512, 4, 4, 64, 1024});
  QuantizeOptions imatrix;
  imatrix.imatrix = true;
  const auto type = [&](const char* mixture, const QuantizeOptions& options, const char* name) {
    return quantize(m, mixture, options)->find(name)->type;
  };
  EXPECT_EQ(type("IQ4_XS", {}, "blk.0.ffn_down.weight"), GgmlType::Q5_K);
  EXPECT_EQ(type("IQ4_XS", imatrix, "blk.0.ffn_down.weight"), GgmlType::IQ4_XS);
  EXPECT_EQ(type("Q4_0", {}, "blk.0.ffn_down.weight"), GgmlType::Q4_0);
  EXPECT_EQ(type("Q4_0", imatrix, "blk.0.ffn_down.weight"), GgmlType::Q4_1);
  EXPECT_EQ(type("IQ3_XXS", {}, "blk.0.attn_v.weight"), GgmlType::IQ3_S);
  EXPECT_EQ(type("IQ3_XXS", imatrix, "blk.0.attn_v.weight"), GgmlType::IQ3_XXS);
  EXPECT_EQ(quantize(m, "IQ2_XS")->notes.warnings.size(), 1u);
  EXPECT_TRUE(quantize(m, "IQ2_XS", imatrix)->notes.warnings.empty());
  // Said by the name, as publishers do.
  EXPECT_EQ(type("i1-IQ4_XS", {}, "blk.0.ffn_down.weight"), GgmlType::IQ4_XS);
  EXPECT_EQ(quantize(m, "i1-iq4_xs")->file_type, "i1-IQ4_XS");
  EXPECT_TRUE(is_gguf_file_type("i1-Q4_K_M"));
  EXPECT_FALSE(is_gguf_file_type("i1-"));
}

TEST(Gguf, OneMatrixOfQueriesKeysAndValues) {
  const model::Model m = llama(kTiny);
  GgufModel gguf = *gguf_tensors(m);
  const size_t tensors = gguf.tensors.size();
  const Bytes bytes = gguf.tensor_bytes();
  const int64_t rows =
      gguf.find("blk.0.attn_q.weight")->extent[1] + 2 * gguf.find("blk.0.attn_k.weight")->extent[1];
  fuse_attention(gguf);
  EXPECT_EQ(gguf.tensors.size(), tensors - 2 * m.layers.size());
  EXPECT_EQ(gguf.tensor_bytes(), bytes);
  EXPECT_EQ(gguf.find("blk.0.attn_qkv.weight")->extent[1], rows);
  EXPECT_EQ(gguf.find("blk.0.attn_v.weight"), nullptr);
}

TEST(Gguf, OtherMakersByName) {
  const model::Model m = llama(kLlama70b);
  const auto type = [&](const char* mixture, const char* name) {
    return quantize(m, mixture)->find(name)->type;
  };
  EXPECT_EQ(quantize(m, "2023-q2_k")->file_type, "2023-Q2_K");
  testing::LlamaShape four_layers = kTiny;
  four_layers.layers = 4;
  const model::Model small = llama(four_layers);
  const auto of = [&](const char* mixture, const char* name) {
    return quantize(small, mixture)->find(name)->type;
  };
  EXPECT_EQ(of("Q2_K", "blk.0.ffn_up.weight"), GgmlType::Q2_K);
  EXPECT_EQ(of("2023-Q2_K", "blk.0.ffn_up.weight"), GgmlType::Q3_K);
  EXPECT_EQ(of("2023-Q2_K", "blk.0.attn_q.weight"), GgmlType::Q2_K);
  EXPECT_EQ(of("2023-Q3_K_M", "blk.1.ffn_down.weight"), GgmlType::Q5_K);
  EXPECT_EQ(of("2023-Q3_K_M", "blk.2.ffn_down.weight"), GgmlType::Q4_K);
  EXPECT_EQ(of("2023-Q4_K_M", "blk.0.attn_v.weight"), of("Q4_K_M", "blk.0.attn_v.weight"));
  EXPECT_EQ(of("Q4_K_S", "blk.1.ffn_down.weight"), GgmlType::Q4_K);
  EXPECT_EQ(of("2023-Q4_K_S", "blk.3.ffn_down.weight"), GgmlType::Q5_K);
  // Ollama's took attn_v for a part of a tower.
  EXPECT_EQ(type("ollama-Q4_K_M", "blk.0.attn_v.weight"), GgmlType::F16);
  EXPECT_EQ(type("ollama-Q4_K_M", "blk.0.attn_k.weight"), GgmlType::Q4_K);
  EXPECT_EQ(type("ollama-Q4_K_M", "blk.0.ffn_down.weight"), GgmlType::Q6_K);
}

TEST(Gguf, ImatrixFilesAsPublished) {
  model::Model m = llama(kLlama70b);
  m.gguf.rope_freqs = true;
  m.rope_tables.push_back({131072, 128, false, 1});
  // huggingface.co/bartowski, Llama-3.1-Nemotron-70B: 40.12 and 37.90 GB, with a tokenizer.
  EXPECT_NEAR(double(quantize(m, "i1-Q4_0")->tensor_bytes().count()) / 1e9, 40.12, 0.02);
  EXPECT_NEAR(double(quantize(m, "i1-IQ4_XS")->tensor_bytes().count()) / 1e9, 37.90, 0.02);
}

TEST(Gguf, NamedMixturesExpandMxfp4Experts) {
  model::Model m = llama(kTiny, 4);
  m.quantization_config = *json::parse(R"({"quant_method": "mxfp4"})", "config");
  const char* const kStack = "blk.0.ffn_up_exps.weight";
  // As converted, without a mixture.
  const auto converted = gguf_tensors(m);
  ASSERT_TRUE(converted);
  EXPECT_EQ(converted->find(kStack)->type, GgmlType::MXFP4);
  // llama-quantize unpacks them, and the answer says what the file holds otherwise.
  const auto f16 = quantize(m, "F16");
  ASSERT_TRUE(f16);
  EXPECT_EQ(f16->find(kStack)->type, GgmlType::F16);
  ASSERT_EQ(f16->notes.assumptions.size(), 1u);
  EXPECT_EQ(f16->notes.assumptions[0].id, "gguf_expands_mxfp4");
  EXPECT_EQ(quantize(m, "MXFP4_MOE")->find(kStack)->type, GgmlType::MXFP4);
  EXPECT_EQ(quantize(m, "MXFP4_MOE")->notes.assumptions[0].id, "gguf_keeps_mxfp4");
}

TEST(Gguf, LatentAttentionOfOlderFilesStaysWhole) {
  model::Model m;
  m.gguf.architecture = "deepseek2";
  m.hidden_size = 2048;
  model::LatentBlock mla;
  mla.query_heads = 16;
  mla.kv_lora_rank = 512;
  mla.nope_dim = mla.value_dim = 128;
  mla.rope_dim = 64;
  m.layers.emplace_back();
  m.layers[0].mixers.push_back(mla);
  testing::add(m, "layers.0.kv_b_proj", {16 * 256, 512}, model::Role::kv_up, 0);
  const auto split = gguf_tensors(m, FileLayout{}),
             whole = gguf_tensors(m, FileLayout{.kv_b = KvB::whole});
  ASSERT_TRUE(split && whole);
  EXPECT_FALSE(has_whole_kv_b(*split));
  EXPECT_TRUE(has_whole_kv_b(*whole));
  EXPECT_EQ(split->tensor_bytes(), whole->tensor_bytes());
  ASSERT_TRUE(whole->find("blk.0.attn_kv_b.weight"));
  EXPECT_FALSE(whole->find("blk.0.attn_k_b.weight"));
}

TEST(Gguf, OverridesWinOverTheMixture) {
  QuantizeOptions options;
  options.output_tensor_type = "f16";
  options.tensor_types = {{"attn_[qk]\\.weight", "q8_0"}, {"norm", "q8_0"}};
  const auto gguf = quantize(llama(kTiny), "q4_k_m", options);
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->file_type, "Q4_K_M");
  EXPECT_EQ(gguf->find("output.weight")->type, GgmlType::F16);
  EXPECT_EQ(gguf->find("blk.1.attn_k.weight")->type, GgmlType::Q8_0);
  EXPECT_EQ(gguf->find("blk.1.attn_norm.weight")->type, GgmlType::F32);  // never quantised
  options.tensor_types = {{"(", "q8_0"}};
  EXPECT_EQ(quantize(llama(kTiny), "Q4_K_M", options).error().code, ErrorCode::invalid_input);
  options.tensor_types = {{"x", "q9_9"}};
  EXPECT_EQ(quantize(llama(kTiny), "Q4_K_M", options).error().code, ErrorCode::not_found);
  QuantizeOptions pure;
  pure.pure = true;
  EXPECT_EQ(quantize(llama(kTiny), "Q4_K_M", pure)->find("output.weight")->type, GgmlType::Q4_K);
}

TEST(Gguf, OptionsOfTheQuantiserStandBehindTheName) {
  const std::string line =
      "q4_k_m  --output-tensor-type f16 --tensor-type attn_k=q8_0 --tensor-type attn_v=q5_k";
  EXPECT_TRUE(is_gguf_file_type(line));
  const auto gguf = quantize(llama(kTiny), line);
  ASSERT_TRUE(gguf);
  EXPECT_EQ(gguf->find("output.weight")->type, GgmlType::F16);
  EXPECT_EQ(gguf->find("blk.1.attn_k.weight")->type, GgmlType::Q8_0);
  EXPECT_EQ(gguf->find("blk.1.attn_v.weight")->type, GgmlType::Q5_K);
  // The name says what was asked, so that it can be asked again.
  EXPECT_EQ(gguf->file_type,
            "Q4_K_M --output-tensor-type f16 --tensor-type attn_k=q8_0 --tensor-type attn_v=q5_k");
  EXPECT_EQ(quantize(llama(kTiny), gguf->file_type)->tensor_bytes(), gguf->tensor_bytes());
  for (const std::string_view wrong :
       {"Q4_K_M --tensor-type", "Q4_K_M --tensor-type attn_k", "Q4_K_M --tensor-type =q8_0",
        "Q4_K_M --keep-split", "Q4_K_M --pure --output-tensor-type"}) {
    const auto refused = quantize(llama(kTiny), wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_input) << wrong;
  }
}

TEST(Gguf, UnknownMixturesNameTheNearest) {
  const auto dynamic = quantize(llama(kTiny), "UD-Q4_K_XL");
  ASSERT_FALSE(dynamic);
  EXPECT_EQ(dynamic.error().code, ErrorCode::not_found);
  ASSERT_GE(dynamic.error().hints.size(), 2u);
  EXPECT_NE(dynamic.error().hints[1].find("Q4_K"), std::string::npos);
  for (const std::string_view name : gguf_file_types()) {
    EXPECT_TRUE(is_gguf_file_type(name));
    EXPECT_TRUE(quantize(llama(kTiny), name)) << name;
  }
  // "_L" mixtures: embeddings and head in Q8_0.
  EXPECT_EQ(quantize(llama(kTiny), "Q4_K_L")->find("token_embd.weight")->type, GgmlType::Q8_0);
}

}  // namespace
}  // namespace vramwise::weights
