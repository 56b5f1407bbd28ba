#include "engines/online_quantisation.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace vramwise::engines {
namespace {

using weights::Scheme;
using weights::SchemeKind;

struct Online {
  std::string_view flag;
  SchemeKind kind;
};
constexpr std::array kOnline = {
    Online{"fp8", SchemeKind::fp8_tensor},
    Online{"fp8_per_tensor", SchemeKind::fp8_tensor},
    Online{"ptpc_fp8", SchemeKind::fp8_channel},
    Online{"w8a8_fp8", SchemeKind::fp8_channel},
    Online{"fp8_per_block", SchemeKind::fp8_block},
    Online{"mxfp8", SchemeKind::mxfp8},
    Online{"int8_per_channel", SchemeKind::int8_channel},
    Online{"int8_per_channel_weight_only", SchemeKind::int8_channel},
    Online{"bitsandbytes", SchemeKind::bnb_nf4},
};

// Names of a stored format: the checkpoint has to be in it.
constexpr std::array<std::string_view, 17> kStored = {
    "awq",      "awq_marlin",     "gptq",         "gptq_marlin",        "marlin", "w8a8_int8",
    "modelopt", "modelopt_fp8",   "modelopt_fp4", "compressed-tensors", "mxfp4",  "w4afp8",
    "quark",    "modelopt_mixed", "moe_wna16",    "auto-round",         "gguf"};

bool is_plain(const weights::Weights& stored) {
  return stored.recipe && std::all_of(stored.recipe->schemes.begin(), stored.recipe->schemes.end(),
                                      [](const Scheme& s) { return s.kind == SchemeKind::plain; });
}

Scheme of_kind(SchemeKind kind) {
  Scheme scheme;
  scheme.kind = kind;
  return scheme;
}

void not_followed(std::string_view flag, Notes& notes) {
  notes.warn("online_quantisation", "quantisation '" + std::string(flag.substr(0, 60)) +
                                        "' while loading is not followed here: the weights are "
                                        "counted as they are stored");
}

}  // namespace

std::optional<Scheme> online_scheme(std::string_view flag, const weights::Weights& stored,
                                    Notes& notes) {
  if (flag.empty() || !is_plain(stored)) return std::nullopt;
  const std::string name = to_lower(flag);
  for (const Online& online : kOnline) {
    if (online.flag == name) return of_kind(online.kind);
  }
  if (name == "none" || name == "unquant") return std::nullopt;
  if (std::find(kStored.begin(), kStored.end(), name) != kStored.end()) {
    notes.warn("quantization_needs_checkpoint",
               "'" + name +
                   "' is a stored format, and these weights are not quantised: name a "
                   "repository that holds them in it");
    return std::nullopt;
  }
  not_followed(flag, notes);
  return std::nullopt;
}

std::optional<Scheme> torchao_scheme(std::string_view name, const weights::Weights& stored,
                                     Notes& notes) {
  if (name.empty() || !is_plain(stored)) return std::nullopt;
  if (starts_with(name, "int8")) return of_kind(SchemeKind::int8_channel);
  if (starts_with(name, "fp8dq-per_row")) return of_kind(SchemeKind::fp8_channel);
  if (starts_with(name, "fp8")) return of_kind(SchemeKind::fp8_tensor);
  if (starts_with(name, "int4wo-")) {
    Scheme scheme = of_kind(SchemeKind::wna16);
    scheme.bits = 4;
    scheme.group = 0;
    for (const char c : name.substr(7)) {
      if (c < '0' || c > '9' || scheme.group > 1'000'000) return std::nullopt;
      scheme.group = scheme.group * 10 + (c - '0');
    }
    scheme.zeros = true;
    return scheme;
  }
  not_followed(name, notes);
  return std::nullopt;
}

}  // namespace vramwise::engines
