// Sharded sets: the index, which files of a folder count, one table of all of them.

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/sort.h"
#include "base/text.h"
#include "formats/json_scanner.h"
#include "formats/names.h"
#include "formats/safetensors/safetensors.h"

namespace vramwise::formats {
namespace {

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name[0] == '.') return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20;
  });
}

}  // namespace

int32_t SafetensorsIndex::file_of(std::string_view tensor) const {
  const auto it = std::lower_bound(
      weight_map.begin(), weight_map.end(), tensor,
      [](const std::pair<std::string, int32_t>& a, std::string_view b) { return a.first < b; });
  return it != weight_map.end() && it->first == tensor ? it->second : -1;
}

Result<SafetensorsIndex> read_safetensors_index(ByteSource& source) {
  constexpr int64_t kIndexLimit = int64_t{64} << 20;
  constexpr size_t kMostFiles = 10'000;
  constexpr int64_t kKeptLimit = int64_t{48} << 20;
  TRY_ASSIGN(const int64_t size, source.size());
  if (size > kIndexLimit) {
    return fail(Error(ErrorCode::too_large, "the index has " + format_grouped(size) +
                                                " bytes, at most " + format_grouped(kIndexLimit) +
                                                " are accepted")
                    .at(Where{source.name(), "", 0, 0, -1}));
  }
  JsonScanner scanner(source, 0, size);
  SafetensorsIndex index;
  std::vector<std::string> names;  // file of each tensor, in the order first seen
  bool has_map = false;
  int64_t kept = 0;
  size_t last = 0;  // neighbours usually share their file
  const auto read_map = [&]() {
    return scanner.object(4096, [&](std::string tensor) -> Result<void> {
      const int64_t at = scanner.position();
      TRY_ASSIGN(std::string file, scanner.string(1024));
      if (last >= names.size() || names[last] != file) {
        last = size_t(std::find(names.begin(), names.end(), file) - names.begin());
        if (last == names.size()) {
          if (!is_plain_name(file)) {
            return scanner.broken("'" + shown(file) + "' is no plain file name", at);
          }
          if (names.size() >= kMostFiles) return scanner.broken("more than 10,000 files", at);
          names.push_back(std::move(file));
        }
      }
      kept += int64_t(sizeof(std::pair<std::string, int32_t>) + tensor.size());
      if (kept > kKeptLimit) return scanner.broken("the index names too many tensors", at);
      index.weight_map.emplace_back(std::move(tensor), int32_t(last));
      return {};
    });
  };
  TRY(scanner.object(4096, [&](const std::string& key) -> Result<void> {
    if (key == "weight_map") {
      if (has_map) return scanner.broken("weight_map is given twice");
      has_map = true;
      return read_map();
    }
    TRY_ASSIGN(const char next, scanner.peek());
    if (key != "metadata" || next != '{') return scanner.skip_value();
    return scanner.object(4096, [&](const std::string& field) -> Result<void> {
      TRY_ASSIGN(const char first, scanner.peek());
      // Some tools write the size as 1.6e10 or as text; it is only a second opinion.
      if (field != "total_size" || first < '0' || first > '9') return scanner.skip_value();
      if (auto total = scanner.integer()) {
        index.total_size = *total;
        return {};
      } else {
        return std::move(total).failure();
      }
    });
  }));
  TRY(scanner.finish());
  if (!has_map) {
    return fail(Error(ErrorCode::missing_field, "the index has no weight_map")
                    .at(Where{source.name(), "/weight_map", 0, 0, -1}));
  }
  // Files sorted by name, the map by tensor.
  std::vector<int32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  sort_stable(order, [&](int32_t a, int32_t b) { return names[size_t(a)] < names[size_t(b)]; });
  std::vector<int32_t> place(names.size());
  for (size_t i = 0; i < order.size(); ++i) {
    place[size_t(order[i])] = int32_t(i);
    index.files.push_back(names[size_t(order[i])]);
  }
  for (auto& [tensor, file] : index.weight_map) file = place[size_t(file)];
  sort_stable(index.weight_map);
  for (size_t i = 1; i < index.weight_map.size(); ++i) {
    if (index.weight_map[i - 1].first == index.weight_map[i].first) {
      return fail(Error(ErrorCode::invalid_input,
                        "the index names tensor '" + shown(index.weight_map[i].first) + "' twice")
                      .at(Where{source.name(), "/weight_map", 0, 0, -1}));
    }
  }
  return index;
}

