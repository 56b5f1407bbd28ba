#include "apps/cli/node_file.h"

#include <array>

#include "apps/cli/question.h"
#include "apps/cli/sizes.h"
#include "base/text.h"
#include "engines/launch/yaml.h"
#include "host/files.h"
#include "host/model_source.h"
#include "json/parse.h"

namespace vramwise::cli {
namespace {

using json::Value;

// A size or a number of tokens: a number as it stands, or as on our command line ("24GiB", "8k").
struct Short {
  std::string_view written;
  std::string_view means;
  bool tokens = false;
};
constexpr std::array kSizes = {Short{"ram", "ram_bytes"},
                               Short{"ram_bytes", "ram_bytes"},
                               Short{"total", "total_bytes"},
                               Short{"total_bytes", "total_bytes"},
                               Short{"used", "used_bytes"},
                               Short{"used_bytes", "used_bytes"},
                               Short{"host", "host_bytes"},
                               Short{"host_bytes", "host_bytes"},
                               Short{"ctx", "sequence_tokens", true},
                               Short{"sequence_tokens", "sequence_tokens", true}};

Result<Value> size_of(const Short& name, const Value& value, const std::string& place) {
  if (!value.is_string()) return value;
  auto size =
      name.tokens ? parse_tokens(value.as_string(), place) : parse_bytes(value.as_string(), place);
  if (!size) return fail(std::move(size.error()));
  return Value(*size);
}

const Short* short_of(std::string_view key) {
  for (const Short& name : kSizes) {
    if (name.written == key) return &name;
  }
  return nullptr;
}

// An object with its sizes as numbers under the contract's names.
Result<Value> with_sizes(const Value& from, const std::string& place) {
  if (!from.is_object()) return from;
  Value out = Value::object();
  for (const json::Member& member : from.as_object()) {
    const Short* name = short_of(member.key);
    if (name == nullptr) {
      out.set(member.key, member.value);
      continue;
    }
    TRY_ASSIGN(Value size, size_of(*name, member.value, place + "." + member.key));
    out.set(std::string(name->means), std::move(size));
  }
  return out;
}

Value under(std::string_view key, Value value) {
  Value object = Value::object();
  object.set(key, std::move(value));
  return object;
}

// "hardware": an id, a list of cards, or the contract's object.
Result<Value> read_hardware(const Value& from, const std::string& path) {
  const std::string place = path + ": hardware";
  if (from.is_string()) return under("gpu", from);
  Value cards = from;
  if (from.is_object()) {
    TRY_ASSIGN(Value hardware, with_sizes(from, place));
    const Value* devices = hardware.find("devices");
    if (devices == nullptr) return hardware;
    cards = *devices;
    Value list = Value::array();
    for (const Value& card : cards.as_array()) {
      TRY_ASSIGN(Value one, with_sizes(card.is_string() ? under("gpu", card) : card, place));
      list.push(std::move(one));
    }
    hardware.set("devices", std::move(list));
    return hardware;
  }
  if (!from.is_array()) return from;  // the contract says what is wrong with it
  return read_hardware(under("devices", std::move(cards)), path);
}

Value named_model(const Value& from) {
  if (!from.is_string()) return from;
  return under(host::looks_like_path(from.as_string()) ? "path" : "ref", from);
}

Result<Value> read_process(const Value& from, const std::string& place) {
  if (!from.is_object()) return from;
  TRY_ASSIGN(const Value sized, with_sizes(from, place));
  Value process = Value::object();
  Value workload = Value::object();
  for (const json::Member& member : sized.as_object()) {
    if (member.key == "sequence_tokens" || member.key == "concurrency") {
      workload.set(member.key, member.value);
    } else if (member.key == "workload") {
      TRY_ASSIGN(const Value given, with_sizes(member.value, place + ".workload"));
      for (const json::Member& part : given.as_object()) workload.set(part.key, part.value);
    } else if (member.key == "model") {
      process.set("model", named_model(member.value));
    } else if (member.key == "draft") {
      const bool whole = member.value.find("model") != nullptr;
      process.set("draft", whole ? member.value : under("model", named_model(member.value)));
    } else if (member.key == "engine" && member.value.is_string()) {
      process.set("engine", under("name", member.value));
    } else {
      process.set(member.key, member.value);
    }
  }
  if (!workload.as_object().empty()) process.set("workload", std::move(workload));
  return process;
}

Result<Value> parse(const std::string& text, const std::string& path) {
  const std::string_view first = trim(text);
  if (starts_with(first, "{")) return json::parse(text, path);
  TRY_ASSIGN(std::vector<Value> documents, engines::launch::parse_yaml(text, path));
  return std::move(documents.front());
}

}  // namespace

Result<Value> read_node_file(const std::string& path) {
  TRY_ASSIGN(const std::string text, host::read_file(path, kRequestLimit));
  TRY_ASSIGN(const Value file, parse(text, path));
  if (!file.is_object() || file.find("processes") == nullptr) {
    return fail(Error(ErrorCode::missing_field, "the file lists no processes")
                    .at(path)
                    .hint("write `hardware: h100-sxm` and `processes:` with a list of programs "
                          "in start order, each with `line:` or `model:`")
                    .hint("docs/node-files.md has examples"));
  }
  Value request = Value::object();
  for (const json::Member& member : file.as_object()) {
    if (member.key == "hardware") {
      TRY_ASSIGN(Value hardware, read_hardware(member.value, path));
      request.set("hardware", std::move(hardware));
    } else if (member.key == "processes" && member.value.is_array()) {
      Value list = Value::array();
      const json::Array& items = member.value.as_array();
      for (size_t i = 0; i < items.size(); ++i) {
        TRY_ASSIGN(Value process,
                   read_process(items[i], path + ": processes[" + std::to_string(i) + "]"));
        list.push(std::move(process));
      }
      request.set("processes", std::move(list));
    } else {
      request.set(member.key, member.value);
    }
  }
  request.set("ask", "node");
  return request;
}

void name_node_file(Value& answer, const std::string& path) {
  Value* error = answer.find("error");
  if (error == nullptr) return;
  const Value* where = error->find("where");
  std::string place = where != nullptr ? where->as_string() : "";
  if (starts_with(place, "request")) place = std::string(trim(place.substr(7)));
  while (starts_with(place, ":")) place = std::string(trim(place.substr(1)));
  if (contains(place, path)) return;
  error->set("where", place.empty() ? path : path + ": " + place);
}

}  // namespace vramwise::cli
