// A question as the contract writes it (docs/json-contract.md), read and bounded but not resolved.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "engines/engine.h"
#include "json/reader.h"

namespace vramwise::plan {

// Far above any real machine; keeps every product of counts inside 64 bits.
inline constexpr int64_t kMostSequenceTokens = int64_t{1} << 32;
inline constexpr int64_t kMostConcurrency = int64_t{1} << 24;

struct ModelSpec {
  std::string ref;                  // catalog id or alias, "Qwen/Qwen3-8B"
  json::Value config;               // a config.json as given; null = none
  json::Value quantization_config;  // beside it (hf_quant_config.json); null = none
  json::Value overrides;            // single shape keys to replace; null = none
  json::Value changes;              // what the engine's own options replace in it; null = none
  std::string path;                 // a local file or folder, resolved by the host
  json::Value header;               // what was read from the model's files; null = none
  std::string assume_family;        // model_type to use for an unknown one
};

struct DeviceSpec {
  std::string gpu;  // catalog id; empty with total_bytes = an unknown card
  std::optional<Bytes> total;
  Bytes used;
};

struct HardwareSpec {
  std::vector<DeviceSpec> devices;  // empty and cpu_only: no GPU
  bool cpu_only = false;
  std::string backend;  // empty: by the card's vendor
  Bytes ram;
};

// The draft model of speculative decoding, where the request itself has one.
struct DraftSpec {
  bool given = false;
  ModelSpec model;
  std::string weights;
};

struct Request {
  json::Value id;  // echoed; null = absent
  std::string ask = "plan";
  ModelSpec model;
  std::string weights;  // stored format; empty: what the model's files say
  DraftSpec draft;
  std::string engine = "vllm";
  bool engine_given = false;
  engines::Settings settings;
  HardwareSpec hardware;
  engines::Workload workload;
  std::string line;         // ask "launch"
  json::Value calibration;  // runs measured on this machine (plan/calibration.h); null: none
  Notes notes;              // warnings about unknown fields
};

// Reads everything but resolves nothing. Errors carry the JSON pointer of the fault.
Result<Request> read_request(const json::Reader& root);

}  // namespace vramwise::plan
