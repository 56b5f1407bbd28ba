#include "formats/ollama/manifest.h"

#include <gtest/gtest.h>

namespace vramwise::formats {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string manifest(const std::string& layers) {
  return R"({"schemaVersion":2,"config":{"digest":")" + kDigest + R"(","size":5},"layers":[)" +
         layers + "]}";
}

std::string layer(const std::string& kind, const std::string& digest, const std::string& size) {
  return R"({"mediaType":"application/vnd.ollama.image.)" + kind + R"(","digest":")" + digest +
         R"(","size":)" + size + "}";
}

TEST(Ollama, Names) {
  const auto path = [](std::string_view text) {
    const auto name = parse_ollama_name(text);
    return name ? name->manifest_path() : "error";
  };
  EXPECT_EQ(path("llama3.1:8b"), "registry.ollama.ai/library/llama3.1/8b");
  EXPECT_EQ(path("llama3"), "registry.ollama.ai/library/llama3/latest");
  EXPECT_EQ(path("me/model"), "registry.ollama.ai/me/model/latest");
  EXPECT_EQ(path("hf.co/me/model-GGUF:Q4_K_M"), "hf.co/me/model-GGUF/Q4_K_M");
  EXPECT_EQ(path("localhost:5000/a/b:c"), "localhost:5000/a/b/c");
  for (const char* bad : {"", ":8b", "a:", "../x", "a/../b", "a//b", "a/b/c/d", "a b", "..",
                          "a/..:x", "x:..", "h:0x/a/b"}) {
    EXPECT_EQ(path(bad), "error") << bad;
  }
  EXPECT_EQ(parse_ollama_name("me/model:x")->to_text(), "me/model:x");
}

TEST(Ollama, Manifest) {
  const auto read = read_ollama_manifest(
      manifest(layer("model", kDigest, "4661211808") + "," + layer("projector", kDigest, "7") +
               "," + layer("params", kDigest, "110")),
      "manifest");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->model.bytes, 4661211808);
  EXPECT_EQ(read->model.blob_name(), "sha256-" + std::string(64, 'a'));
  EXPECT_EQ(read->projectors.size(), 1U);
  EXPECT_EQ(read->total_bytes, 4661211808 + 117);
  for (const std::string& bad : {
           std::string("[]"),
           std::string("{}"),
           manifest(""),
           manifest(layer("model", "sha256:../../etc", "1")),
           manifest(layer("model", kDigest, "-1")),
           manifest(layer("model", kDigest, "1") + "," + layer("model", kDigest, "1")),
           manifest("7"),
       }) {
    EXPECT_FALSE(read_ollama_manifest(bad, "manifest")) << bad;
  }
}

}  // namespace
}  // namespace vramwise::formats
