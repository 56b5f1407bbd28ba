#include "base/text.h"
#include "report/fields.h"
#include "report/tensor_lines.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

namespace {

std::string file_lines(const Value& file, const Style& style) {
  std::string kind = text(file, "format");
  if (kind == "gguf") kind = "GGUF version " + format_integer(integer(file, "version"));
  if (member(file, "big_endian").as_boolean()) kind += ", big-endian";
  if (integer(file, "files") > 1) kind += ", " + format_integer(integer(file, "files")) + " files";
  kind += ", " + size_text(style, integer(file, "expected_bytes"));
  const bool complete = file.find("complete") == nullptr || member(file, "complete").as_boolean();
  if (!complete)
    kind += ", of which " + size_text(style, integer(file, "file_bytes")) + " are there";
  return "  " + pad_right("file", 22) + kind + "\n";
}

}  // namespace

std::string inspect_text(const Value& answer, const Style& style) {
  const Value& model = member(answer, "model");
  const Value& inspect = member(answer, "inspect");
  const int64_t total = integer(model, "parameters");
  const int64_t active = integer(model, "active_parameters");
  std::string sentence = text(model, "id") + " has " + format_grouped(total) + " parameters";
  if (active != total) sentence += ", " + format_grouped(active) + " active per token";
  sentence += ", and takes " + size_text(style, integer(model, "tensor_bytes")) + " as " +
              text(model, "weights");
  std::string out = paint(style, Ink::bold, wrap(sentence, style.width, 2)) + "\n\n";
  const auto fact = [&](std::string_view label, const std::string& value) {
    out += "  " + pad_right(label, 22) + value + "\n";
  };
  fact("architecture", text(model, "architecture"));
  fact("layers", format_grouped(integer(inspect, "layers")));
  fact("hidden size", format_grouped(integer(inspect, "hidden_size")));
  fact("vocabulary", format_grouped(integer(inspect, "vocab_size")));
  if (inspect.find("max_positions") != nullptr) {
    fact("longest context", format_grouped(integer(inspect, "max_positions")));
  }
  fact("bits per weight", format_fixed(member(model, "bits_per_weight").as_double(), 3));
  if (integer(inspect, "mtp_parameters") > 0) {
    fact("MTP parameters", format_grouped(integer(inspect, "mtp_parameters")) + " (not counted)");
  }
  if (integer(inspect, "buffers") > 0) {
    fact("buffers", format_grouped(integer(inspect, "buffers")) + " (not counted)");
  }
  if (const Value* file = inspect.find("file")) out += file_lines(*file, style);
  out += "\n" + paint(style, Ink::bold, "Tensors") + "\n";
  for (const Value& group : member(inspect, "tensors_by_role").as_array()) {
    out += "  " + pad_left(size_text(style, integer(group, "bytes")), 14) + "  " +
           pad_left(format_grouped(integer(group, "tensors")), 8) + "  " + text(group, "role") +
           "\n";
  }
  out += "\n" + paint(style, Ink::bold, "Types") + "\n";
  for (const Value& group : member(inspect, "tensors_by_format").as_array()) {
    out += "  " + pad_left(size_text(style, integer(group, "bytes")), 14) + "  " +
           pad_left(format_grouped(integer(group, "tensors")), 8) + "  " + text(group, "format") +
           "\n";
  }
  out += "\n" + paint(style, Ink::bold, "Cache of each layer") + "\n";
  const json::Array& runs = member(inspect, "cache_runs").as_array();
  const size_t shown = style.verbosity > 0 ? runs.size() : std::min<size_t>(runs.size(), 12);
  for (size_t i = 0; i < shown; ++i) {
    const int64_t first = integer(runs[i], "first_layer");
    const int64_t count = integer(runs[i], "layers");
    const std::string range = count == 1
                                  ? format_integer(first)
                                  : format_integer(first) + "-" + format_integer(first + count - 1);
    out += "  " + pad_right(range, 10) + wrap(text(runs[i], "cache"), style.width, 12, 12) + "\n";
  }
  if (shown < runs.size()) {
    out += paint(style, Ink::dim,
                 "  " + format_integer(int64_t(runs.size() - shown)) + " more with -v") +
           "\n";
  }
  out += "\n" + paint(style, Ink::bold, "One sequence") + "  (fixed " +
         size_text(style, integer(member(model, "cache"), "fixed_bytes_per_sequence")) + ")\n";
  out += "  " + pad_left("tokens", 10) + pad_left("cache", 14) + pad_left("next token", 16) + "\n";
  for (const Value& point : member(inspect, "cache_curve").as_array()) {
    out += "  " + pad_left(format_grouped(integer(point, "tokens")), 10) +
           pad_left(size_text(style, integer(point, "bytes")), 14) +
           pad_left(format_fixed(member(point, "marginal_bytes_per_token").as_double(), 0) + " B",
                    16) +
           "\n";
  }
  for (const Value& tensor : member(inspect, "tensors").as_array())
    out += tensor_line(tensor, style);
  for (const Value& note : member(answer, "warnings").as_array()) {
    out += "\n" + paint(style, Ink::yellow, "warning: ") +
           wrap(text(note, "text"), style.width, 4) + "\n";
  }
  const json::Array& assumptions = member(answer, "assumptions").as_array();
  if (!assumptions.empty()) {
    out += "\n" + paint(style, Ink::bold, "Assumed") + "\n";
    for (const Value& note : assumptions) {
      out += "  - " + wrap(text(note, "text"), style.width, 4, 4) + "\n";
    }
  }
  return out;
}

}  // namespace vramwise::report
