// Header-correct safetensors files for tests; the data is a hole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::testing {

class SafetensorsWriter {
 public:
  SafetensorsWriter& tensor(std::string_view name, const std::vector<int64_t>& shape,
                            std::string_view dtype);
  // Any member of the header, as text.
  SafetensorsWriter& raw(std::string_view name, std::string_view json);

  std::string header() const;  // with its length in front
  int64_t data_bytes() const { return data_bytes_; }
  std::string whole() const;
  void write(const std::string& path) const;

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string members_;
  std::vector<std::string> names_;
  int64_t data_bytes_ = 0;
};

// model.safetensors.index.json for these files.
std::string safetensors_index(const std::map<std::string, SafetensorsWriter>& files);

}  // namespace vramwise::testing
