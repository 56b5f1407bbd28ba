// Where the bytes of a model file come from: a file on disk, a range of a remote one, what a page
// has handed over so far. Readers ask for ranges and never for the whole: a 400 GB model is
// understood from its first megabytes.
//
// Implementations here work on memory; files and networks are in host/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vramwise::formats {

// Destructors are defined in the classes: the core has no run-time type information, and a class
// with an out-of-line virtual function would ask users outside of it for some.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // What errors call it: a path, a URL without its query, a file's name.
  virtual const std::string& name() const = 0;
  // Bytes in all. A remote source may have to ask for it, hence the Result.
  virtual Result<int64_t> size() = 0;
  // Fills all of `out` from `offset`. A range beyond the end is an error, never a short read.
  virtual Result<void> read(int64_t offset, std::span<char> out) = 0;
  // Fills at least `at_least` bytes of `out` and tells how many: as many as cost nothing more.
  virtual Result<int64_t> read_some(int64_t offset, int64_t at_least, std::span<char> out) {
    (void)at_least;
    TRY(read(offset, out));
    return int64_t(out.size());
  }
  // Bytes that a sequential reader should ask for at a time.
  virtual int64_t window_bytes() const { return int64_t{128} << 10; }
};

// The error of a range that the source does not have.
Error beyond_end(const std::string& name, int64_t offset, int64_t bytes, int64_t size);

// Bytes in memory, not owned.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  Result<int64_t> size() override { return int64_t(bytes_.size()); }
  Result<void> read(int64_t offset, std::span<char> out) override;

 private:
  std::string_view bytes_;
  std::string name_;
};

struct Range {
  int64_t offset = 0;
  int64_t bytes = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// A file of which only some ranges are at hand. A read that touches another one fails, and
// missing() then says what to fetch: the caller gets that, adds it and reads again from the start.
// What is asked for grows with what is there, so that a header of any size takes few rounds.
class PartialSource final : public ByteSource {
 public:
  struct Part {
    int64_t offset = 0;
    std::string_view bytes;  // not owned
  };

  PartialSource(std::string name, int64_t size, std::vector<Part> parts);

  const std::string& name() const override { return name_; }
  Result<int64_t> size() override { return size_; }
  Result<void> read(int64_t offset, std::span<char> out) override;
  Result<int64_t> read_some(int64_t offset, int64_t at_least, std::span<char> out) override;

  // Set by the first read that lacked bytes.
  const std::optional<Range>& missing() const { return missing_; }

 private:
  // The bytes at hand from `offset` on, as far as one part reaches; empty when there are none.
  std::string_view at_hand(int64_t offset) const;

  std::string name_;
  int64_t size_;
  std::vector<Part> parts_;  // by offset
  int64_t present_ = 0;
  std::optional<Range> missing_;
};

// Keeps what was read from a slow source, in blocks that grow with the distance from the start:
// the first read fetches `first_block` bytes, a read past it eight times as much, and so on up to
// `largest_block`. The oldest block goes when `memory_limit` is reached.
class BlockCache final : public ByteSource {
 public:
  struct Limits {
    int64_t first_block = int64_t{1} << 20;
    int64_t largest_block = int64_t{16} << 20;
    int64_t memory_limit = int64_t{40} << 20;
  };

  explicit BlockCache(ByteSource& below) : BlockCache(below, Limits()) {}
  BlockCache(ByteSource& below, Limits limits) : below_(below), limits_(limits) {}

  const std::string& name() const override { return below_.name(); }
  Result<int64_t> size() override { return below_.size(); }
  Result<void> read(int64_t offset, std::span<char> out) override;
  Result<int64_t> read_some(int64_t offset, int64_t at_least, std::span<char> out) override;

  // Whether a read would ask the source below for nothing.
  bool holds(Range range) const;

 private:
  struct Block {
    int64_t offset = 0;
    std::string bytes;
    int64_t used = 0;  // when last
  };
  Result<const Block*> block_at(int64_t offset, int64_t wanted);

  ByteSource& below_;
  Limits limits_;
  std::vector<Block> blocks_;
  int64_t clock_ = 0;
  int64_t fetched_ = 0;
};

}  // namespace vramwise::formats
