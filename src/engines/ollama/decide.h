// What Ollama settles before llama.cpp, or its own engine, is asked: context, slots, batch, devices
// and, until 0.29, the layers of each.
// Source: ollama/ollama llm/server.go, server/sched.go, envconfig/config.go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/ollama/estimate.h"
#include "engines/ollama/releases.h"

namespace vramwise::engines::ollama {

struct Decided {
  std::shared_ptr<const json::Value> profile;
  Release release;
  int64_t num_ctx = 0, parallel = 1, batch = 512;
  bool slots_asked = false;  // by the settings, the workload, or the architecture's own rule
  Hardware hardware;         // the devices it uses, in the order in which it hands them on
  std::vector<int> order;    // which of the machine's each of them is; empty: as the machine's
  Bytes predicted;           // its own estimate before the load
  Bytes overhead;            // of every GPU, by OLLAMA_GPU_OVERHEAD
  Options child;             // llama.cpp's options
  // A release that places layers itself.
  std::optional<Estimate> estimate;     // by closed formulas
  int64_t estimated_cache = 0;          // bytes, of all layers
  int64_t layers = -1, all_layers = 0;  // on the GPUs; -1: llama.cpp decides
  // The model with the windows of Ollama's own engine, where they differ; else null.
  std::shared_ptr<const model::Model> model;
  Notes notes;
};

Result<Decided> decide(const Question& question);

// The child's question: llama.cpp of the build inside, with nothing left to a workload.
Question child_question(const Question& question, const Decided& decided);

// Layers, devices and slots of releases before 0.30. `flash`: asked for, or not, or left open.
Result<bool> place_layers(const Question& question, std::optional<bool> flash, Decided& decided);

// A setting of the server: as an option, else as the environment variable.
Result<std::optional<int64_t>> server_integer(const Settings& settings, std::string_view option,
                                              const std::string& variable, int64_t max);
std::string server_text(const Settings& settings, std::string_view option,
                        const std::string& variable);
bool is_true(std::string_view text);

// Members of the profile; absent: the fallback, an empty list.
int64_t number(const json::Value& object, std::string_view key, int64_t fallback = 0);
const json::Array& list(const json::Value& object, std::string_view key);

}  // namespace vramwise::engines::ollama
