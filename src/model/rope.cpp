#include "model/rope.h"

#include <algorithm>
#include <cmath>

namespace vramwise::model {
namespace {

// Longest context accepted anywhere, so that rows times widths stay small numbers.
constexpr double kMaxPositions = double(int64_t{1} << 40);

constexpr std::string_view kPositionKeys[] = {
    "max_position_embeddings", "n_positions",         "max_seq_len",    "seq_length",
    "max_target_positions",    "max_sequence_length", "max_seq_length", "seq_len"};

int64_t scaled(int64_t positions, double factor) {
  return int64_t(std::min(kMaxPositions, std::floor(double(positions) * factor)));
}

// Smallest of the keys that say a length; `fallback` when there is none. model_max_length goes
// before all: Command-R was trained on 131,072 tokens and says 8,192 in max_position_embeddings
// (vllm config/model.py, _get_and_verify_max_len; llama.cpp convert_hf_to_gguf.py, CommandR2Model).
int64_t length_of(const Fields& text, int64_t fallback) {
  if (const int64_t told = text.extent_or({"model_max_length"}, 0); told > 0) return told;
  int64_t shortest = 0;
  for (const std::string_view key : kPositionKeys) {
    const int64_t n = text.extent_or({key}, 0);
    if (n > 0 && (shortest == 0 || n < shortest)) shortest = n;
  }
  return shortest > 0 ? shortest : fallback;
}

bool is_longrope(const RopeScaling& rope) { return rope.type == "longrope" || rope.type == "su"; }

}  // namespace

RopeScaling read_rope_scaling(const Fields& text, std::string_view kind, double partial) {
  RopeScaling rope;
  rope.partial = text.real({"partial_rotary_factor", "rotary_pct", "rope_pct"}, partial, 0, 1);
  // Phi-3 keeps the original length beside the scaling.
  rope.original = text.extent_or({"original_max_position_embeddings"}, 0);
  const auto outer = text.reader().find({"rope_scaling", "rope_parameters"});
  if (!outer || !outer->is_object()) return rope;
  Fields entry = text.nested({"rope_scaling", "rope_parameters"});
  if (entry.has({kind})) entry = entry.nested({kind});
  rope.type = entry.text_or({"rope_type", "type"}, "");
  rope.factor = entry.real({"factor"}, 1, 0, 1e6);
  rope.original = entry.extent_or({"original_max_position_embeddings"}, rope.original);
  rope.partial = entry.real({"partial_rotary_factor"}, rope.partial, 0, 1);
  rope.multimodal = entry.has({"mrope_section"}) || rope.type == "mrope";
  return rope;
}

void read_positions(const Fields& text, Model& model, PositionRules rules) {
  const RopeScaling rope = read_rope_scaling(text);
  int64_t positions = length_of(text, rules.class_default);
  model.long_rope = is_longrope(rope);
  model.gguf.rope_freqs = rope.type == "llama3" || is_longrope(rope);
  if ((rope.type == "yarn" || is_longrope(rope)) && rope.original > 0) {
    model.original_positions = rope.original;
  }
  // llama3 and longrope reach max_position_embeddings as it stands; every other kind multiplies.
  if (!rules.ignores_scaling && !is_longrope(rope) && rope.type != "llama3") {
    if (rope.type == "yarn" && rope.original > 0) positions = rope.original;
    positions = scaled(positions, rope.factor);
  }
  model.max_positions = positions;
}

void add_rope_table(const Fields& text, Model& model, int64_t width, const RopeScaling& rope,
                    bool float32) {
  RopeTable table;
  table.rotary_dim = text.small_or({"rotary_dim"}, int64_t(double(width) * rope.partial));
  table.float32 = float32;
  table.sections = rope.multimodal ? 4 : 1;
  table.positions = length_of(text, model.max_positions);
  if (rope.type == "yarn" && rope.original > 0) {
    table.positions = scaled(rope.original, rope.factor);
  } else if (is_longrope(rope)) {
    table.positions += rope.original;  // a short and a long table, one behind the other
  } else if (rope.type == "linear" || rope.type == "dynamic") {
    table.positions = scaled(table.positions, rope.factor);
  }
  if (table.rotary_dim <= 0 || table.positions <= 0) return;
  const auto same = [&](const RopeTable& other) {
    return other.positions == table.positions && other.rotary_dim == table.rotary_dim &&
           other.float32 == table.float32 && other.sections == table.sections;
  };
  if (std::none_of(model.rope_tables.begin(), model.rope_tables.end(), same)) {
    model.rope_tables.push_back(table);
  }
}

}  // namespace vramwise::model
