#include "formats/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include "support/safetensors_writer.h"

namespace vramwise::formats {
namespace {

using testing::SafetensorsWriter;

Result<SafetensorsFile> read(std::string_view bytes, std::string name = "model.safetensors") {
  MemorySource source(bytes, std::move(name));
  return read_safetensors(source);
}

// A header of this text with as many bytes of data.
std::string file_of(const std::string& json, size_t data = 0) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += char((json.size() >> (8 * i)) & 0xFFU);
  return bytes + json + std::string(data, '\0');
}

TEST(Safetensors, ReadsEveryType) {
  SafetensorsWriter writer;
  writer.raw("__metadata__", R"({"format":"pt","note":"a \"quoted\" \u00e9\ud83d\ude00 text"})");
  for (const SafetensorsType& type : safetensors_types()) {
    writer.tensor(std::string(type.name), {16, 4}, type.name);
  }
  writer.tensor("scalar", {}, "F32").tensor("none", {0, 5}, "BF16");
  const std::string bytes = writer.whole();
  const auto file = read(bytes);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->format, "pt");
  EXPECT_EQ(file->tensors.size(), safetensors_types().size() + 2);
  for (size_t i = 0; i < safetensors_types().size(); ++i) {
    EXPECT_EQ(file->tensors[i].bytes(), 64 * safetensors_types()[i].bits / 8);
    EXPECT_EQ(file->tensors[i].rank, 2);
  }
  EXPECT_EQ(file->tensor_bytes(), writer.data_bytes());
  EXPECT_EQ(file->expected_bytes, int64_t(bytes.size()));
  EXPECT_TRUE(file->is_complete());
  EXPECT_TRUE(file->notes.warnings.empty());
}

TEST(Safetensors, BrokenFiles) {
  struct Case {
    const char* what;
    std::string bytes;
    ErrorCode code;
    const char* contains;
  };
  const std::string t = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const Case cases[] = {
      {"empty", "", ErrorCode::invalid_input, "too short"},
      {"length beyond the file", file_of(t, 8).substr(0, 30), ErrorCode::invalid_input, "ends at"},
      {"length beyond all", std::string(8, '\x7f') + "{}", ErrorCode::invalid_input, "header"},
      {"no object", file_of("[]"), ErrorCode::invalid_input, "expected '{'"},
      {"not closed", file_of(R"({"a":{"dtype":"F32")"), ErrorCode::invalid_input, "not valid JSON"},
      {"text not closed", file_of(R"({"a)"), ErrorCode::invalid_input, "does not end"},
      {"rest", file_of(t + "x", 8), ErrorCode::invalid_input, "follows"},
      {"dtype", file_of(R"({"a":{"dtype":"F5","shape":[2],"data_offsets":[0,8]}})", 8),
       ErrorCode::unsupported, "'F5'"},
      {"no dtype", file_of(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8),
       ErrorCode::missing_field, "lacks its dtype"},
      {"no offsets", file_of(R"({"a":{"dtype":"F32","shape":[2]}})", 8), ErrorCode::missing_field,
       "data_offsets"},
      {"one offset", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8),
       ErrorCode::invalid_input, "two are needed"},
      {"wrong size", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})", 9),
       ErrorCode::inconsistent, "need 8"},
      {"half a byte", file_of(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2),
       ErrorCode::inconsistent, "need 2"},
      {"backwards", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8),
       ErrorCode::invalid_input, "lies from 8 to 0"},
      {"overflow",
       file_of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8),
       ErrorCode::inconsistent, "64 bits"},
      {"nineteen digits",
       file_of(R"({"a":{"dtype":"F32","shape":[9999999999999999999],"data_offsets":[0,8]}})", 8),
       ErrorCode::invalid_input, "18 digits"},
      {"wide but empty",
       file_of(R"({"a":{"dtype":"F32","shape":[0,999999999999999999],"data_offsets":[0,0]}})"),
       ErrorCode::invalid_input, "too wide"},
      {"negative", file_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8),
       ErrorCode::invalid_input, "whole number"},
      {"fraction", file_of(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8),
       ErrorCode::invalid_input, "whole number"},
      {"rank",
       file_of(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4),
       ErrorCode::unsupported, "dimensions"},
      {"tensor twice",
       file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
               R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
               2),
       ErrorCode::invalid_input, "'a' is given twice"},
      {"shape twice",
       file_of(R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1),
       ErrorCode::invalid_input, "shape twice"},
      {"overlap",
       file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
               R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
               3),
       ErrorCode::invalid_input, "'a' and 'b' overlap"},
      {"deep", file_of(R"({"a":{"x":)" + std::string(100, '[') + std::string(100, ']') + "}}"),
       ErrorCode::invalid_input, "nested"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const auto result = read(c.bytes);
    if (result) {
      ADD_FAILURE() << "was read";
      continue;
    }
    EXPECT_EQ(result.error().code, c.code) << result.error().message;
    EXPECT_NE(result.error().message.find(c.contains), std::string::npos) << result.error().message;
  }
}

