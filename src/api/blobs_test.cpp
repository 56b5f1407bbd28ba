#include "api/blobs.h"

#include <gtest/gtest.h>

#include "api/api.h"
#include "base/text.h"
#include "json/parse.h"
#include "support/gguf_writer.h"
#include "support/safetensors_writer.h"

namespace vramwise::api {
namespace {

using json::Value;

Value ask(const Value& request, const std::vector<BlobPart>& parts) {
  return *json::parse(handle(json::dump(request), parts), "answer");
}

// Asks until nothing is lacking; `files` by blob.
Value ask_until_done(const Value& request, const std::vector<std::string>& files, int* rounds) {
  std::vector<BlobPart> parts;
  for (*rounds = 0; *rounds < 20; ++*rounds) {
    Value answer = ask(request, parts);
    const Value* need = answer.find("need");
    if (need == nullptr) return answer;
    const int64_t blob = need->find("blob")->as_integer();
    const int64_t offset = need->find("offset")->as_integer();
    const int64_t bytes = need->find("bytes")->as_integer();
    parts.push_back({blob, offset,
                     std::string_view(files[size_t(blob)]).substr(size_t(offset), size_t(bytes))});
  }
  return {};
}

TEST(Blobs, GgufHeaderTakesTwoRounds) {
  const testing::GgufWriter writer = testing::llama_70b_with_tokenizer();
  std::string bytes = writer.header();
  bytes.resize(std::size_t{24} << 20, '\0');  // the beginning of the data
  Value request =
      *json::parse(R"({"id":7,"ask":"inspect","model":{"blob":0,"name":"x.gguf"}})", "");
  request.find("model")->set("size_bytes", writer.file_bytes());
  int rounds = 0;
  const Value answer = ask_until_done(request, {bytes}, &rounds);
  ASSERT_NE(answer.find("model"), nullptr) << json::dump(answer);
  EXPECT_EQ(answer.find("model")->find("parameters")->as_integer(), 70'553'706'496);
  EXPECT_EQ(answer.find("id")->as_integer(), 7);
  EXPECT_EQ(rounds, 2);
}

TEST(Blobs, FolderOfACheckpoint) {
  testing::SafetensorsWriter weights;
  weights.tensor("model.embed_tokens.weight", {100, 64}, "BF16");
  const std::string shard = weights.whole();
  const std::string config =
      R"({"model_type":"zorro","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4})";
  Value request = *json::parse(
      R"({"ask":"inspect","model":{"files":[{"name":"config.json","blob":0},
          {"name":"model.safetensors","blob":1}]}})",
      "");
  json::Array& files = request.find("model")->find("files")->as_array();
  files[0].set("size_bytes", int64_t(config.size()));
  files[1].set("size_bytes", int64_t(shard.size()));
  int rounds = 0;
  const Value answer = ask_until_done(request, {config, shard}, &rounds);
  ASSERT_NE(answer.find("model"), nullptr) << json::dump(answer);
  EXPECT_EQ(answer.find("model")->find("tensor_bytes")->as_integer(), 100 * 64 * 2);
}

TEST(Blobs, BadRequestsAreAnswered) {
  for (const char* text : {R"({"model":{"blob":0}})", R"({"model":{"blob":-1,"size_bytes":5}})",
                           R"({"model":{"blob":0,"size_bytes":-5}})", R"({"model":{"files":[]}})",
                           R"({"model":{"files":[{"name":7,"blob":0,"size_bytes":1}]}})",
                           R"({"model":7})", "[]", R"({"model":{"blob":0,"size_bytes":0}})"}) {
    const Value answer = ask(*json::parse(text, ""), {});
    EXPECT_NE(answer.find("error"), nullptr) << text << json::dump(answer);
  }
  // Parts that do not belong to the file are not looked at.
  const Value answer =
      ask(*json::parse(R"({"model":{"blob":0,"size_bytes":10}})", ""), {{0, 5, "too long a part"}});
  EXPECT_NE(answer.find("need"), nullptr);
}

TEST(Blobs, HeaderAskGivesAModelThatNeedsNoFile) {
  const testing::GgufWriter writer = testing::llama_70b_with_tokenizer();
  std::string bytes = writer.header();
  bytes.resize(std::size_t{24} << 20, '\0');
  Value request = *json::parse(R"({"ask":"header","model":{"blob":0,"name":"x.gguf"}})", "");
  request.find("model")->set("size_bytes", writer.file_bytes());
  int rounds = 0;
  const Value answer = ask_until_done(request, {bytes}, &rounds);
  const Value* header = answer.find("header");
  ASSERT_NE(header, nullptr) << json::dump(answer).substr(0, 500);
  Value later = *json::parse(R"({"ask":"inspect"})", "");
  later.set("model", *header->find("model"));
  const Value inspected = handle_value(later);
  ASSERT_NE(inspected.find("model"), nullptr) << json::dump(inspected);
  EXPECT_EQ(inspected.find("model")->find("parameters")->as_integer(), 70'553'706'496);
}

}  // namespace
}  // namespace vramwise::api
