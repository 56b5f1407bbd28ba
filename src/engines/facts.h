// What an engine's behaviour depends on besides the question: constants by version and
// circumstance, read from catalog/engines/<name>.json, so that no version number or fitted figure
// stands in code.
//
//   "facts": {"utilisation": [{"since": "0.2", "value": 0.9, "source": "…"},
//                             {"since": "0.20", "value": 0.92, "source": "…"}],
//             "non_torch":   [{"since": "0.11", "rows": [{"when": {"ranks_max": 1}, "mib": [92,
//             133, 645]}, …]}]}
//
//   "measured": {"linked": [[558, "two H100, 0.11.0, where it was published"], …]}
//
// The last entry whose "since" is not after the version is in force; of its rows, the first whose
// conditions all hold. Called by the engines' profile readers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "engines/hardware.h"
#include "engines/options.h"
#include "json/value.h"

namespace vramwise::engines {

// What the "when" of a row can ask for.
struct Circumstances {
  int64_t ranks = 1;      // tensor-parallel size
  int capability = 0;     // 90 for 9.0; 0 when not NVIDIA
  bool unified = false;   // memory shared with the host
  bool linked = true;     // cards joined by more than PCIe, or it is not known
  bool switched = false;  // by NVLink through switches, which multicast
  bool nvidia = true;
  bool eager = false;
  bool staged = false;        // layers are split into pipeline stages
  bool encoder = false;       // the profile run makes items for an encoder
  bool first_engine = false;  // vLLM V0
  int runner = 1;             // vLLM's model runner, 1 or 2
  bool dense = true;          // no experts, no recurrent layers
  bool speculates = false;
  bool pooling = false;
  std::string_view architecture;  // Hugging Face class of the model
  bool quantised = false;         // weights in another scheme than the plain type
  bool own_all_reduce = true;
  bool flashinfer_sampler = false;  // vLLM samples with FlashInfer's kernels, by choice
  bool marlin = false;              // the user asked for Marlin kernels
  Bytes total;
  std::string_view entry = "server";  // or "offline" (a batch program), "engine" (embedded)
  std::string_view
      card;  // lower case, for engines that decide by the device's (or a kernel's) name
};

Circumstances circumstances(const Hardware& hardware);

// NVIDIA cards before Ampere.
inline bool lacks_bfloat16(const Circumstances& now) {
  return now.nvidia && now.capability > 0 && now.capability < 80;
}

class Facts {
 public:
  // `version` not given: the newest the profile knows.
  static Result<Facts> load(std::string_view engine, const Version& version);
  static Result<Facts> from_json(std::shared_ptr<const json::Value> profile,
                                 const Version& version);

  bool has(std::string_view name) const;
  // The value in force. A missing or ill-typed fact is remembered and answered with zero; `check`
  // tells of the first such fault, so a reader can read everything and look once.
  double number(std::string_view name);
  int64_t integer(std::string_view name);
  bool flag(std::string_view name);
  std::string text(std::string_view name);
  // The first row that fits, as JSON; null when none does.
  const json::Value& row(std::string_view name, const Circumstances& now);
  // Fields of such a row.
  int64_t integer(const json::Value& row, std::string_view field);
  double number(const json::Value& row, std::string_view field);
  // [low, likely, high], or the range of the list of the profile's "measured" that the row names.
  ByteRange mib(const json::Value& row, std::string_view field = "mib");
  std::vector<std::string> list(std::string_view name);

  Result<bool> check() const;
  const Version& version() const { return version_; }
  // Values of the profile outside of "facts" (option names).
  const json::Value& profile() const { return *profile_; }

 private:
  const json::Value* entry(std::string_view name);
  void fault(std::string_view name, std::string_view what);
  ByteRange measured(std::string_view name);

  std::shared_ptr<const json::Value> profile_;
  Version version_;
  std::string engine_;
  std::string fault_;
};

}  // namespace vramwise::engines
