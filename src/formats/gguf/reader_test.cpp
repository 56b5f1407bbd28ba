#include "formats/gguf/reader.h"

#include <gtest/gtest.h>

#include "support/gguf_writer.h"

namespace vramwise::formats {
namespace {

using testing::GgufWriter;

Result<GgufFile> read(std::string_view bytes, std::string name = "x.gguf") {
  MemorySource source(bytes, std::move(name));
  return read_gguf(source);
}

Error error_of(const GgufWriter& file) {
  const auto result = read(file.whole());
  if (result) {
    ADD_FAILURE() << "was read";
    return {};
  }
  return result.error();
}

GgufWriter small(uint32_t version = 3, bool big_endian = false) {
  GgufWriter file(version, big_endian);
  file.text("general.architecture", "llama")
      .u32("llama.block_count", 2)
      .u8("a.u8", 7)
      .u16("a.u16", 300)
      .i32("a.i32", -5)
      .u64("a.u64", uint64_t{1} << 40)
      .f32("a.f32", 1.5F)
      .boolean("a.bool", true)
      .integers("a.list", {3, -1, 2})
      .booleans("a.flags", {true, false})
      .floats("a.floats", 3)
      .texts("a.texts", {"one", "", "three"})
      .tensor("token_embd.weight", {64, 10}, "F16")
      .tensor("blk.0.attn_q.weight", {64, 64}, "Q8_0")
      .tensor("blk.0.norm", {3}, "F32")
      .tensor("last", {32, 2, 3, 2}, "Q4_0");
  return file;
}

void expect_small(const GgufFile& file) {
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("llama.block_count"), 2);
  EXPECT_EQ(file.integer("a.u8"), 7);
  EXPECT_EQ(file.integer("a.u16"), 300);
  EXPECT_EQ(file.integer("a.i32"), -5);
  EXPECT_EQ(file.integer("a.u64"), int64_t{1} << 40);
  EXPECT_EQ(file.number("a.f32"), 1.5);
  EXPECT_EQ(file.boolean("a.bool"), true);
  EXPECT_EQ(file.array("a.list")->values, (std::vector<int64_t>{3, -1, 2}));
  EXPECT_EQ(file.array("a.flags")->values, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(file.count("a.floats"), 3);
  EXPECT_EQ(file.count("a.texts"), 3);
  EXPECT_EQ(file.find("absent"), nullptr);
  ASSERT_EQ(file.tensors.size(), 4U);
  EXPECT_EQ(file.tensors[1].name, "blk.0.attn_q.weight");
  EXPECT_EQ(file.tensors[1].type->name, "Q8_0");
  EXPECT_EQ(file.tensors[1].bytes, 64 * 2 * 34);
  EXPECT_EQ(file.tensors[2].bytes, 12);
  EXPECT_EQ(file.tensors[3].offset, 64 * 10 * 2 + 64 * 2 * 34 + 32);
  EXPECT_EQ(file.tensors[3].elements(), 32 * 2 * 3 * 2);
  EXPECT_TRUE(file.is_complete());
  EXPECT_TRUE(file.notes.warnings.empty());
}

TEST(Gguf, EveryVersionAndByteOrder) {
  for (const uint32_t version : {1U, 2U, 3U}) {
    for (const bool big_endian : {false, true}) {
      SCOPED_TRACE(version);
      const GgufWriter writer = small(version, big_endian);
      const auto file = read(writer.whole());
      ASSERT_TRUE(file) << file.error().message;
      EXPECT_EQ(file->version, version);
      EXPECT_EQ(file->big_endian, big_endian);
      EXPECT_EQ(file->expected_bytes, writer.file_bytes());
      expect_small(*file);
    }
  }
}

TEST(Gguf, EveryTypeHasItsBlock) {
  GgufWriter writer;
  for (const GgufType& type : gguf_types())
    writer.tensor(std::string(type.name), {512, 3}, type.name);
  const auto file = read(writer.whole());
  ASSERT_TRUE(file) << file.error().message;
  for (const GgufTensorEntry& tensor : file->tensors) {
    EXPECT_EQ(tensor.bytes, 512 / tensor.type->block_elements * tensor.type->block_bytes * 3);
  }
  EXPECT_EQ(file->expected_bytes, writer.file_bytes());
}

TEST(Gguf, TokenizerIsCountedNotKept) {
  const GgufWriter writer = testing::llama_70b_with_tokenizer();
  const std::string header = writer.header();
  EXPECT_GT(header.size(), 6'000'000U);
  PartialSource source("x.gguf", writer.file_bytes(), {{0, header}});
  const auto file = read_gguf(source);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->count("tokenizer.ggml.tokens"), 128256);
  EXPECT_EQ(file->count("tokenizer.ggml.merges"), 280147);
  EXPECT_TRUE(file->array("tokenizer.ggml.token_type")->values.empty());
  EXPECT_EQ(std::get<GgufText>(*file->find("tokenizer.chat_template")).bytes, 4500);
  EXPECT_EQ(file->text("tokenizer.chat_template").size(), 1024U);
  EXPECT_EQ(file->tensors.size(), 724U);
  EXPECT_EQ(file->expected_bytes, writer.file_bytes());
}

TEST(Gguf, AsksForWhatIsMissingInFewRounds) {
  const GgufWriter writer = testing::llama_70b_with_tokenizer();
  const std::string header = writer.header();
  std::vector<PartialSource::Part> parts;
  int rounds = 0;
  while (true) {
    PartialSource source("x.gguf", writer.file_bytes(), parts);
    if (read_gguf(source)) break;
    ASSERT_TRUE(source.missing());
    ASSERT_LT(++rounds, 5);
    const Range range = *source.missing();
    ASSERT_LE(range.offset + range.bytes, int64_t(header.size()) + (int64_t{32} << 20));
    parts.push_back(
        {range.offset, std::string_view(header).substr(size_t(range.offset), size_t(range.bytes))});
  }
  EXPECT_LE(rounds, 2);
}

// Each with the error it must give.
TEST(Gguf, BrokenFiles) {
  struct Case {
    const char* what;
    std::string bytes;
    ErrorCode code;
    const char* contains;
    const char* pointer;
  };
  const std::string good = small().whole();
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string copy = good;
    copy.replace(at, bytes.size(), bytes);
    return copy;
  };
  const std::string huge(8, '\x7f');
  const Case cases[] = {
      {"empty", "", ErrorCode::invalid_input, "too short", ""},
      {"magic", "GGML" + good.substr(4), ErrorCode::invalid_input, "not a GGUF file", ""},
      {"version", with(4, std::string("\x04\0\0\0", 4)), ErrorCode::unsupported, "version 4", ""},
      {"version 0", with(4, std::string(4, '\0')), ErrorCode::unsupported, "version 0", ""},
      {"tensors", with(8, huge), ErrorCode::too_large, "tensors", ""},
      {"keys", with(16, huge), ErrorCode::too_large, "keys", ""},
      {"keys beyond the file", with(16, std::string("\xff\xff\0\0\0\0\0\0", 8)),
       ErrorCode::invalid_input, "more than the file could hold", ""},
      {"key length", with(24, huge), ErrorCode::invalid_input, "a key of", "key 0"},
      {"cut in the header", good.substr(0, 300), ErrorCode::invalid_input, "ends inside", ""},
      {"value type", GgufWriter().raw("k", 13, "").whole(), ErrorCode::invalid_input,
       "value type 13", "k"},
      {"list of lists",
       GgufWriter().raw("k", 9, std::string("\x09\0\0\0\1\0\0\0\0\0\0\0", 12)).whole(),
       ErrorCode::invalid_input, "list of lists", "k"},
      {"list element type",
       GgufWriter().raw("k", 9, std::string("\x63\0\0\0\1\0\0\0\0\0\0\0", 12)).whole(),
       ErrorCode::invalid_input, "value type 99", "k"},
      {"list count", GgufWriter().raw("k", 9, std::string("\0\0\0\0", 4) + huge).whole(),
       ErrorCode::too_large, "elements", "k"},
      {"list beyond the file",
       GgufWriter().raw("k", 9, std::string("\0\0\0\0\xff\xff\0\0\0\0\0\0", 12)).whole(),
       ErrorCode::invalid_input, "ends inside", "k"},
      {"text beyond the file", GgufWriter().raw("k", 8, huge).whole(), ErrorCode::invalid_input,
       "ends inside", "k"},
      {"no key name", GgufWriter().u8("", 1).whole(), ErrorCode::invalid_input, "without a name",
       ""},
      {"key twice", GgufWriter().u8("k", 1).u8("j", 1).u8("k", 1).whole(), ErrorCode::invalid_input,
       "'k' is given twice", ""},
      {"tensor twice", GgufWriter().tensor("t", {32}, "F32").tensor("t", {32}, "F32").whole(),
       ErrorCode::invalid_input, "'t' is given twice", ""},
      {"tensor name", GgufWriter().tensor(std::string(64, 'n'), {32}, "F32").whole(),
       ErrorCode::invalid_input, "name of 64", "tensor 0"},
      {"rank", GgufWriter().raw_tensor("t", {1, 1, 1, 1, 1}, 0, 0).whole(),
       ErrorCode::invalid_input, "5 dimensions", "t"},
      {"negative extent", GgufWriter().raw_tensor("t", {uint64_t{1} << 63}, 0, 0).whole(),
       ErrorCode::invalid_input, "negative extent", "t"},
      {"overflow",
       GgufWriter().raw_tensor("t", {uint64_t{1} << 31, uint64_t{1} << 31, 4}, 0, 0).whole(),
       ErrorCode::too_large, "elements", "t"},
      {"too many bytes",
       GgufWriter().raw_tensor("t", {uint64_t{1} << 31, uint64_t{1} << 31}, 0, 0).whole(),
       ErrorCode::too_large, "beyond", "t"},
      {"far offset", GgufWriter().raw_tensor("t", {32}, 0, uint64_t{1} << 53).whole(),
       ErrorCode::too_large, "2^52", "t"},
      {"wide but empty", GgufWriter().raw_tensor("t", {0, uint64_t{1} << 60}, 0, 0).whole(),
       ErrorCode::too_large, "elements", "t"},
      {"unknown type", GgufWriter().raw_tensor("t", {32}, 43, 0).whole(), ErrorCode::unsupported,
       "type 43", "t"},
      {"removed type", GgufWriter().raw_tensor("t", {32}, 31, 0).whole(), ErrorCode::unsupported,
       "removed", "t"},
      {"row", GgufWriter().raw_tensor("t", {100}, 12, 0).whole(), ErrorCode::invalid_input,
       "multiple of 256", "t"},
      {"unaligned", GgufWriter().raw_tensor("t", {8}, 0, 4).whole(), ErrorCode::invalid_input,
       "multiple of the alignment", "t"},
      {"overlap", GgufWriter().raw_tensor("t", {64}, 0, 0).raw_tensor("u", {64}, 0, 64).whole(),
       ErrorCode::invalid_input, "overlap", "u"},
      {"alignment 0", GgufWriter().u32("general.alignment", 0).whole(), ErrorCode::invalid_input,
       "power of two", "general.alignment"},
      {"alignment 24", GgufWriter().u32("general.alignment", 24).whole(), ErrorCode::invalid_input,
       "power of two", "general.alignment"},
      {"alignment text", GgufWriter().text("general.alignment", "32").whole(),
       ErrorCode::invalid_input, "power of two", "general.alignment"},
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
    if (*c.pointer != '\0') {
      EXPECT_EQ(result.error().where.pointer, c.pointer);
    }
  }
}

