#include "engines/ollama/releases.h"

#include <algorithm>
#include <array>

namespace vramwise::engines::ollama {
namespace {

// "0.12.6" of the profile, compared number by number.
Result<Version> number_of(const json::Value& value) {
  if (!value.is_string()) return fail(ErrorCode::internal, "a release of Ollama is no text");
  return Version::parse(value.as_string());
}

// Two numbers stand for that line's latest release.
bool at_least(const Version& version, const Version& first) {
  if (!version.given) return true;
  if (version.major != first.major) return version.major > first.major;
  if (version.minor != first.minor) return version.minor > first.minor;
  return version.two_numbers || version.patch >= first.patch;
}

class Since {
 public:
  Since(const json::Value& table, const Version& version) : table_(table), version_(version) {}

  // An absent name never holds.
  bool operator()(std::string_view name) {
    const json::Value* first = table_.find(name);
    if (first == nullptr) return false;
    const auto number = number_of(*first);
    if (!number) broken_ = true;
    return number && at_least(version_, *number);
  }
  bool broken() const { return broken_; }

 private:
  const json::Value& table_;
  const Version& version_;
  bool broken_ = false;
};

int64_t integer(const json::Value& object, std::string_view key, int64_t fallback) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_integer() ? value->as_integer() : fallback;
}

std::string text(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

// The last entry of [["0.6.7", value], ...] that the release has reached.
Result<const json::Value*> latest(const json::Value& profile, std::string_view key,
                                  const Version& version) {
  const json::Value* list = profile.find(key);
  if (list == nullptr || !list->is_array()) {
    return fail(ErrorCode::internal, "the releases of Ollama lack " + std::string(key));
  }
  const json::Value* found = nullptr;
  for (const json::Value& entry : list->as_array()) {
    if (!entry.is_array() || entry.as_array().size() != 2) {
      return fail(ErrorCode::internal, "an entry of " + std::string(key) + " is no pair");
    }
    TRY_ASSIGN(const Version first, number_of(entry.as_array()[0]));
    if (found == nullptr || at_least(version, first)) found = &entry.as_array()[1];
  }
  if (found == nullptr) return fail(ErrorCode::internal, std::string(key) + " is empty");
  return found;
}

bool is_meant(const json::Value& entry, const model::Model& model) {
  // A class of Hugging Face where llama.cpp's name covers more than one.
  const std::string hf = text(entry, "class");
  if (!hf.empty()) return hf == model.architecture;
  const std::string gguf = text(entry, "gguf");
  return (gguf.empty() ? text(entry, "name") : gguf) == model.gguf.architecture;
}

Result<ArchitectureRule> architecture_rule(const json::Value& table, const Version& version,
                                           const model::Model& model) {
  ArchitectureRule rule;
  rule.name = model.gguf.architecture;
  if (!table.is_array()) return fail(ErrorCode::internal, "no architectures of Ollama");
  for (const json::Value& entry : table.as_array()) {
    if (!is_meant(entry, model)) continue;
    Since since(entry, version);
    rule.name = text(entry, "name");
    if (since("formula_since") || entry.find("formula_since") == nullptr) {
      rule.formula = text(entry, "formula");
    }
    rule.own_engine = since("engine_since");
    rule.flash = since("flash_since");
    rule.one_request = since("one_request_since");
    rule.windows_counted = since("windows_since");
    if (rule.windows_counted) rule.window = integer(entry, "window", 0);
    rule.global_every = integer(entry, "global_every", 1);
    if (since("smallest_context_since") && !since("smallest_context_until")) {
      rule.smallest_context = integer(entry, "smallest_context", 0);
      if (since("smallest_context_gib_since")) {
        rule.smallest_context_gib = integer(entry, "smallest_context_gib", 0);
      }
    }
    rule.tokens = integer(entry, "tokens", 0);
    rule.tower_patches = integer(entry, "tower_patches", 0);
    rule.tower_images = integer(entry, "tower_images", 1);
    rule.quantised_cache = !since("plain_cache_since") || since("quantised_cache_since");
    if (since("graph_doubled_since")) rule.cache_graph = CacheGraph::doubled;
    if (since("graph_equal_since")) rule.cache_graph = CacheGraph::equal;
    if (since("graph_partial_since")) rule.cache_graph = CacheGraph::partial_only;
    if (since.broken()) return fail(ErrorCode::internal, "a release of Ollama is not understood");
    break;
  }
  return rule;
}

}  // namespace

Result<Release> release_for(const json::Value& profile, const Version& version,
                            const model::Model& model, bool new_estimates, bool new_engine) {
  const json::Value* releases = profile.find("releases");
  const json::Value* table = releases == nullptr ? nullptr : releases->find("since");
  const json::Value* architectures =
      releases == nullptr ? nullptr : releases->find("architectures");
  if (table == nullptr || architectures == nullptr) {
    return fail(ErrorCode::internal, "the profile of Ollama has no releases");
  }
  Since since(*table, version);
  Release r;
  TRY_ASSIGN(r.architecture, architecture_rule(*architectures, version, model));
  r.known = since("known");
  r.child_server = since("child_server");
  if (new_engine && !r.child_server && since("own_engine")) r.architecture.own_engine = true;
  r.layouts = r.architecture.own_engine
                  ? since("layouts_of_own_engine") || (new_estimates && since("new_estimates"))
                  : since("layouts_of_llama_cpp");
  TRY_ASSIGN(const json::Value* build, latest(*releases, "llama_cpp_builds", version));
  if (build->is_integer()) r.llama_cpp_build = build->as_integer();
  TRY_ASSIGN(const json::Value* context, latest(*releases, "contexts", version));
  if (context->is_integer()) r.context = context->as_integer();
  TRY_ASSIGN(const json::Value* slots, latest(*releases, "slots", version));
  if (slots->is_array()) {
    for (const json::Value& n : slots->as_array()) {
      if (n.is_integer()) r.slots.push_back(n.as_integer());
    }
  }
  if (r.slots.empty()) r.slots = {1};
  r.context_variable = since("context_variable");
  r.full_graph_has_logits = since("full_graph_has_logits");
  r.cache_of_each_layer = since("cache_of_each_layer");
  r.states_counted = since("states_counted");
  r.flash_graph = since("flash_graph");
  r.largest_part_as_buffer =
      since("largest_part_as_buffer") && !since("first_layer_as_buffer_again");
  r.last_layer_first = since("last_layer_first");
  r.tower_counted = since("tower_counted");
  r.tower_with_output = since("tower_with_output");
  r.projector_by_size = since("projector_by_size");
  r.projector_padded = since("projector_padded");
  r.flash_auto = since("flash_auto");
  r.micro_batch_follows = since("micro_batch_follows");
  r.own_op_offload = since("own_op_offload");
  r.own_cells = since("own_cells");
  if (since.broken()) return fail(ErrorCode::internal, "a release of Ollama is not understood");
  return r;
}

}  // namespace vramwise::engines::ollama
