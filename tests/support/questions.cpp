#include "support/questions.h"

#include <gtest/gtest.h>

#include "catalog/gpu.h"
#include "json/parse.h"
#include "json/reader.h"
#include "model/from_config.h"

namespace vramwise::testing {

engines::Question Asked::question() const {
  engines::Question q;
  q.model = model.get();
  q.weights = weights.get();
  q.draft = {draft_model.get(), draft_weights.get()};
  q.hardware = &hardware;
  q.settings = settings;
  q.workload = workload;
  return q;
}

Asked ask(const Ask& what) {
  Asked asked;
  asked.model = std::make_shared<model::Model>();
  asked.weights = std::make_shared<weights::Weights>();
  const auto config = json::parse(what.config, "config.json");
  if (!config) {
    ADD_FAILURE() << config.error().message;
    return asked;
  }
  auto model = model::from_config(json::Reader(*config, "config.json", what.config), "test/model");
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return asked;
  }
  *asked.model = std::move(*model);
  auto weights = weights::choose_weights(*asked.model, what.weights);
  if (!weights) {
    ADD_FAILURE() << weights.error().message;
    return asked;
  }
  *asked.weights = std::move(*weights);
  const auto gpu = catalog::find_gpu(what.gpu);
  if (!gpu) {
    ADD_FAILURE() << gpu.error().message;
    return asked;
  }
  engines::Device device;
  device.gpu = *gpu;
  device.total = what.total.count() > 0 ? what.total : gpu->total;
  asked.hardware.devices.assign(size_t(what.count), device);
  const auto version = engines::Version::parse(what.version);
  if (version) asked.settings.version = *version;
  const auto options = json::parse(what.options, "options");
  if (options) asked.settings.options = engines::Options::from_json(*options);
  return asked;
}

engines::Assessment assess(std::string_view engine, const Asked& asked) {
  const auto found = engines::find_engine(engine);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  auto assessment = (*found)->assess(asked.question());
  if (!assessment) {
    ADD_FAILURE() << assessment.error().message;
    return {};
  }
  return std::move(*assessment);
}

const engines::Requirement* find(const engines::Assessment& assessment, std::string_view what) {
  for (const engines::Requirement& r : assessment.requirements) {
    if (r.what == what) return &r;
  }
  return nullptr;
}

const char* const kLlama8b = R"({"architectures":["LlamaForCausalLM"],"model_type":"llama",
  "num_hidden_layers":32,"hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
  "num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
  "max_position_embeddings":131072,"torch_dtype":"bfloat16"})";

const char* const kLlama70b = R"({"architectures":["LlamaForCausalLM"],"model_type":"llama",
  "num_hidden_layers":80,"hidden_size":8192,"intermediate_size":28672,"num_attention_heads":64,
  "num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
  "max_position_embeddings":131072,"torch_dtype":"bfloat16"})";

const char* const kQwen30bA3b =
    R"({"architectures":["Qwen3MoeForCausalLM"],"model_type":"qwen3_moe",
  "num_hidden_layers":48,"hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,
  "num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":128,
  "num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],"norm_topk_prob":true,
  "vocab_size":151936,"tie_word_embeddings":false,"max_position_embeddings":40960,
  "torch_dtype":"bfloat16"})";

const char* const kDeepSeekV3 = R"({"architectures":["DeepseekV3ForCausalLM"],
  "model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"intermediate_size":18432,
  "moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,
  "n_group":8,"topk_group":4,"first_k_dense_replace":3,"moe_layer_freq":1,"norm_topk_prob":true,
  "scoring_func":"sigmoid","topk_method":"noaux_tc","routed_scaling_factor":2.5,
  "num_attention_heads":128,"num_key_value_heads":128,"q_lora_rank":1536,"kv_lora_rank":512,
  "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":129280,
  "tie_word_embeddings":false,"max_position_embeddings":163840,"num_nextn_predict_layers":1,
  "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096,
    "beta_fast":32,"beta_slow":1,"mscale":1.0,"mscale_all_dim":1.0},
  "torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8","fmt":"e4m3",
    "activation_scheme":"dynamic","weight_block_size":[128,128]}})";