// Every cut of a header is an error, never a crash or a success.
TEST(Gguf, CutAnywhere) {
  const std::string header = small().header();
  for (size_t n = 0; n + 32 < header.size(); ++n) {
    EXPECT_FALSE(read(std::string_view(header).substr(0, n))) << n;
  }
}

TEST(Gguf, IncompleteDownloadKeepsItsNumbers) {
  const std::string bytes = small().whole();
  const auto file = read(std::string_view(bytes).substr(0, bytes.size() - 1000));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->is_complete());
  EXPECT_EQ(file->expected_bytes, int64_t(bytes.size()));
  ASSERT_EQ(file->notes.warnings.size(), 1U);
  EXPECT_EQ(file->notes.warnings[0].id, "incomplete_file");
}

TEST(Gguf, GapsAreSaid) {
  GgufWriter writer;
  writer.raw_tensor("t", {8}, 0, 0).raw_tensor("u", {8}, 0, 64);
  const auto file = read(writer.header() + std::string(96, '\0'));
  ASSERT_TRUE(file);
  ASSERT_EQ(file->notes.warnings.size(), 1U);
  EXPECT_EQ(file->notes.warnings[0].id, "gguf_gaps");
}

TEST(Gguf, AlignmentAndEmptyTensors) {
  GgufWriter writer;
  writer.alignment(4096)
      .tensor("t", {8}, "F32")
      .tensor("none", {0, 7}, "F32")
      .tensor("u", {8}, "F32");
  const auto file = read(writer.whole());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->data_offset % 4096, 0);
  EXPECT_EQ(file->tensors[2].offset, 4096);
  EXPECT_EQ(file->tensors[1].bytes, 0);
  EXPECT_EQ(file->expected_bytes, writer.file_bytes());
}

