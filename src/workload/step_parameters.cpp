#include "workload/step_parameters.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/catalog.h"
#include "json/reader.h"
#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

struct PolicyName {
  std::string_view name;
  Policy policy;
};
constexpr std::array kPolicies = {PolicyName{"decode_first", Policy::decode_first},
                                  PolicyName{"prefill_first", Policy::prefill_first},
                                  PolicyName{"slots", Policy::slots}};

Result<json::Value> parameters() {
  TRY_ASSIGN(catalog::Entry entry, catalog::find(catalog::Kind::speed, "step-time"));
  return std::move(entry.value);
}

Result<json::Reader> engine_part(const json::Reader& root, std::string_view engine) {
  TRY_ASSIGN(const json::Reader engines, root.require({"engines"}));
  const auto found = engines.find(engine);
  if (!found) {
    return fail(Error(ErrorCode::unsupported,
                      "no scheduler is simulated for engine '" + std::string(engine) + "'")
                    .at("engine.name")
                    .hint("engines with one: vllm, sglang, trtllm, llama.cpp, ollama"));
  }
  return *found;
}

Result<double> positive(const json::Reader& from, std::string_view key) {
  TRY_ASSIGN(const auto value, from.optional_number({key}, 0, 1e12));
  if (!value) {
    return fail(from.error(ErrorCode::internal, "'" + std::string(key) + "' is missing"));
  }
  return *value;
}

}  // namespace

Result<EngineTraits> EngineTraits::load(std::string_view engine) {
  TRY_ASSIGN(const json::Value value, parameters());
  const json::Reader root(value, "catalog/speeds/step-time.json");
  TRY_ASSIGN(const json::Reader part, engine_part(root, engine));
  EngineTraits traits;
  TRY_ASSIGN(const std::string name, part.require_string({"policy"}));
  for (const PolicyName& known : kPolicies) {
    if (name == known.name) traits.policy = known.policy;
  }
  TRY_ASSIGN(traits.null_blocks, part.integer_or({"null_blocks"}, 0));
  TRY_ASSIGN(traits.reserve_output, part.boolean_or({"reserve_output"}, false));
  TRY_ASSIGN(const auto router, part.optional_string({"router"}));
  traits.router = router.value_or("");
  if (const auto drafts = part.find("drafts")) {
    TRY_ASSIGN(const json::Reader names, drafts->require({"options"}));
    for (const json::Value& name : names.value().as_array()) {
      traits.draft_options.push_back(name.as_string());
    }
    TRY_ASSIGN(traits.draft_default, drafts->integer_or({"default"}, 0));
    TRY_ASSIGN(traits.drafts_count_own, drafts->boolean_or({"count_own"}, false));
  }
  TRY_ASSIGN(const json::Reader options, part.require({"options"}));
  traits.options = options.value();
  return traits;
}

std::string EngineTraits::option(std::string_view word) const {
  const json::Value* found = options.find(word);
  return found != nullptr ? found->as_string() : std::string();
}

Result<StepBar> StepBar::calibrated() {
  TRY_ASSIGN(const json::Value value, parameters());
  const json::Reader root(value, "catalog/speeds/step-time.json");
  StepBar bar;
  TRY_ASSIGN(bar.low, positive(root, "calibrated_low_factor"));
  TRY_ASSIGN(bar.high, positive(root, "calibrated_high_factor"));
  return bar;
}