TEST(Safetensors, IncompleteDownloadKeepsItsNumbers) {
  const std::string bytes = SafetensorsWriter().tensor("a", {100}, "F32").whole();
  const auto file = read(std::string_view(bytes).substr(0, bytes.size() - 50));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->is_complete());
  EXPECT_EQ(file->tensor_bytes(), 400);
  ASSERT_EQ(file->notes.warnings.size(), 1U);
}

TEST(Safetensors, IndexAndShards) {
  std::map<std::string, SafetensorsWriter> shards;
  shards["model-00001-of-00002.safetensors"].tensor("a", {4}, "BF16").tensor("b", {4}, "BF16");
  // The second shard repeats b: the index says which one counts.
  shards["model-00002-of-00002.safetensors"].tensor("c", {4}, "F32");
  const std::string text = testing::safetensors_index(shards);
  shards["model-00002-of-00002.safetensors"].tensor("b", {4}, "BF16");
  MemorySource source(text, "model.safetensors.index.json");
  const auto index = read_safetensors_index(source);
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->files.size(), 2U);
  EXPECT_EQ(index->total_size, 32);
  EXPECT_EQ(index->file_of("c"), 1);
  EXPECT_EQ(index->file_of("d"), -1);
  std::vector<SafetensorsFile> files;
  for (const std::string& name : index->files) files.push_back(*read(shards[name].whole(), name));
  const auto whole = join_safetensors(files, &*index);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->tensors.size(), 3U);
  EXPECT_EQ(whole->tensor_bytes(), 32);
  EXPECT_TRUE(whole->notes.warnings.empty());
  EXPECT_FALSE(join_safetensors(files, nullptr));
  files[1].tensors.clear();
  const auto missing = join_safetensors(files, &*index);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::inconsistent);
}

TEST(Safetensors, IndexStaysInItsFolder) {
  for (const char* name :
       {"../x.safetensors", "/etc/x", "a/b.safetensors", "", ".hidden", "a\\b"}) {
    const std::string text = std::string(R"({"weight_map":{"t":")") +
                             (std::string(name) == "a\\b" ? "a\\\\b" : name) + "\"}}";
    MemorySource source(text, "index");
    EXPECT_FALSE(read_safetensors_index(source)) << name;
  }
  for (const char* text : {"{}", "[]", R"({"weight_map":{"t":1}})",
                           R"({"weight_map":{"t":"a","t":"a"}})", R"({"weight_map":{}} x)"}) {
    MemorySource source(text, "index");
    EXPECT_FALSE(read_safetensors_index(source)) << text;
  }
}

TEST(Safetensors, ChoosesWhatAnEngineLoads) {
  const auto chosen = [](std::vector<std::string> names) { return choose_checkpoint(names); };
  const std::string one = "model-00001-of-00002.safetensors";
  const std::string two = "model-00002-of-00002.safetensors";
  const std::string index = "model.safetensors.index.json";
  auto choice = chosen({"consolidated.safetensors", two, one, index, "config.json"});
  EXPECT_EQ(choice.index, index);
  EXPECT_EQ(choice.files, (std::vector<std::string>{one, two}));
  EXPECT_EQ(choice.ignored, std::vector<std::string>{"consolidated.safetensors"});
  choice = chosen({"model.safetensors", "consolidated.safetensors", "adapter_model.safetensors",
                   "original/model.safetensors"});
  EXPECT_EQ(choice.files, std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(choice.ignored.size(), 2U);
  choice = chosen({"consolidated.safetensors"});
  EXPECT_EQ(choice.files, std::vector<std::string>{"consolidated.safetensors"});
  choice = chosen({"b.safetensors", "a.safetensors"});
  EXPECT_EQ(choice.files, (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
  EXPECT_TRUE(chosen({"config.json"}).files.empty());
  // An index left behind by an earlier sharding does not hide the whole model.
  choice = chosen({"model.safetensors", index});
  EXPECT_EQ(choice.index, "");
  EXPECT_EQ(choice.files, std::vector<std::string>{"model.safetensors"});
}

}  // namespace
}  // namespace vramwise::formats