TEST(Gguf, PartNames) {
  const auto name = parse_gguf_part_name("a/b/model-Q4-00002-of-00011.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "a/b/model-Q4");
  EXPECT_EQ(name->index, 2);
  EXPECT_EQ(name->count, 11);
  EXPECT_EQ(name->of(1), "a/b/model-Q4-00001-of-00011.gguf");
  for (const char* bad :
       {"model.gguf", "-00001-of-00002.gguf", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf",
        "m-0001-of-0002.gguf", "m-00001-of-0000x.gguf", "m-00001-of-00002.bin"}) {
    EXPECT_FALSE(parse_gguf_part_name(bad)) << bad;
  }
}

TEST(Gguf, PartsAreJoined) {
  const auto part = [](uint16_t number, uint16_t count, const char* tensor, int32_t total) {
    GgufWriter writer;
    writer.u16("split.no", number).u16("split.count", count).i32("split.tensors.count", total);
    if (tensor != nullptr) writer.tensor(tensor, {32}, "F32");
    auto file = read(writer.whole(), "part " + std::to_string(number));
    EXPECT_TRUE(file);
    return std::move(*file);
  };
  std::vector<GgufFile> parts = {part(0, 3, nullptr, 2), part(1, 3, "a", 2), part(2, 3, "b", 2)};
  const auto whole = join_gguf_parts(parts);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->tensors.size(), 2U);
  EXPECT_EQ(whole->tensors[1].part, 2);
  EXPECT_EQ(whole->expected_bytes,
            parts[0].expected_bytes + parts[1].expected_bytes + parts[2].expected_bytes);

  EXPECT_FALSE(join_gguf_parts({parts[0], parts[1]}));
  EXPECT_FALSE(join_gguf_parts({parts[0], parts[2], parts[1]}));
  EXPECT_FALSE(join_gguf_parts({parts[0], parts[1], part(2, 3, "a", 2)}));
  EXPECT_FALSE(join_gguf_parts({part(0, 3, nullptr, 5), parts[1], parts[2]}));
}

TEST(Gguf, ErrorsShowOnlyPrintableNames) {
  const Error error = error_of(GgufWriter().raw("k\x01\xff", 13, ""));
  EXPECT_EQ(error.where.pointer, "k??");
}

}  // namespace
}  // namespace vramwise::formats
