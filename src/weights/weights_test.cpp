#include "weights/weights.h"

#include <gtest/gtest.h>

#include "weights/matrix.h"
#include "weights/test_models.h"

namespace vramwise::weights {
namespace {

using testing::kLlama70b;
using testing::kTiny;
using testing::llama;
using testing::with_config;

const Scheme& scheme_of(const model::Model& m, const Weights& w, std::string_view name) {
  static const Scheme none{};
  for (size_t i = 0; i < m.tensors.size(); ++i) {
    if (m.tensors[i].name == name) return w.recipe->scheme(i);
  }
  ADD_FAILURE() << "no tensor " << name;
  return none;
}

SchemeKind kind_of(const model::Model& m, const Weights& w, std::string_view name) {
  return scheme_of(m, w, name).kind;
}

TEST(Weights, NamedFormatsOfLlama31_70b) {
  const model::Model m = llama(kLlama70b);
  // Linears hold 68,451,041,280 weights; embedding, head and norms 2,102,665,216 in 2 bytes.
  const int64_t rest = int64_t{2'102'665'216} * 2;
  struct {
    const char* format;
    int64_t linears;
  } const cases[] = {
      {"bf16", 68'451'041'280 * 2},
      {"fp16", 68'451'041'280 * 2},
      {"fp8-tensor", 68'451'041'280 + 560 * 4},
      {"fp8", 68'451'041'280 + 16'711'680},              // 4 B per 128 x 128
      {"fp8-channel", 68'451'041'280 + 26'869'760 / 2},  // scales at rest in bf16
      {"awq", 68'451'041'280 / 2 + 68'451'041'280 / 128 * 2 + 68'451'041'280 / 128 / 2},
      {"w4a16", 68'451'041'280 / 2 + 68'451'041'280 / 128 * 2 + 560 * 8},
      {"nvfp4", 68'451'041'280 / 2 + 68'451'041'280 / 16 + 560 * 8},
  };
  for (const auto& c : cases) {
    const auto w = choose_weights(m, c.format);
    ASSERT_TRUE(w) << c.format;
    EXPECT_EQ(w->format, c.format);
    EXPECT_FALSE(w->from_files);
    EXPECT_EQ(at_rest_bytes(m, *w).count(), c.linears + rest) << c.format;
  }
  EXPECT_NEAR(bits_per_weight(m, *choose_weights(m, "bf16")), 16, 1e-9);
}

TEST(Weights, HabitIsSaidAndKeepsTheUsualModules) {
  const model::Model m = llama(kTiny, 4);
  const auto w = choose_weights(m, "awq");
  ASSERT_TRUE(w);
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
                           "model.layers.0.mlp.gate.weight"}) {
    EXPECT_EQ(kind_of(m, *w, name), SchemeKind::plain) << name;
  }
  EXPECT_EQ(kind_of(m, *w, "model.layers.0.mlp.experts.{e}.up_proj.weight"), SchemeKind::awq);
  ASSERT_EQ(w->notes.assumptions.size(), 1u);
  EXPECT_EQ(w->notes.assumptions[0].id, "weights_habit");
  // MXFP4 by name: the experts only, as in gpt-oss.
  const auto mx = choose_weights(m, "mxfp4");
  EXPECT_EQ(kind_of(m, *mx, "model.layers.0.self_attn.q_proj.weight"), SchemeKind::plain);
  EXPECT_EQ(kind_of(m, *mx, "model.layers.1.mlp.experts.{e}.down_proj.weight"), SchemeKind::mxfp4);
}

TEST(Weights, UnknownAndImpossibleFormats) {
  const model::Model m = llama(kTiny);
  for (const char* name : {"awk", "fp9", "", "Q4_K_XXL", "UD-Q4_K_XL", "gptq"}) {
    const auto w = choose_weights(m, name);
    if (*name == '\0') {
      EXPECT_TRUE(w);  // the model's own type
      continue;
    }
    ASSERT_FALSE(w) << name;
    EXPECT_EQ(w.error().code, ErrorCode::not_found) << name;
  }
  EXPECT_EQ(choose_weights(m, "awk").error().hints.front(), "a similar format exists: awq");
  testing::LlamaShape odd = kTiny;
  odd.ffn = 488;  // no group of 32
  EXPECT_EQ(choose_weights(llama(odd), "awq").error().code, ErrorCode::inconsistent);
}

// A name says "awq" but not the group; where 128 cannot be, a producer took a smaller one.
TEST(Weights, HabitualGroupsShrinkUntilTheyDivide) {
  testing::LlamaShape odd = kTiny;
  odd.ffn = 448;  // 3.5 groups of 128, 7 of 64
  const model::Model m = llama(odd);
  const auto w = choose_weights(m, "awq");
  ASSERT_TRUE(w);
  const std::vector<Scheme>& schemes = w->recipe->schemes;
  ASSERT_EQ(schemes.size(), 2U);
  EXPECT_EQ(schemes[1].group, 64);
  ASSERT_FALSE(w->notes.assumptions.empty());
  EXPECT_EQ(w->notes.assumptions.back().id, "weight_groups");
  EXPECT_EQ(choose_weights(llama(kTiny), "awq")->recipe->schemes[1].group, 128);
  // A config of the repository's own is taken at its word.
  const model::Model own = testing::with_config(
      m, R"({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})");
  EXPECT_EQ(choose_weights(own, "").error().code, ErrorCode::inconsistent);
}

TEST(Weights, CaseTellsCheckpointsFromGguf) {
  const model::Model m = llama(kTiny);
  EXPECT_FALSE(choose_weights(m, "bf16")->is_gguf());
  EXPECT_TRUE(choose_weights(m, "BF16")->is_gguf());
  EXPECT_FALSE(choose_weights(m, "FP8")->is_gguf());
  EXPECT_EQ(choose_weights(m, "q4_k_m")->format, "Q4_K_M");
  EXPECT_EQ(choose_gguf_weights(m, "bf16")->format, "BF16");
  EXPECT_EQ(choose_gguf_weights(m, "")->format, "F16");
  EXPECT_EQ(choose_gguf_weights(m, "awq").error().code, ErrorCode::unsupported);
  for (const FormatInfo& f : formats()) EXPECT_TRUE(choose_weights(m, f.id)) << f.id;
}

TEST(Weights, StoredTypesOfSingleTensorsStay) {
  model::Model m = llama(kTiny);
  testing::add(m, "bias", {256}, model::Role::router_correction_bias, 0, model::Part::buffer);
  m.tensors.back().dtype = DType::float32;
  const Bytes before = at_rest_bytes(llama(kTiny), *choose_weights(llama(kTiny), "fp8"));
  EXPECT_EQ(at_rest_bytes(m, *choose_weights(m, "fp8")), before + Bytes(4 * 256));
}

TEST(Weights, MtpAndTiedHeads) {
  testing::LlamaShape tied = kTiny;
  tied.tied = true;
  model::Model m = llama(tied);
  const Bytes head = Bytes(2) * kTiny.vocab * kTiny.hidden;
  EXPECT_EQ(at_rest_bytes(m, *choose_weights(m, "bf16")) + head,
            at_rest_bytes(llama(kTiny), *choose_weights(llama(kTiny), "bf16")));
  testing::add(m, "mtp.fc.weight", {256, 512}, model::Role::mtp_projection, 2, model::Part::mtp);
  const auto w = choose_weights(m, "bf16");
  EXPECT_EQ(at_rest_bytes(m, *w) - at_rest_bytes(m, *w, false), Bytes(2 * 256 * 512));
}

TEST(Matrix, RolesTellInputsFromOutputs) {
  model::Model m;
  m.hidden_size = 256;
  m.layers.emplace_back();
  m.layers[0].feed_forward = model::MoeFeedForward{.experts = 4, .active = 1, .width = 512};
  const auto matrix = [&](model::Shape shape, model::Role role, int64_t copies = 1) {
    model::Tensor t;
    t.shape = shape;
    t.role = role;
    t.layer = 0;
    t.copies = copies;
    return *matrix_of(m, t);
  };
  using model::Role;
  EXPECT_EQ(matrix({768, 256}, Role::fused_qkv), (Matrix{1, 256, 768}));
  EXPECT_EQ(matrix({256, 768}, Role::fused_qkv), (Matrix{1, 256, 768}));  // Conv1D
  EXPECT_EQ(matrix({512, 256}, Role::ffn_down), (Matrix{1, 512, 256}));   // Conv1D
  EXPECT_EQ(matrix({512, 256}, Role::expert_up, 4), (Matrix{4, 256, 512}));
  EXPECT_EQ(matrix({4, 512, 256}, Role::expert_down), (Matrix{4, 512, 256}));
  EXPECT_EQ(matrix({4 * 512, 256}, Role::expert_gate), (Matrix{4, 256, 512}));  // DBRX
  EXPECT_EQ(matrix({4 * 512, 256}, Role::expert_down), (Matrix{4, 512, 256}));
}

}  // namespace
}  // namespace vramwise::weights
