// A model as the planner knows it: hyper-parameters, an exact list of tensors, and the structure
// and caches of each layer. Built by one rule per architecture family (model/archs/) from a Hugging
// Face config, or from a file's own tensor table. Engines read this and nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/note.h"
#include "base/result.h"
#include "json/value.h"
#include "model/layer.h"
#include "model/tensor.h"

namespace vramwise::model {

// A table of cos and sin that engines precompute, once per distinct rotary setting.
struct RopeTable {
  int64_t positions = 0;
  int64_t rotary_dim = 0;
  bool float32 = false;  // kept in fp32 by vLLM (MLA, gpt-oss)
  int64_t sections = 1;  // multimodal rope holds 4 x the positions
};

// The parts of a vision tower that decide memory at start-up.
struct VisionTower {
  int64_t hidden_size = 0, ffn_size = 0, layers = 0;
  // Tokens that the largest single item takes in the prompt; 0: not known. Where that is a video,
  // image_tokens are those of an image, else 0. Where the processor scales images to its own limit,
  // pixels_per_token are those behind one token, else 0.
  int64_t max_item_tokens = 0, image_tokens = 0, pixels_per_token = 0;
  int64_t framing_tokens = 0;     // around an item in the prompt, without patches of their own
  int64_t patches_per_token = 1;  // patches merged into one token
  int64_t deepstack_layers = 0;   // extra feature levels handed to the decoder (Qwen3-VL)
  // As vision_config names them: hidden_size and num_hidden_layers; 0 where it has no such key.
  // What an engine makes of the two is its own affair (SGLang). No vision_config: not there.
  struct Named {
    int64_t hidden_size = 0, layers = 0;
  };
  std::optional<Named> named;
};

// How the model looks as a GGUF file and to llama.cpp. Filled by the family's rule.
struct GgufTraits {
  std::string architecture;     // general.architecture: "llama", "qwen3moe", …; empty: none known
  bool ignores_window = false;  // llama.cpp keeps all tokens although the config has a window
  bool rope_freqs = false;      // the file holds rope_freqs.weight (Llama 3.1 scaling, Phi long)
  bool suppresses_tokens = false;  // the file lists tokens that must not be sampled
  int64_t vocab_rows = 0;          // rows of token_embd when they differ from vocab_size; 0 = same
};

struct Model {
  std::string id;            // as asked for, or the file's name
  std::string architecture;  // Hugging Face class, "Qwen3ForCausalLM"
  std::string model_type;    // "qwen3": for display and for catalogs, never for memory rules
  GgufTraits gguf;

  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  int64_t draft_vocab_size = 0;  // output rows of a drafting head (EAGLE-3); 0 = none named
  int64_t max_positions = 0;     // longest context the model itself derives; 0 = unknown
  std::optional<int64_t> original_positions;  // before rope scaling (longrope, yarn)
  bool long_rope = false;  // vLLM then takes original_positions unless asked for more
  DType dtype = DType::bfloat16;
  bool tied_head = false;
  bool embedding_scaled = false;  // hidden states multiplied after the embedding (Gemma)
  bool logit_softcap = false;
  bool is_encoder_only = false;           // BERT and kin: no cache
  std::optional<int64_t> encoder_layers;  // encoder-decoder models

  std::vector<Layer> layers;      // the trunk
  std::vector<Layer> mtp_layers;  // multi-token-prediction layers in the checkpoint
  std::vector<Tensor> tensors;    // of all parts
  std::vector<RopeTable> rope_tables;
  std::optional<VisionTower> vision;

  // As in the config (or hf_quant_config.json); null when the checkpoint is not quantised.
  json::Value quantization_config;
  Notes notes;
};

// Parameters of the loaded model: tied head once, no MTP, no buffers. Exact.
int64_t parameter_count(const Model& model);
// parameter_count less the routed experts that a token does not visit.
int64_t active_parameter_count(const Model& model);
// Stored parameters that are buffers (correction biases and kin).
int64_t buffer_count(const Model& model);
int64_t mtp_parameter_count(const Model& model);

// Bytes a token costs at long context, all layers, attention caches in the model's dtype.
Bytes kv_bytes_per_token(const Model& model);
// Bytes of one sequence of `tokens` tokens, all layers.
Bytes cache_bytes_at(const Model& model, Tokens tokens, const CacheTypes& types);
Bytes fixed_cache_bytes(const Model& model, const CacheTypes& types);

}  // namespace vramwise::model
