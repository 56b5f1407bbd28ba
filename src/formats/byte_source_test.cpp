#include "formats/byte_source.h"

#include <gtest/gtest.h>

#include "formats/cursor.h"
#include "formats/sniff.h"

namespace vramwise::formats {
namespace {

// Counts what is asked of it.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(std::string_view bytes) : below_(bytes, "counted") {}
  const std::string& name() const override { return below_.name(); }
  Result<int64_t> size() override { return below_.size(); }
  Result<void> read(int64_t offset, std::span<char> out) override {
    ++reads;
    bytes += int64_t(out.size());
    return below_.read(offset, out);
  }
  int reads = 0;
  int64_t bytes = 0;

 private:
  MemorySource below_;
};

std::string pattern(size_t n) {
  std::string text(n, '\0');
  for (size_t i = 0; i < n; ++i) text[i] = char(i * 31 + i / 251);
  return text;
}

TEST(ByteSource, MemoryRefusesWhatItHasNot) {
  MemorySource source("abc", "x");
  std::string out(2, ' ');
  ASSERT_TRUE(source.read(1, out));
  EXPECT_EQ(out, "bc");
  EXPECT_FALSE(source.read(2, out));
  EXPECT_FALSE(source.read(-1, out));
  EXPECT_FALSE(source.read((int64_t{1} << 62), out));
  EXPECT_TRUE(source.read(3, {}));
}

TEST(ByteSource, PartialNamesTheFirstGap) {
  const std::string bytes = pattern(3000);
  const std::string_view view = bytes;
  PartialSource source("x", 10'000'000,
                       {{2000, view.substr(2000, 1000)}, {0, view.substr(0, 2000)}});
  std::string out(3000, ' ');
  ASSERT_TRUE(source.read(0, out));
  EXPECT_EQ(out, bytes);
  EXPECT_FALSE(source.missing());
  EXPECT_FALSE(source.read(2500, out));
  ASSERT_TRUE(source.missing());
  EXPECT_EQ(source.missing()->offset, 3000);
  EXPECT_EQ(source.missing()->bytes, 1 << 20);
  EXPECT_FALSE(source.read(9'999'999, out));
}

TEST(ByteSource, CacheFetchesFewGrowingBlocks) {
  const std::string bytes = pattern(9'000'000);
  CountingSource counted(bytes);
  BlockCache cache(counted);
  std::string out(1000, ' ');
  for (int64_t offset = 0; offset + 1000 <= int64_t(bytes.size()); offset += 997) {
    ASSERT_TRUE(cache.read(offset, out));
    ASSERT_EQ(out, bytes.substr(size_t(offset), 1000));
  }
  EXPECT_EQ(counted.reads, 2);
  EXPECT_EQ(counted.bytes, int64_t(bytes.size()));
  EXPECT_FALSE(cache.read(int64_t(bytes.size()), out));
}

TEST(ByteSource, CacheForgetsTheOldest) {
  const std::string bytes = pattern(100'000);
  CountingSource counted(bytes);
  BlockCache cache(counted, {.first_block = 1000, .largest_block = 1000, .memory_limit = 3000});
  std::string out(10, ' ');
  for (const int64_t offset : {0, 50'000, 90'000, 0, 20'000, 0, 50'000}) {
    ASSERT_TRUE(cache.read(offset, out));
    ASSERT_EQ(out, bytes.substr(size_t(offset), 10));
  }
  // 0, 50,000, 90,000 and 20,000 once each, 50,000 again after it was the oldest.
  EXPECT_EQ(counted.reads, 5);
}

TEST(Cursor, WalksThroughItsWindow) {
  const std::string bytes = pattern(1'000'000);
  MemorySource source(bytes, "x");
  Cursor cursor(source, int64_t(bytes.size()));
  std::string seen;
  while (cursor.remaining() > 0) {
    const int64_t n = std::min<int64_t>(cursor.remaining(), 40'000);
    ASSERT_TRUE(cursor.need(n));
    seen += cursor.window().substr(0, size_t(n));
    cursor.advance(n);
  }
  EXPECT_EQ(seen, bytes);
  EXPECT_FALSE(cursor.need(1));
}

TEST(Cursor, SkipsWithoutReading) {
  const std::string bytes = pattern(5'000'000);
  CountingSource source(bytes);
  Cursor cursor(source, int64_t(bytes.size()));
  cursor.skip(4'999'000);
  ASSERT_TRUE(cursor.need(10));
  EXPECT_EQ(cursor.window().substr(0, 10), bytes.substr(4'999'000, 10));
  EXPECT_EQ(source.bytes, 1000);
}

TEST(Sniff, ByContent) {
  const auto kind = [](std::string_view bytes) { return sniff(bytes, int64_t(bytes.size())); };
  EXPECT_EQ(kind("GGUF\3\0\0\0"), FileKind::gguf);
  EXPECT_EQ(kind(std::string_view("\x10\0\0\0\0\0\0\0{\"a\"", 12)), FileKind::safetensors);
  EXPECT_EQ(kind(" \n{\"model_type\""), FileKind::json);
  EXPECT_EQ(kind("version https://git-lfs.github.com/spec/v1\noid"), FileKind::lfs_pointer);
  EXPECT_EQ(kind("tjgg\3\0\0\0"), FileKind::old_ggml);
  EXPECT_EQ(kind("PK\x03\x04"), FileKind::zip);
  EXPECT_EQ(kind("\x80\x02}q"), FileKind::pickle);
  EXPECT_EQ(kind("<!DOCTYPE html>"), FileKind::html);
  EXPECT_EQ(kind(""), FileKind::empty);
  EXPECT_EQ(kind("hello"), FileKind::unknown);
}

}  // namespace
}  // namespace vramwise::formats
