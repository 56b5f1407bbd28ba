#include "api/answer.h"

#include <algorithm>

#include "base/text.h"
#include "model/served_type.h"
#include "plan/levers.h"
#include "plan/sentence.h"

namespace vramwise::api {
namespace {

using engines::Assessment;
using engines::Component;
using engines::Ledger;
using json::Value;

const Ledger& reading(const Assessment& a, engines::Reading which) {
  switch (which) {
    case engines::Reading::need: return a.need;
    case engines::Reading::reserve: return a.reserve;
    case engines::Reading::peak: return a.peak;
  }
  return a.reserve;
}

Value components(const Ledger& ledger, int device) {
  Value block = Value::object();
  Bytes total;
  for (const Component component : engines::kComponents) {
    const ByteRange sum = ledger.total(device, component);
    block.set(std::string(to_string(component)) + "_bytes", sum.likely);
    total += sum.likely;
  }
  block.set("total_bytes", total);
  const ByteRange range = ledger.total(device);
  if (!range.is_exact()) {
    block.set("total_low_bytes", range.low);
    block.set("total_high_bytes", range.high);
  }
  return block;
}

std::string render(const engines::Formula& formula) {
  std::string text(formula.words);
  for (size_t i = 0; i < formula.operands.size(); ++i) {
    text += i == 0 ? "; " : ", ";
    text += std::string(formula.operands[i].name) + " = ";
    const double value = formula.operands[i].value;
    text += value == double(int64_t(value)) ? format_grouped(int64_t(value)) : format_number(value);
  }
  return text;
}

Value ledger_rows(const Ledger& ledger) {
  Value rows = Value::array();
  for (const engines::LedgerRow& row : ledger.rows) {
    Value item = Value::object();
    item.set("device", row.device == engines::kHost ? Value("host") : Value(row.device));
    item.set("component", to_string(row.component));
    item.set("item", row.item);
    item.set("bytes", row.bytes.likely);
    if (!row.bytes.is_exact()) {
      item.set("low_bytes", row.bytes.low);
      item.set("high_bytes", row.bytes.high);
    }
    item.set("basis", to_string(row.basis));
    if (!row.formula.words.empty()) item.set("formula", render(row.formula));
    if (!row.source.empty()) item.set("source", row.source);
    rows.push(std::move(item));
  }
  return rows;
}

Value sizes_by_name(const std::vector<std::pair<std::string, Bytes>>& sizes) {
  Value block = Value::object();
  for (const auto& [name, size] : sizes) block.set(name, size);
  return block;
}

// "the log line 'GPU KV cache size' says at least 409,600 tokens; 889,248 expected"
std::string check_words(const engines::LogCheck& check) {
  if (check.unit == "bytes") {
    return "the log's " + check.line + " add up to " + format_bytes(Bytes(check.expected));
  }
  const std::string unit = " " + std::string(check.unit);
  const std::string expected = format_grouped(check.expected);
  if (check.least <= 0) return "the log line '" + check.line + "' says " + expected + unit;
  return "the log line '" + check.line + "' says at least " + format_grouped(check.least) + unit +
         "; " + expected + " expected";
}

Value check_block(const engines::LogCheck& check) {
  Value block = Value::object();
  block.set("line", check.line);
  block.set("expected", check.expected);
  if (check.least > 0) block.set("least", check.least);
  block.set("unit", check.unit);
  block.set("text", check_words(check));
  return block;
}

Value levers_block(const std::vector<plan::Lever>& levers) {
  Value list = Value::array();
  for (const plan::Lever& lever : levers) {
    Value item = Value::object();
    Value ids = Value::array();
    for (const std::string& id : lever.ids) ids.push(id);
    item.set("ids", std::move(ids));
    item.set("change", lever.change);
    if (!lever.option.empty()) item.set("option", lever.option);
    item.set("freed_bytes", lever.freed);
    item.set("outcome", plan::to_string(lever.after.outcome));
    item.set("starts", lever.after.starts);
    if (lever.users >= 0) item.set("users", lever.users);
    item.set("reaches", plan::reaches(lever));
    if (!lever.cost.empty()) item.set("cost", lever.cost);
    if (lever.check) item.set("check", check_block(*lever.check));
    item.set("set", lever.set);
    list.push(std::move(item));
  }
  return list;
}

Value kv_block(const Assessment& a) {
  Value kv = Value::object();
  kv.set("bytes_per_token", a.kv.bytes_per_token);
  kv.set("available_bytes", a.kv.available.likely);
  kv.set("available_low_bytes", a.kv.available.low);
  kv.set("available_high_bytes", a.kv.available.high);
  kv.set("pool_tokens", a.kv.pool_tokens);
  kv.set("blocks", a.kv.blocks);
  kv.set("block_tokens", a.kv.block_tokens);
  kv.set("max_concurrency", a.kv.max_concurrency);
  kv.set("max_sequence_tokens", a.kv.max_sequence_tokens);
  return kv;
}

// How far the load's need may grow on a device: to the end of the pool that the server reserves, or
// to the end of what is free where it reserves none.
Bytes limit_of(const Assessment& a, const engines::Device& device, int index) {
  const Bytes free = device.total - device.used;
  if (a.primary != engines::Reading::reserve || a.need.rows.empty()) return free;
  const Bytes whole_pool = a.need.total(index).likely -
                           a.need.total(index, Component::kv_cache).likely +
                           a.reserve.total(index, Component::kv_cache).likely;
  return std::min(free, whole_pool);
}

Value devices_block(const plan::Plan& plan, const Ledger& primary) {
  Value list = Value::array();
  for (size_t i = 0; i < plan.resolved.hardware.devices.size(); ++i) {
    const engines::Device& device = plan.resolved.hardware.devices[i];
    const Bytes reserved = primary.total(int(i)).likely;
    Value item = Value::object();
    item.set("index", int64_t(i));
    item.set("gpu", device.gpu.id);
    item.set("total_bytes", device.total);
    item.set("used_bytes", device.used);
    item.set("reserved_bytes", reserved);
    item.set("free_bytes", device.total - device.used - reserved);
    item.set("limit_bytes", limit_of(plan.assessment, device, int(i)));
    list.push(std::move(item));
  }
  return list;
}

Value requirement_rows(const Assessment& a) {
  Value list = Value::array();
  for (const engines::Requirement& r : a.requirements) {
    Value item = Value::object();
    item.set("what", r.what);
    item.set("phase", r.phase);
    item.set("unit", r.unit);
    item.set("device", r.device == engines::kHost ? Value("host") : Value(r.device));
    item.set("needed", r.needed.likely);
    item.set("available", r.available.likely);
    if (!r.needed.is_exact()) {
      item.set("needed_low", r.needed.low);
      item.set("needed_high", r.needed.high);
    }
    if (!r.available.is_exact()) {
      item.set("available_low", r.available.low);
      item.set("available_high", r.available.high);
    }
    list.push(std::move(item));
  }
  return list;
}

}  // namespace

Value notes_block(const std::vector<Note>& notes) {
  Value list = Value::array();
  for (const Note& note : notes) {
    Value item = Value::object();
    item.set("id", note.id);
    item.set("text", note.text);
    if (!note.source.empty()) item.set("source", note.source);
    list.push(std::move(item));
  }
  return list;
}

Value answer_head(const Value& id) {
  Value head = Value::object();
  head.set("schema_version", kSchemaVersion);
  if (!id.is_null()) head.set("id", id);
  return head;
}

Value error_answer(const Value& id, const Error& error) {
  Value answer = answer_head(id);
  Value block = Value::object();
  block.set("code", to_string(error.code));
  block.set("message", error.message);
  const std::string where = error.where.to_text();
  if (!where.empty()) block.set("where", where);
  Value hints = Value::array();
  for (const std::string& hint : error.hints) hints.push(hint);
  if (!error.hints.empty()) block.set("hints", std::move(hints));
  answer.set("error", std::move(block));
  return answer;
}

Value model_block(const model::Model& model, const weights::Weights& weights) {
  Value block = Value::object();
  block.set("id", model.id);
  block.set("architecture", model.architecture);
  block.set("parameters", parameter_count(model));
  block.set("active_parameters", active_parameter_count(model));
  block.set("weights", weights.format);
  block.set("kv_bytes_per_token", kv_bytes_per_token(model));
  block.set("tensor_bytes", weights::at_rest_bytes(model, weights));
  block.set("bits_per_weight", weights::bits_per_weight(model, weights));
  const model::CacheTypes types = model::served_cache_types(model);
  Value cache = Value::object();
  cache.set("bytes_per_token", kv_bytes_per_token(model));
  cache.set("fixed_bytes_per_sequence", fixed_cache_bytes(model, types));
  Value at = Value::object();
  for (const int64_t tokens : {1024, 8192, 32768, 131072}) {
    at.set(format_integer(tokens), cache_bytes_at(model, Tokens(tokens), types));
  }
  cache.set("bytes_at", std::move(at));
  block.set("cache", std::move(cache));
  return block;
}

Value cards_block(std::string_view gpu, int64_t count, const engines::Layout& layout) {
  Value block = Value::object();
  block.set("gpu", gpu);
  block.set("count", count);
  if (!layout.label.empty()) block.set("layout", layout.label);
  Value options = Value::object();
  for (const auto& [name, value] : layout.options) options.set(name, value);
  if (!layout.options.empty()) block.set("options", std::move(options));
  return block;
}

Value plan_answer(const Value& id, const plan::Plan& plan) {
  const Assessment& a = plan.assessment;
  const Ledger& primary = reading(a, a.primary);
  Value answer = answer_head(id);
  answer.set("model", model_block(*plan.resolved.model, *plan.resolved.weights));
  Value engine = Value::object();
  engine.set("name", plan.resolved.engine->name());
  if (plan.resolved.settings.version.given) {
    engine.set("version", plan.resolved.settings.version.text);
  }
  engine.set("options", a.effective.to_json());
  answer.set("engine", std::move(engine));
  if (plan.resolved.workload.given()) {
    Value workload = Value::object();
    if (plan.resolved.workload.sequence_tokens.count() > 0) {
      workload.set("sequence_tokens", plan.resolved.workload.sequence_tokens);
    }
    if (plan.resolved.workload.concurrency.count() > 0) {
      workload.set("concurrency", plan.resolved.workload.concurrency.count());
    }
    answer.set("workload", std::move(workload));
  }
  answer.set("outcome", plan::to_string(plan.verdict.outcome));
  answer.set("starts", plan.verdict.starts);
  answer.set("answer", plan::sentence(plan));
  if (!plan.verdict.binding.empty()) answer.set("binding", plan.verdict.binding);
  if (plan.verdict.shortfall.count() > 0) answer.set("shortfall_bytes", plan.verdict.shortfall);
  if (!plan.verdict.engine_error.empty()) answer.set("engine_error", plan.verdict.engine_error);
  if (a.users >= 0) answer.set("users", a.users);
  if (a.longest_sequence >= 0) answer.set("longest_sequence_tokens", a.longest_sequence);
  answer.set("devices", devices_block(plan, primary));
  const int device = plan.resolved.hardware.is_cpu_only() ? engines::kHost : a.fullest_device;
  Value readings = Value::object();
  readings.set("need", components(a.need, device));
  readings.set("reserve", components(a.reserve, device));
  readings.set("peak", components(a.peak, device));
  answer.set("readings", std::move(readings));
  answer.set("primary_reading", a.primary == engines::Reading::need      ? "need"
                                : a.primary == engines::Reading::reserve ? "reserve"
                                                                         : "peak");
  answer.set("ledger", ledger_rows(primary));
  answer.set("totals", components(primary, device));
  answer.set("kv", kv_block(a));
  if (a.buffers) {
    Value buffers = Value::object();
    buffers.set("model_bytes", sizes_by_name(a.buffers->model));
    buffers.set("context_bytes", sizes_by_name(a.buffers->context));
    buffers.set("compute_bytes", sizes_by_name(a.buffers->compute));
    buffers.set("kv_bytes", a.buffers->kv);
    buffers.set("swa_kv_bytes", a.buffers->swa_kv);
    buffers.set("recurrent_bytes", a.buffers->recurrent);
    buffers.set("output_bytes", a.buffers->output);
    answer.set("buffers", std::move(buffers));
  }
  if (a.fit) {
    Value fit = Value::object();
    fit.set("ctx_size", a.fit->ctx_size);
    fit.set("n_gpu_layers", a.fit->n_gpu_layers);
    Value split = Value::array();
    for (const double share : a.fit->tensor_split) split.push(share);
    fit.set("tensor_split", std::move(split));
    Value overrides = Value::array();
    for (const std::string& o : a.fit->override_tensor) overrides.push(o);
    fit.set("override_tensor", std::move(overrides));
    fit.set("read_bytes_per_token", sizes_by_name(a.fit->reads));
    if (a.fit->better) {
      const engines::Fit::Better& b = *a.fit->better;
      Value better = Value::object();
      better.set("n_gpu_layers", b.n_gpu_layers);
      Value shares = Value::array();
      for (const double share : b.tensor_split) shares.push(share);
      better.set("tensor_split", std::move(shares));
      Value patterns = Value::array();
      for (const std::string& o : b.override_tensor) patterns.push(o);
      better.set("override_tensor", std::move(patterns));
      better.set("read_bytes_per_token", sizes_by_name(b.reads));
      fit.set("better", std::move(better));
    }
    answer.set("fit", std::move(fit));
  }
  answer.set("requirements", requirement_rows(a));
  Value log = Value::array();
  for (const engines::LogLine& line : a.log) {
    Value item = Value::object();
    item.set("line", line.line);
    item.set("value", line.value);
    item.set("unit", line.unit);
    log.push(std::move(item));
  }
  answer.set("log", std::move(log));
  answer.set("levers", levers_block(plan.levers));
  if (plan.smallest)
    answer.set("smallest",
               cards_block(plan.smallest->gpu, plan.smallest->count, plan.smallest->layout));
  Notes notes = plan.resolved.model->notes;
  notes.append(plan.resolved.weights->notes);
  notes.append(plan.resolved.notes);
  notes.append(a.notes);
  answer.set("assumptions", notes_block(notes.assumptions));
  answer.set("warnings", notes_block(notes.warnings));
  if (!a.command.empty()) answer.set("command", a.command);
  return answer;
}

Value inspect_block(const model::Model& model, const weights::Weights& weights) {
  Value block = Value::object();
  // Runs of equal layers: "layers 0-2: latent 512+64, dense".
  Value runs = Value::array();
  for (size_t i = 0; i < model.layers.size();) {
    const auto describe_layer = [&](size_t layer) {
      std::vector<std::string> parts;
      for (const model::CacheLayout& cache : model.layers[layer].caches) {
        parts.push_back(model::describe(cache));
      }
      return parts.empty() ? std::string("no cache") : join(parts, " + ");
    };
    const std::string text = describe_layer(i);
    size_t j = i;
    while (j < model.layers.size() && describe_layer(j) == text) ++j;
    Value run = Value::object();
    run.set("first_layer", int64_t(i));
    run.set("layers", int64_t(j - i));
    run.set("cache", text);
    runs.push(std::move(run));
    i = j;
  }
  block.set("cache_runs", std::move(runs));
  const model::CacheTypes types = model::served_cache_types(model);
  Value curve = Value::array();
  const int64_t longest = model.max_positions > 0 ? model.max_positions : int64_t{1} << 20;
  for (int64_t tokens = 1024; tokens <= longest && tokens <= int64_t{1} << 24; tokens *= 2) {
    Value point = Value::object();
    point.set("tokens", tokens);
    const Bytes here = cache_bytes_at(model, Tokens(tokens), types);
    point.set("bytes", here);
    // What the last token cost: the slope over the last 128 tokens (the largest compression block).
    const Bytes before = cache_bytes_at(model, Tokens(tokens - 128), types);
    point.set("marginal_bytes_per_token", double((here - before).count()) / 128.0);
    curve.push(std::move(point));
  }
  block.set("cache_curve", std::move(curve));
  // Tensors by format.
  struct Group {
    std::string format;
    int64_t tensors = 0;
    int64_t elements = 0;
    Bytes bytes;
  };
  std::vector<Group> groups;
  const auto add = [&](const std::string& format, int64_t n, int64_t elements, Bytes bytes) {
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const Group& g) { return g.format == format; });
    if (it == groups.end()) it = groups.insert(groups.end(), {format, 0, 0, Bytes()});
    it->tensors += n;
    it->elements = saturating_add(it->elements, elements);
    it->bytes += bytes;
  };
  if (weights.gguf) {
    for (const weights::GgufTensor& t : weights.gguf->tensors) {
      add(std::string(weights::info(t.type).name), 1, t.elements(), t.bytes());
    }
  } else if (weights.recipe) {
    for (size_t i = 0; i < model.tensors.size(); ++i) {
      const model::Tensor& t = model.tensors[i];
      if (t.part == model::Part::tied_head) continue;
      const weights::Scheme& scheme = weights.recipe->scheme(i);
      Bytes bytes;
      std::string format = weights::describe(scheme);
      if (scheme.kind == weights::SchemeKind::plain) {
        const DType type = t.dtype.value_or(scheme.plain_type);
        bytes = Bytes(t.elements()) * dtype_bytes(type);
        format = std::string(to_string(type));
      } else {
        const int rank = t.shape.rank;
        int64_t matrices = t.copies;
        for (int d = 0; d + 2 < rank; ++d) matrices = saturating_multiply(matrices, t.shape[d]);
        bytes = weights::at_rest(scheme, rank > 0 ? t.shape[rank - 1] : 1,
                                 rank > 1 ? t.shape[rank - 2] : 1) *
                matrices;
      }
      add(format, t.copies, t.elements(), bytes);
    }
  }
  Value formats = Value::array();
  for (const Group& group : groups) {
    Value item = Value::object();
    item.set("format", group.format);
    item.set("tensors", group.tensors);
    item.set("elements", group.elements);
    item.set("bytes", group.bytes);
    formats.push(std::move(item));
  }
  block.set("tensors_by_format", std::move(formats));
  if (weights.recipe && !weights.stored) {
    static constexpr const char* kNames[] = {"weights", "packed_words", "packed_bytes",
                                             "scales",  "zero_points",  "indices",
                                             "scalars", "shapes",       "tables"};
    static_assert(std::size(kNames) == weights::kStoredKinds);
    const weights::StoredCounts counts = weights::stored_counts(model, weights);
    Value stored = Value::object();
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) stored.set(kNames[i], counts[i]);
    }
    block.set("stored_elements", std::move(stored));
  }
  block.set("mtp_parameters", mtp_parameter_count(model));
  block.set("buffers", buffer_count(model));
  block.set("layers", int64_t(model.layers.size()));
  block.set("hidden_size", model.hidden_size);
  block.set("vocab_size", model.vocab_size);
  if (model.max_positions > 0) block.set("max_positions", model.max_positions);
  return block;
}

std::string find_too_large(const Value& value) {
  switch (value.kind()) {
    case json::Kind::integer: {
      const int64_t n = value.as_integer();
      return n > kLargestExactInteger || n < -kLargestExactInteger ? "/" : "";
    }
    case json::Kind::array: {
      const json::Array& items = value.as_array();
      for (size_t i = 0; i < items.size(); ++i) {
        const std::string below = find_too_large(items[i]);
        if (!below.empty()) {
          return "/" + format_integer(int64_t(i)) + (below == "/" ? "" : below);
        }
      }
      return "";
    }
    case json::Kind::object:
      for (const json::Member& member : value.as_object()) {
        const std::string below = find_too_large(member.value);
        if (!below.empty()) return "/" + member.key + (below == "/" ? "" : below);
      }
      return "";
    default: return "";
  }
}

}  // namespace vramwise::api