CheckpointChoice choose_checkpoint(const std::vector<std::string>& names) {
  CheckpointChoice choice;
  std::vector<std::string> shards;
  std::vector<std::string> others;
  std::vector<std::string> consolidated;
  bool single = false;
  for (const std::string& name : names) {
    if (contains(name, "/")) continue;  // subfolders hold other things: original/, onnx/, …
    if (name == "model.safetensors.index.json") choice.index = name;
    if (!ends_with(name, ".safetensors")) continue;
    if (name == "model.safetensors") {
      single = true;
    } else if (glob_match("model-*-of-*.safetensors", name)) {
      shards.push_back(name);
    } else if (starts_with(name, "consolidated")) {
      consolidated.push_back(name);
    } else if (starts_with(name, "adapter_model") || contains(name, "training_args")) {
      choice.ignored.push_back(name);
    } else {
      others.push_back(name);
    }
  }
  for (auto* list : {&shards, &others, &consolidated}) sort_stable(*list);
  const auto ignore = [&](const std::vector<std::string>& list) {
    choice.ignored.insert(choice.ignored.end(), list.begin(), list.end());
  };
  if (!choice.index.empty() && !(single && shards.empty())) {
    ignore(consolidated);
    if (single) choice.ignored.push_back("model.safetensors");
    choice.files = shards;
    // The index names the files; what it does not name is dropped when it is read.
    choice.files.insert(choice.files.end(), others.begin(), others.end());
  } else if (single) {
    choice.index.clear();
    choice.files = {"model.safetensors"};
    ignore(shards);
    ignore(others);
    ignore(consolidated);
  } else if (!shards.empty()) {
    choice.files = shards;
    ignore(others);
    ignore(consolidated);
  } else if (!others.empty()) {
    choice.files = others;
    ignore(consolidated);
  } else {
    choice.files = consolidated;
  }
  sort_stable(choice.ignored);
  return choice;
}

Result<SafetensorsFile> join_safetensors(std::vector<SafetensorsFile> files,
                                         const SafetensorsIndex* index) {
  SafetensorsFile whole;
  for (size_t i = 0; i < files.size(); ++i) {
    SafetensorsFile& file = files[i];
    if (i == 0) {
      whole.name = files.size() == 1
                       ? file.name
                       : file.name + " and " + format_integer(int64_t(files.size()) - 1) + " more";
      whole.format = file.format;
      whole.data_offset = file.data_offset;
    }
    for (SafetensorsEntry& tensor : file.tensors) {
      if (index != nullptr && index->file_of(tensor.name) != int32_t(i)) continue;
      tensor.file = int32_t(i);
      whole.tensors.push_back(std::move(tensor));
    }
    whole.expected_bytes = saturating_add(whole.expected_bytes, file.expected_bytes);
    whole.file_bytes = saturating_add(whole.file_bytes, file.file_bytes);
    whole.notes.append(file.notes);
  }
  if (const SafetensorsEntry* twice = first_duplicate(whole.tensors)) {
    return fail(Error(ErrorCode::inconsistent,
                      "tensor '" + shown(twice->name) + "' stands in two files of the checkpoint")
                    .at(Where{files[size_t(twice->file)].name, shown(twice->name), 0, 0, -1})
                    .hint("an index (model.safetensors.index.json) would say which one counts"));
  }
  if (index != nullptr && whole.tensors.size() != index->weight_map.size()) {
    std::vector<std::string_view> present;
    for (const SafetensorsEntry& tensor : whole.tensors) present.push_back(tensor.name);
    sort_stable(present);
    for (const auto& [tensor, file] : index->weight_map) {
      if (std::binary_search(present.begin(), present.end(), std::string_view(tensor))) continue;
      return fail(Error(ErrorCode::inconsistent, "the index puts tensor '" + shown(tensor) +
                                                     "' into " + index->files[size_t(file)] +
                                                     ", it is not there")
                      .at(Where{index->files[size_t(file)], shown(tensor), 0, 0, -1}));
    }
  }
  if (index != nullptr && index->total_size >= 0 && index->total_size != whole.tensor_bytes()) {
    whole.notes.warn("index_total_size", "the index states " + format_grouped(index->total_size) +
                                             " bytes of tensors, the files hold " +
                                             format_grouped(whole.tensor_bytes()));
  }
  return whole;
}

}  // namespace vramwise::formats