Result<StepParameters> StepParameters::load(std::string_view engine, const catalog::Gpu& gpu,
                                            double bits_per_weight) {
  TRY_ASSIGN(const json::Value value, parameters());
  const json::Reader root(value, "catalog/speeds/step-time.json");
  TRY_ASSIGN(const json::Reader part, engine_part(root, engine));
  StepParameters p;
  TRY_ASSIGN(p.source, root.require_string({"source"}));
  p.memory_class = gpu.unified_memory ? "unified" : "gddr";
  TRY_ASSIGN(const json::Reader hbm, root.require({"hbm"}));
  for (const json::Value& glob : hbm.value().as_array()) {
    if (glob_match(glob.as_string(), gpu.id)) p.memory_class = "hbm";
  }
  const std::string_view bits = bits_per_weight > 12 ? "16" : bits_per_weight > 7 ? "8" : "4";
  TRY_ASSIGN(const json::Reader shares, root.require({"weight_read_share"}));
  TRY_ASSIGN(const json::Reader of_class, shares.require({p.memory_class}));
  TRY_ASSIGN(p.weight_share, positive(of_class, bits));
  TRY_ASSIGN(const double engine_factor, positive(part, "weight_factor"));
  p.weight_share *= engine_factor;
  TRY_ASSIGN(p.expert_factor, positive(root, "expert_factor"));
  TRY_ASSIGN(p.routed_layer, positive(root, "routed_layer"));
  TRY_ASSIGN(p.cache_share, positive(root, "cache_read_share"));
  TRY_ASSIGN(p.low_factor, positive(root, "low_factor"));
  TRY_ASSIGN(p.high_factor, positive(root, "high_factor"));
  TRY_ASSIGN(const json::Reader compute, part.require({"compute_share"}));
  TRY_ASSIGN(p.compute_share, positive(compute, p.memory_class));
  TRY_ASSIGN(const json::Reader layer, part.require({"layer_us"}));
  TRY_ASSIGN(const double layer_us, positive(layer, p.memory_class));
  p.layer_seconds = layer_us * 1e-6;
  TRY_ASSIGN(const double step_us, positive(part, "step_us"));
  p.step_seconds = step_us * 1e-6;
  TRY_ASSIGN(const json::Reader unvalidated, part.require({"unvalidated"}));
  p.validated = true;
  for (const json::Value& name : unvalidated.value().as_array()) {
    if (name.as_string() == p.memory_class) p.validated = false;
  }
  const json::Value* options = part.value().find("options");
  if (options != nullptr && options->find("tensor_parallel") != nullptr) {
    p.tensor_parallel_option = options->find("tensor_parallel")->as_string();
  }
  // Measured matrix products of this very card replace the class where no decode was measured.
  TRY_ASSIGN(const bool measured_gemm, part.boolean_or({"measured_gemm"}, false));
  auto card = catalog::find(catalog::Kind::speed, gpu.id);
  if (card && measured_gemm && p.memory_class == "hbm") {
    const json::Reader speeds(card->value, "catalog/speeds/" + gpu.id + ".json");
    if (const auto share = speeds.find("bandwidth_share")) {
      TRY_ASSIGN(const auto bf16, share->optional_number({"bf16"}, 0.01, 1));
      TRY_ASSIGN(const auto fp8, share->optional_number({"fp8"}, 0.01, 1));
      TRY_ASSIGN(const double fp8_factor, positive(root, "fp8_gemm_factor"));
      if (bits == "16" && bf16) p.weight_share = *bf16;
      if (bits == "8" && bf16) p.weight_share = fp8 ? *fp8 : *bf16 * fp8_factor;
    }
  }
  if (!p.validated) {
    p.remarks.push_back(
        "the step time on " + p.memory_class +
        " memory is unvalidated: it rests on "
        "matrix products measured alone, no decode of this engine was measured there");
  }
  // All-reduces of this card, else of one that is connected alike.
  if (!card || card->value.find("all_reduce_us") == nullptr) {
    TRY_ASSIGN(const json::Reader like, root.require({"all_reduce_like"}));
    TRY_ASSIGN(const std::string other,
               like.require_string({contains(gpu.interconnect, "NVLink") ? "nvlink" : "pcie"}));
    card = catalog::find(catalog::Kind::speed, other);
  }
  if (card) {
    if (const json::Value* table = card->value.find("all_reduce_us")) {
      for (const json::Member& member : table->as_object()) {
        std::vector<std::pair<double, double>> points;
        for (const json::Value& point : member.value.as_array()) {
          const json::Array& pair = point.as_array();
          if (pair.size() != 2) continue;
          points.emplace_back(log_of(pair[0].as_double()), log_of(pair[1].as_double() * 1e-6));
        }
        const auto ranks = parse_integer(member.key);
        if (ranks && points.size() >= 2) p.all_reduce_.emplace_back(*ranks, std::move(points));
      }
    }
  }
  return p;
}

double StepParameters::all_reduce_seconds(int64_t ranks, double bytes) const {
  if (all_reduce_.empty() || bytes <= 0) return 0;
  // The table of that many ranks, else of the next larger, else of the largest.
  const std::vector<std::pair<double, double>>* points = &all_reduce_.back().second;
  for (const auto& [n, table] : all_reduce_) {
    if (n >= ranks) {
      points = &table;
      break;
    }
  }
  const double x = log_of(bytes);
  if (x <= points->front().first) return exp_of(points->front().second);
  size_t i = 1;
  while (i + 1 < points->size() && (*points)[i].first < x) ++i;
  const auto& [x0, y0] = (*points)[i - 1];
  const auto& [x1, y1] = (*points)[i];
  return exp_of(y0 + (y1 - y0) * (x - x0) / (x1 - x0));
}

}  // namespace vramwise::workload