const char* const kGptOss20b = R"({"architectures":["GptOssForCausalLM"],"model_type":"gpt_oss",
  "num_hidden_layers":24,"hidden_size":2880,"intermediate_size":2880,"num_attention_heads":64,
  "num_key_value_heads":8,"head_dim":64,"num_local_experts":32,"num_experts_per_tok":4,
  "experts_per_token":4,"sliding_window":128,"vocab_size":201088,"tie_word_embeddings":false,
  "attention_bias":true,"max_position_embeddings":131072,
  "rope_scaling":{"rope_type":"yarn","factor":32.0,"original_max_position_embeddings":4096,
    "beta_fast":32.0,"beta_slow":1.0,"truncate":false},
  "layer_types":["sliding_attention","full_attention","sliding_attention","full_attention",
    "sliding_attention","full_attention","sliding_attention","full_attention","sliding_attention",
    "full_attention","sliding_attention","full_attention","sliding_attention","full_attention",
    "sliding_attention","full_attention","sliding_attention","full_attention","sliding_attention",
    "full_attention","sliding_attention","full_attention","sliding_attention","full_attention"],
  "quantization_config":{"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn",
    "model.layers.*.mlp.router","model.embed_tokens","lm_head"]}})";

const char* const kGemma27b = R"({"architectures":["Gemma3ForCausalLM"],"model_type":"gemma3_text",
  "num_hidden_layers":62,"hidden_size":5376,"intermediate_size":21504,"num_attention_heads":32,
  "num_key_value_heads":16,"head_dim":128,"sliding_window":1024,"sliding_window_pattern":6,
  "query_pre_attn_scalar":168,"vocab_size":262208,"max_position_embeddings":131072,
  "torch_dtype":"bfloat16"})";

const char* const kQwen122bA10b = R"({"architectures":["Qwen3_5MoeForConditionalGeneration"],
  "model_type":"qwen3_5_moe","text_config":{"model_type":"qwen3_5_moe_text","num_hidden_layers":48,
  "hidden_size":3072,"moe_intermediate_size":1024,"shared_expert_intermediate_size":1024,
  "num_experts":256,"num_experts_per_tok":8,"num_attention_heads":32,"num_key_value_heads":2,
  "head_dim":256,"linear_num_key_heads":16,"linear_num_value_heads":64,"linear_key_head_dim":128,
  "linear_value_head_dim":128,"linear_conv_kernel_dim":4,"full_attention_interval":4,
  "attn_output_gate":true,"vocab_size":248320,"mamba_ssm_dtype":"float32","mtp_num_hidden_layers":1,
  "tie_word_embeddings":false,"max_position_embeddings":262144,"dtype":"bfloat16"}})";

std::string deepseek_v4_flash() {
  std::string ratios = "0,0";
  for (int i = 0; i < 20; ++i) ratios += ",4,128";
  return R"({"architectures":["DeepseekV4ForCausalLM"],"model_type":"deepseek_v4","hidden_size":4096,
    "num_hidden_layers":43,"num_attention_heads":64,"num_key_value_heads":1,"head_dim":512,
    "qk_rope_head_dim":64,"q_lora_rank":1024,"o_lora_rank":1024,"o_groups":8,"hc_mult":4,
    "index_head_dim":128,"index_n_heads":64,"index_topk":512,"sliding_window":128,
    "n_routed_experts":256,"num_experts_per_tok":6,"n_shared_experts":1,"moe_intermediate_size":2048,
    "num_hash_layers":3,"num_nextn_predict_layers":1,"expert_dtype":"fp4","vocab_size":129280,
    "max_position_embeddings":1048576,"torch_dtype":"bfloat16","compress_ratios":[)" +
         ratios + ",4,0]}";
}

}  // namespace vramwise::testing
