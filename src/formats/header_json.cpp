#include "formats/header_json.h"

#include "base/checked.h"
#include "base/text.h"
#include "formats/gguf/tensor_type.h"

namespace vramwise::formats {
namespace {

using json::Value;

constexpr int64_t kMostTensors = 1'000'000;

struct ValueJson {
  Value operator()(bool b) const { return b; }
  Value operator()(int64_t n) const { return n; }
  Value operator()(double d) const { return d; }
  Value operator()(const GgufText& text) const { return text.text; }
  Value operator()(const GgufArray& list) const {
    if (list.values.empty()) {
      Value counted = Value::object();
      counted.set("count", list.count);
      return counted;
    }
    Value values = Value::array();
    for (const int64_t n : list.values) {
      values.push(list.element == GgufValueType::boolean ? Value(n != 0) : Value(n));
    }
    return values;
  }
};

Value warnings_of(const Notes& notes) {
  Value list = Value::array();
  for (const Note& note : notes.warnings) {
    Value pair = Value::array();
    pair.push(note.id);
    pair.push(note.text);
    list.push(std::move(pair));
  }
  return list;
}

// [name, extents, type]
template <class Entry>
Value tensor_json(const Entry& entry, std::string_view type) {
  Value extents = Value::array();
  for (int32_t d = 0; d < entry.rank; ++d) extents.push(entry.extent[size_t(d)]);
  json::Array row;
  row.reserve(3);
  row.emplace_back(entry.name);
  row.push_back(std::move(extents));
  row.emplace_back(type);
  return row;
}

Result<GgufValue> value_from_json(const json::Reader& from) {
  const Value& value = from.value();
  switch (value.kind()) {
    case json::Kind::boolean: return GgufValue(value.as_boolean());
    case json::Kind::integer: return GgufValue(value.as_integer());
    case json::Kind::number: return GgufValue(value.as_double());
    case json::Kind::string:
      return GgufValue(GgufText{value.as_string(), int64_t(value.as_string().size())});
    case json::Kind::object: {
      GgufArray list;
      TRY_ASSIGN(list.count, from.require_integer({"count"}));
      return GgufValue(std::move(list));
    }
    case json::Kind::array: {
      GgufArray list;
      list.element = GgufValueType::i64;
      for (const Value& item : value.as_array()) {
        if (item.is_boolean()) {
          list.element = GgufValueType::boolean;
          list.values.push_back(item.as_boolean() ? 1 : 0);
        } else {
          list.values.push_back(item.as_integer());
        }
      }
      list.count = int64_t(list.values.size());
      return GgufValue(std::move(list));
    }
    case json::Kind::null: break;
  }
  return fail(from.error(ErrorCode::invalid_input, "a metadata value may not be null"));
}

// Name, extents and type of one row.
struct Row {
  std::string name;
  std::vector<int64_t> extents;
  std::string type;
};
Result<Row> read_row(const json::Reader& from, size_t most_extents) {
  const json::Array& parts = from.value().as_array();
  const bool usable = parts.size() == 3 && parts[0].is_string() && parts[1].is_array() &&
                      parts[2].is_string() && parts[1].as_array().size() <= most_extents;
  if (!usable) {
    return fail(
        from.error(ErrorCode::invalid_input, "a tensor is written [name, [extents], type]"));
  }
  Row row{parts[0].as_string(), {}, parts[2].as_string()};
  for (const Value& extent : parts[1].as_array()) {
    if (!extent.is_integer() || extent.as_integer() < 0 ||
        extent.as_integer() > kLargestExactInteger) {
      return fail(from.error(ErrorCode::invalid_input, "an extent must be a whole number"));
    }
    row.extents.push_back(extent.as_integer());
  }
  return row;
}

Result<Notes> read_warnings(const json::Reader& header) {
  Notes notes;
  const auto list = header.find("warnings");
  if (!list) return notes;
  TRY_ASSIGN(const auto items, list->items());
  for (const json::Reader& item : items) {
    const json::Array& pair = item.value().as_array();
    if (pair.size() == 2 && pair[0].is_string() && pair[1].is_string()) {
      notes.warn(pair[0].as_string(), pair[1].as_string());
    }
  }
  return notes;
}

Result<std::vector<json::Reader>> read_tensor_rows(const json::Reader& header) {
  TRY_ASSIGN(const json::Reader tensors, header.require({"tensors"}));
  TRY_ASSIGN(std::vector<json::Reader> rows, tensors.items());
  if (int64_t(rows.size()) > kMostTensors) {
    return fail(tensors.error(ErrorCode::too_large, "more than a million tensors"));
  }
  return rows;
}

}  // namespace

Value to_json(const GgufFile& file) {
  Value header = Value::object();
  header.set("format", "gguf");
  header.set("name", file.name);
  header.set("version", int64_t(file.version));
  if (file.big_endian) header.set("big_endian", true);
  header.set("alignment", file.alignment);
  header.set("file_bytes", file.file_bytes);
  header.set("expected_bytes", file.expected_bytes);
  header.set("data_offset", file.data_offset);
  // The key is known to be new: set() would look for it.
  json::Object metadata;
  metadata.reserve(file.metadata.size());
  for (const GgufKey& key : file.metadata) {
    metadata.push_back({key.name, std::visit(ValueJson{}, key.value)});
  }
  header.set("metadata", std::move(metadata));
  json::Array tensors;
  tensors.reserve(file.tensors.size());
  for (const GgufTensorEntry& entry : file.tensors) {
    tensors.push_back(tensor_json(entry, entry.type->name));
  }
  header.set("tensors", std::move(tensors));
  header.set("warnings", warnings_of(file.notes));
  return header;
}

Value to_json(const SafetensorsFile& files, int64_t count) {
  Value header = Value::object();
  header.set("format", "safetensors");
  header.set("name", files.name);
  header.set("files", count);
  header.set("file_bytes", files.file_bytes);
  header.set("expected_bytes", files.expected_bytes);
  json::Array tensors;
  tensors.reserve(files.tensors.size());
  for (const SafetensorsEntry& entry : files.tensors) {
    tensors.push_back(tensor_json(entry, entry.type->name));
  }
  header.set("tensors", std::move(tensors));
  header.set("warnings", warnings_of(files.notes));
  return header;
}

std::string_view header_format(const Value& header) {
  const Value* format = header.find("format");
  if (format == nullptr || !format->is_string()) return {};
  if (format->as_string() == "gguf") return "gguf";
  return format->as_string() == "safetensors" ? "safetensors" : std::string_view();
}

Result<GgufFile> gguf_from_json(const json::Reader& header) {
  GgufFile file;
  TRY_ASSIGN(const auto name, header.optional_string({"name"}));
  file.name = name.value_or("GGUF file");
  TRY_ASSIGN(const int64_t version, header.integer_or({"version"}, 3, 1, 3));
  file.version = uint32_t(version);
  TRY_ASSIGN(file.alignment, header.integer_or({"alignment"}, 32, 1, int64_t{1} << 31));
  TRY_ASSIGN(file.file_bytes, header.integer_or({"file_bytes"}, 0));
  TRY_ASSIGN(file.expected_bytes, header.integer_or({"expected_bytes"}, 0));
  TRY_ASSIGN(file.data_offset, header.integer_or({"data_offset"}, 0));
  if (const auto metadata = header.find("metadata")) {
    TRY_ASSIGN(const auto members, metadata->members());
    for (const auto& [key, value] : members) {
      GgufKey entry{key, {}};
      TRY_ASSIGN(entry.value, value_from_json(value));
      file.metadata.push_back(std::move(entry));
    }
  }
  TRY_ASSIGN(const auto rows, read_tensor_rows(header));
  file.tensors.reserve(rows.size());
  for (const json::Reader& from : rows) {
    TRY_ASSIGN(Row row, read_row(from, 4));
    GgufTensorEntry entry;
    entry.name = std::move(row.name);
    entry.rank = int32_t(row.extents.size());
    for (size_t d = 0; d < row.extents.size(); ++d) entry.extent[d] = row.extents[d];
    for (const GgufType& type : gguf_types()) {
      if (type.name == row.type) entry.type = &type;
    }
    if (entry.type == nullptr || entry.extent[0] % entry.type->block_elements != 0) {
      return fail(from.error(ErrorCode::invalid_input,
                             "the type '" + row.type.substr(0, 40) +
                                 "' is not known, or does not divide the first extent"));
    }
    entry.bytes =
        saturating_multiply(entry.extent[0] / entry.type->block_elements, entry.type->block_bytes);
    for (size_t d = 1; d < 4; ++d) entry.bytes = saturating_multiply(entry.bytes, entry.extent[d]);
    file.tensors.push_back(std::move(entry));
  }
  TRY_ASSIGN(file.notes, read_warnings(header));
  return file;
}

Result<SafetensorsFile> safetensors_from_json(const json::Reader& header) {
  SafetensorsFile files;
  TRY_ASSIGN(const auto name, header.optional_string({"name"}));
  files.name = name.value_or("checkpoint");
  TRY_ASSIGN(files.file_bytes, header.integer_or({"file_bytes"}, 0));
  TRY_ASSIGN(files.expected_bytes, header.integer_or({"expected_bytes"}, 0));
  TRY_ASSIGN(const auto rows, read_tensor_rows(header));
  files.tensors.reserve(rows.size());
  for (const json::Reader& from : rows) {
    TRY_ASSIGN(Row row, read_row(from, 8));
    SafetensorsEntry entry;
    entry.name = std::move(row.name);
    entry.rank = int32_t(row.extents.size());
    for (size_t d = 0; d < row.extents.size(); ++d) entry.extent[d] = row.extents[d];
    for (const SafetensorsType& type : safetensors_types()) {
      if (type.name == row.type) entry.type = &type;
    }
    if (entry.type == nullptr) {
      return fail(from.error(ErrorCode::invalid_input,
                             "the type '" + row.type.substr(0, 40) + "' is not known"));
    }
    entry.end = ceil_div(saturating_multiply(entry.elements(), entry.type->bits), 8);
    files.tensors.push_back(std::move(entry));
  }
  TRY_ASSIGN(files.notes, read_warnings(header));
  return files;
}

}  // namespace vramwise::formats
