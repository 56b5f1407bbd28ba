#include "engines/device_support.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "engines/facts.h"

namespace vramwise::engines {
namespace {

using weights::SchemeKind;

struct Format {
  SchemeKind kind;
  std::string_view fact;    // its part of the fact's name
  std::string_view method;  // what the engines call it
};
constexpr std::array kFormats = {
    Format{SchemeKind::fp8_tensor, "fp8", "fp8"},
    Format{SchemeKind::fp8_channel, "fp8", "fp8"},
    Format{SchemeKind::fp8_block, "fp8", "fp8"},
    Format{SchemeKind::int8_channel, "int8", "w8a8_int8"},
    Format{SchemeKind::awq, "awq", "awq"},
    Format{SchemeKind::gptq, "gptq", "gptq"},
    Format{SchemeKind::wna16, "wna16", "compressed-tensors"},
    Format{SchemeKind::w4a8_fp8, "w4a8", "compressed-tensors"},
    Format{SchemeKind::nvfp4, "nvfp4", "modelopt_fp4"},
    Format{SchemeKind::mxfp4, "mxfp4", "mxfp4"},
};

std::string dotted(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// Zero where the profile has no such fact: nothing is asked for.
int least(Facts& facts, const std::string& name) {
  return facts.has(name) ? int(facts.integer(name)) : 0;
}

// Of a maker whose cards the rules were held against.
bool made_by(Facts& facts, std::string_view vendor) {
  if (!facts.has("makers")) return true;
  const std::vector<std::string> makers = facts.list("makers");
  return std::find(makers.begin(), makers.end(), vendor) != makers.end();
}

Refusal refuse_format(const Format& format, int capability, int wanted, const Device& device) {
  return {"weights",
          "The quantization method " + std::string(format.method) +
              " is not supported for the current GPU. Minimum capability: " +
              std::to_string(wanted) + ". Current capability: " + std::to_string(capability) + ".",
          std::string(format.fact) + " weights need compute capability " + dotted(wanted) + ", " +
              device.gpu.id + " has " + dotted(capability)};
}

}  // namespace

Requirement doubt(std::string what, int device, int wanted, int low, int likely,
                  std::string explanation) {
  Requirement r;
  r.kind = Requirement::Kind::engine_refuses;
  r.device = device;
  r.what = std::move(what);
  r.unit = "capability";
  r.phase = "start";
  r.needed = ByteRange::exactly(Bytes(wanted));
  r.available = {Bytes(low), Bytes(likely), Bytes(wanted)};
  r.explanation = std::move(explanation);
  return r;
}

Result<DeviceSupport> device_support(std::string_view engine, const Question& question,
                                     const weights::Scheme* online) {
  DeviceSupport out;
  if (question.hardware->devices.empty()) return out;
  TRY_ASSIGN(Facts facts, Facts::load(engine, question.settings.version));
  std::vector<weights::Scheme> schemes;
  if (question.weights->recipe) schemes = question.weights->recipe->schemes;
  if (online != nullptr) schemes.push_back(*online);
  const json::Value* named = facts.profile().find("name");
  const std::string name = named == nullptr ? std::string(engine) : named->as_string();
  // None has a method of that name nor tensors for the scales and biases beside each matrix, but
  // plug-ins that compute with MLX themselves. Source: vllm config/model.py (_verify_quantization),
  // sglang configs/model_config.py.
  const std::vector<std::string> readers =
      facts.has("mlx_makers") ? facts.list("mlx_makers") : std::vector<std::string>();
  const auto& devices = question.hardware->devices;
  const bool plugin = std::all_of(devices.begin(), devices.end(), [&](const Device& d) {
    return std::find(readers.begin(), readers.end(), d.gpu.vendor) != readers.end();
  });
  const bool mlx = std::any_of(schemes.begin(), schemes.end(), [](const weights::Scheme& s) {
    return s.kind == SchemeKind::mlx_affine;
  });
  if (mlx && !plugin) {
    out.refusals.push_back({"weights", "Unknown quantization method: .",
                            "the checkpoint is quantised for MLX, which " + name +
                                " does not read; give a weight format to plan another one"});
  }
  for (size_t i = 0; i < question.hardware->devices.size(); ++i) {
    const Device& device = question.hardware->devices[i];
    const catalog::Gpu& gpu = device.gpu;
    if (gpu.id.empty() || gpu.vendor.empty()) continue;  // memory alone was given
    if (!made_by(facts, gpu.vendor) && out.doubts.empty()) {
      out.doubts.push_back(doubt("device", int(i), 1, 0, 1,
                                 "no server of " + name + " on " + gpu.name +
                                     ", if it runs there at all, was held against these rules"));
    }
    const int have = gpu.compute_capability;
    if (have == 0) continue;
    if (const int wanted = least(facts, "least_capability"); have < wanted) {
      out.refusals.push_back({"device",
                              facts.has("capability_error") ? facts.text("capability_error") : "",
                              name + " needs compute capability " + dotted(wanted) + ", " + gpu.id +
                                  " has " + dotted(have)});
      break;
    }
    if (const int built = least(facts, "built_capability"); have < built && out.doubts.empty()) {
      Requirement r = doubt("device", int(i), built, have, have,
                            "the published builds of this version hold kernels from compute "
                            "capability " +
                                dotted(built) + " on, " + gpu.id + " has " + dotted(have) +
                                ": only a build of one's own starts");
      r.engine_error = "CUDA error: no kernel image is available for execution on the device";
      out.doubts.push_back(std::move(r));
    }
    for (const Format& format : kFormats) {
      const auto used = [&](const weights::Scheme& s) { return s.kind == format.kind; };
      if (std::none_of(schemes.begin(), schemes.end(), used)) continue;
      const int wanted = least(facts, "least_capability_" + std::string(format.fact));
      if (have >= wanted) continue;
      out.refusals.push_back(refuse_format(format, have, wanted, device));
      break;
    }
    if (!out.refusals.empty()) break;
  }
  TRY(facts.check());
  return out;
}

bool supports(std::string_view engine, const catalog::Gpu& gpu) {
  auto facts = Facts::load(engine, Version());
  if (!facts) return true;
  if (!made_by(*facts, gpu.vendor)) return false;
  if (gpu.compute_capability == 0) return true;
  return gpu.compute_capability >=
         std::max(least(*facts, "least_capability"), least(*facts, "built_capability"));
}

}  // namespace vramwise::engines
