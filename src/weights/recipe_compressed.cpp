// compressed-tensors (llm-compressor, Moonshot …): groups of targets, each with a scheme for
// weights and inputs, and a list of modules to ignore.
// Source: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py.
#include "base/text.h"
#include "weights/recipe.h"

namespace vramwise::weights {
namespace {

struct Args {
  bool present = false;
  int64_t bits = 16;
  bool is_float = false;
  bool dynamic = false;
  bool symmetric = true;
  bool act_order = false;
  int64_t group = 0;  // 0 = none given
  std::string strategy;
  int64_t block_out = 128, block_in = 128;
};

Result<Args> read_args(const std::optional<json::Reader>& config) {
  Args a;
  if (!config || !config->is_object()) return a;
  a.present = true;
  TRY_ASSIGN(a.bits, config->integer_or({"num_bits"}, 8, 1, 16));
  TRY_ASSIGN(const auto type, config->optional_string({"type"}));
  a.is_float = type == "float";
  if (const auto dynamic = config->find("dynamic")) {
    // true, false, or "local" (scales made on the fly inside of a static global one)
    a.dynamic = dynamic->value().is_boolean() && dynamic->value().as_boolean();
  }
  TRY_ASSIGN(a.symmetric, config->boolean_or({"symmetric"}, true));
  if (const auto order = config->find("actorder")) {
    // "group" (or true) stores g_idx; "static" and "weight" leave no trace.
    const json::Value& v = order->value();
    a.act_order = (v.is_boolean() && v.as_boolean()) || (v.is_string() && v.as_string() == "group");
  }
  TRY_ASSIGN(const auto group, config->optional_integer({"group_size"}, -1, 1 << 24));
  a.group = group.value_or(0) < 0 ? 0 : group.value_or(0);
  TRY_ASSIGN(const auto strategy, config->optional_string({"strategy"}));
  a.strategy = strategy.value_or(a.group > 0 ? "group" : "tensor");
  if (const auto blocks = config->find("block_structure")) {
    std::vector<int64_t> sides;
    if (blocks->value().is_string()) {  // "128x128"
      for (const std::string_view side : split(blocks->value().as_string(), 'x')) {
        sides.push_back(parse_integer(side).value_or(0));
      }
    } else {
      TRY_ASSIGN(const auto items, blocks->items());
      for (const json::Reader& side : items) {
        TRY_ASSIGN(const int64_t n, side.integer(1, 1 << 20));
        sides.push_back(n);
      }
    }
    if (sides.size() != 2 || sides[0] <= 0 || sides[1] <= 0) {
      return fail(blocks->error(ErrorCode::invalid_input, "block_structure needs two numbers"));
    }
    a.block_out = sides[0];
    a.block_in = sides[1];
  }
  return a;
}

Result<Scheme> scheme_of(const Args& w, const Args& in, std::string_view format,
                         const json::Reader& place, const Scheme& plain) {
  Scheme s;
  s.scale_type = plain.plain_type;  // scales are saved in the model's type
  s.group = w.group;
  s.bits = int(w.bits);
  s.static_input_scale = in.present && !in.dynamic;
  if (w.is_float && w.bits == 8) {
    if (contains(format, "mxfp8") || w.group == 32) {
      s.kind = SchemeKind::mxfp8;
    } else if (w.strategy == "block") {
      s.kind = SchemeKind::fp8_block;
      s.block_out = w.block_out;
      s.block_in = w.block_in;
    } else {
      s.kind = w.strategy == "channel" ? SchemeKind::fp8_channel : SchemeKind::fp8_tensor;
    }
    return s;
  }
  if (w.is_float && w.bits == 4) {
    const bool mx = contains(format, "mxfp4") || w.group == 32;
    s.kind = mx ? SchemeKind::mxfp4 : SchemeKind::nvfp4;
    // The input's global scale of NVFP4 is stored even where group scales are made on the fly.
    s.static_input_scale = !mx && in.present;
    return s;
  }
  if (!w.is_float && w.bits == 8 && in.present && in.bits == 8) {
    s.kind = SchemeKind::int8_channel;
    return s;
  }
  if (!w.is_float && w.bits == 4 && in.present && in.is_float && in.bits == 8) {
    s.kind = SchemeKind::w4a8_fp8;
    s.static_input_scale = false;
    return s;
  }
  if (!w.is_float && w.bits <= 8) {
    s.kind = SchemeKind::wna16;
    s.zeros = !w.symmetric;
    s.act_order = w.act_order;
    s.static_input_scale = false;
    return s;
  }
  return fail(place.error(ErrorCode::unsupported,
                          format_integer(w.bits) + "-bit " + (w.is_float ? "float" : "integer") +
                              " weights are not a scheme of compressed-tensors known here"));
}

std::string format_of(const Scheme& s) {
  switch (s.kind) {
    case SchemeKind::fp8_tensor: return "fp8-tensor";
    case SchemeKind::fp8_channel: return "fp8-channel";
    case SchemeKind::fp8_block: return "fp8-block";
    case SchemeKind::int8_channel: return "w8a8";
    case SchemeKind::nvfp4: return "nvfp4";
    case SchemeKind::mxfp4: return "mxfp4";
    case SchemeKind::mxfp8: return "mxfp8";
    default: return s.bits == 8 ? "w8a16" : "w4a16";
  }
}

}  // namespace

Result<Plan> plan_compressed_tensors(const json::Reader& config, const Scheme& plain) {
  Plan plan;
  plan.plain = plain;
  plan.covers_head = true;  // "Linear" means all of them
  TRY_ASSIGN(const auto common_format, config.optional_string({"format"}));
  if (const auto groups = config.find("config_groups")) {
    TRY_ASSIGN(const auto members, groups->members());
    for (const auto& [name, group] : members) {
      TRY_ASSIGN(const Args weights, read_args(group.find("weights")));
      TRY_ASSIGN(const Args inputs, read_args(group.find("input_activations")));
      if (!weights.present) continue;
      TRY_ASSIGN(const auto own_format, group.optional_string({"format"}));
      PlanGroup out;
      TRY_ASSIGN(out.scheme,
                 scheme_of(weights, inputs, own_format ? *own_format : common_format.value_or(""),
                           group, plain));
      if (const auto targets = group.find("targets")) {
        TRY_ASSIGN(const auto items, targets->items());
        for (const json::Reader& item : items) {
          TRY_ASSIGN(const std::string target, item.string());
          if (target == "Linear") {
            out.all_linears = true;
          } else {
            TRY(out.targets.add(target));
          }
        }
      }
      if (plan.format.empty()) plan.format = format_of(out.scheme);
      plan.groups.push_back(std::move(out));
    }
  }
  if (plan.groups.empty()) {
    plan.format = "bf16";
    plan.notes.warn("no_quantised_weights", "The quantisation config quantises no weights.");
  }
  if (const auto ignore = config.find("ignore")) TRY(plan.ignored.add_all(*ignore));
  TRY_ASSIGN(const Args cache, read_args(config.find("kv_cache_scheme")));
  if (cache.present && cache.bits == 8 && cache.is_float) plan.kv_cache_dtype = "fp8";
  if (const auto sparse = config.find("sparsity_config"); sparse && sparse->is_object()) {
    TRY_ASSIGN(const auto form, sparse->optional_string({"format"}));
    if (form && *form != "dense") {
      plan.notes.warn("sparse_checkpoint",
                      "The checkpoint is also sparse (" + *form + "); its zeros are counted here.");
    }
  }
  return plan;
}

}  // namespace vramwise::weights
