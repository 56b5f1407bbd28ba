// Questions to an engine built from a config in text, for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engines/engine.h"

namespace vramwise::testing {

struct Asked {
  std::shared_ptr<model::Model> model;
  std::shared_ptr<weights::Weights> weights;
  std::shared_ptr<model::Model> draft_model;  // null: none
  std::shared_ptr<weights::Weights> draft_weights;
  engines::Hardware hardware;
  engines::Settings settings;
  engines::Workload workload;

  engines::Question question() const;
};

struct Ask {
  std::string_view config;   // a config.json
  std::string_view weights;  // format; empty: as the config says
  std::string_view gpu = "h100-sxm";
  int count = 1;
  Bytes total;  // 0: the catalog's
  std::string_view version;
  std::string_view options = "{}";  // JSON
};

// Fails the test (and answers an empty question) when the config cannot be read.
Asked ask(const Ask& what);

// The assessment by the engine of that name.
engines::Assessment assess(std::string_view engine, const Asked& asked);

// Requirement of a name, or nullptr.
const engines::Requirement* find(const engines::Assessment& assessment, std::string_view what);

// Configs of the worked examples.
extern const char* const kLlama8b;
extern const char* const kLlama70b;
extern const char* const kQwen30bA3b;
extern const char* const kDeepSeekV3;
// Two layers with a window alone, 21 of ratio 4 with an indexer, 20 of ratio 128.
std::string deepseek_v4_flash();
extern const char* const kGptOss20b;
extern const char* const kGemma27b;
extern const char* const kQwen122bA10b;

}  // namespace vramwise::testing
