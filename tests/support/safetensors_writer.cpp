#include "support/safetensors_writer.h"

#include <array>
#include <bit>
#include <cstdlib>

#include "formats/safetensors/safetensors.h"
#include "json/value.h"
#include "support/gguf_writer.h"

namespace vramwise::testing {

SafetensorsWriter& SafetensorsWriter::tensor(std::string_view name,
                                             const std::vector<int64_t>& shape,
                                             std::string_view dtype) {
  int64_t bits = 0;
  for (const formats::SafetensorsType& type : formats::safetensors_types()) {
    if (type.name == dtype) bits = type.bits;
  }
  if (bits == 0) std::abort();
  json::Value extents = json::Value::array();
  for (const int64_t extent : shape) {
    bits *= extent;
    extents.push(extent);
  }
  json::Value entry = json::Value::object();
  entry.set("dtype", dtype);
  entry.set("shape", std::move(extents));
  json::Value offsets = json::Value::array();
  offsets.push(data_bytes_);
  offsets.push(data_bytes_ + bits / 8);
  entry.set("data_offsets", std::move(offsets));
  data_bytes_ += bits / 8;
  names_.emplace_back(name);
  return raw(name, json::dump(entry));
}

SafetensorsWriter& SafetensorsWriter::raw(std::string_view name, std::string_view json) {
  if (!members_.empty()) members_ += ",";
  members_ += json::quote(name) + ":" + std::string(json);
  return *this;
}

std::string SafetensorsWriter::header() const {
  std::string json = "{" + members_ + "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const auto length = std::bit_cast<std::array<char, 8>>(uint64_t(json.size()));
  return std::string(length.data(), length.size()) + json;
}

std::string SafetensorsWriter::whole() const {
  std::string bytes = header();
  bytes.resize(bytes.size() + size_t(data_bytes_), '\0');
  return bytes;
}

void SafetensorsWriter::write(const std::string& path) const {
  const std::string bytes = header();
  write_sparse(path, bytes, int64_t(bytes.size()) + data_bytes_);
}

std::string safetensors_index(const std::map<std::string, SafetensorsWriter>& files) {
  json::Value map = json::Value::object();
  int64_t total = 0;
  for (const auto& [file, writer] : files) {
    for (const std::string& name : writer.names()) map.set(name, file);
    total += writer.data_bytes();
  }
  json::Value index = json::Value::object();
  json::Value metadata = json::Value::object();
  metadata.set("total_size", total);
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(map));
  return json::dump(index, 2);
}

}  // namespace vramwise::testing
