#include "formats/byte_source.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/sort.h"
#include "base/text.h"

namespace vramwise::formats {
namespace {

// Where a range that starts at `offset` ends, when it lies within `size` bytes.
bool within(int64_t offset, size_t bytes, int64_t size) {
  return offset >= 0 && offset <= size && int64_t(bytes) <= size - offset;
}

}  // namespace

Error beyond_end(const std::string& name, int64_t offset, int64_t bytes, int64_t size) {
  return Error(ErrorCode::invalid_input, name + " ends at byte " + format_grouped(size) + ", " +
                                             format_grouped(bytes) + " bytes from " +
                                             format_grouped(offset) + " on were expected")
      .at(Where{name, "", 0, 0, offset});
}

Result<void> MemorySource::read(int64_t offset, std::span<char> out) {
  if (!within(offset, out.size(), int64_t(bytes_.size()))) {
    return fail(beyond_end(name_, offset, int64_t(out.size()), int64_t(bytes_.size())));
  }
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

PartialSource::PartialSource(std::string name, int64_t size, std::vector<Part> parts)
    : name_(std::move(name)), size_(size), parts_(std::move(parts)) {
  std::erase_if(parts_, [&](const Part& part) {
    return part.bytes.empty() || !within(part.offset, part.bytes.size(), size_);
  });
  sort_stable(parts_, [](const Part& a, const Part& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes.size() > b.bytes.size();
  });
  for (const Part& part : parts_) present_ += int64_t(part.bytes.size());
}

std::string_view PartialSource::at_hand(int64_t offset) const {
  std::string_view longest;
  for (const Part& part : parts_) {
    if (part.offset > offset) break;
    if (offset - part.offset >= int64_t(part.bytes.size())) continue;
    const std::string_view bytes = part.bytes.substr(size_t(offset - part.offset));
    if (bytes.size() > longest.size()) longest = bytes;
  }
  return longest;
}

Result<int64_t> PartialSource::read_some(int64_t offset, int64_t at_least, std::span<char> out) {
  if (!within(offset, out.size(), size_)) {
    return fail(beyond_end(name_, offset, int64_t(out.size()), size_));
  }
  // One request grows with what is there: a header of 8 MiB takes two rounds.
  constexpr int64_t kFirst = int64_t{1} << 20;
  constexpr int64_t kLargest = int64_t{16} << 20;
  int64_t done = 0;
  while (done < int64_t(out.size())) {
    const std::string_view bytes = at_hand(offset + done);
    if (bytes.empty()) {
      if (done >= at_least) break;
      const int64_t wanted = std::max(
          at_least - done, std::clamp(saturating_multiply(present_, 15), kFirst, kLargest));
      if (!missing_) {
        missing_ = Range{offset + done, std::min(wanted, size_ - offset - done)};
      }
      return fail(Error(ErrorCode::invalid_input,
                        "bytes from " + format_grouped(offset + done) + " on are not at hand")
                      .at(Where{name_, "", 0, 0, offset + done}));
    }
    const size_t n = std::min(bytes.size(), out.size() - size_t(done));
    std::memcpy(out.data() + done, bytes.data(), n);
    done += int64_t(n);
  }
  return done;
}

Result<void> PartialSource::read(int64_t offset, std::span<char> out) {
  TRY(read_some(offset, int64_t(out.size()), out));
  return {};
}

Result<const BlockCache::Block*> BlockCache::block_at(int64_t offset, int64_t wanted) {
  for (Block& block : blocks_) {
    if (offset >= block.offset && offset < block.offset + int64_t(block.bytes.size())) {
      block.used = ++clock_;
      return &block;
    }
  }
  TRY_ASSIGN(const int64_t size, below_.size());
  const int64_t grown =
      std::clamp(saturating_multiply(fetched_, 15), limits_.first_block, limits_.largest_block);
  int64_t bytes = std::clamp(std::max(wanted, grown), int64_t{1}, limits_.memory_limit);
  bytes = std::min(bytes, size - offset);
  // A block that is there already is not fetched again.
  for (const Block& block : blocks_) {
    if (block.offset > offset) bytes = std::min(bytes, block.offset - offset);
  }
  int64_t held = 0;
  for (const Block& block : blocks_) held += int64_t(block.bytes.size());
  while (!blocks_.empty() && held + bytes > limits_.memory_limit) {
    const auto oldest =
        std::min_element(blocks_.begin(), blocks_.end(),
                         [](const Block& a, const Block& b) { return a.used < b.used; });
    held -= int64_t(oldest->bytes.size());
    blocks_.erase(oldest);
  }
  Block block;
  block.offset = offset;
  block.bytes.resize(size_t(bytes));
  TRY(below_.read(offset, block.bytes));
  block.used = ++clock_;
  fetched_ += bytes;
  blocks_.push_back(std::move(block));
  return &blocks_.back();
}

bool BlockCache::holds(Range range) const {
  int64_t at = range.offset;
  const int64_t end = range.offset + range.bytes;
  for (bool moved = true; at < end && moved;) {
    moved = false;
    for (const Block& block : blocks_) {
      const int64_t block_end = block.offset + int64_t(block.bytes.size());
      if (at < block.offset || at >= block_end) continue;
      at = block_end;
      moved = true;
    }
  }
  return at >= end;
}

Result<int64_t> BlockCache::read_some(int64_t offset, int64_t at_least, std::span<char> out) {
  TRY_ASSIGN(const int64_t size, below_.size());
  if (!within(offset, out.size(), size)) {
    return fail(beyond_end(name(), offset, int64_t(out.size()), size));
  }
  int64_t done = 0;
  // At least one block, and more only while something is lacking.
  while (done < int64_t(out.size()) && (done == 0 || done < at_least)) {
    TRY_ASSIGN(const Block* block, block_at(offset + done, at_least - done));
    const std::string_view bytes =
        std::string_view(block->bytes).substr(size_t(offset + done - block->offset));
    const size_t n = std::min(bytes.size(), out.size() - size_t(done));
    std::memcpy(out.data() + done, bytes.data(), n);
    done += int64_t(n);
  }
  return done;
}

Result<void> BlockCache::read(int64_t offset, std::span<char> out) {
  TRY(read_some(offset, int64_t(out.size()), out));
  return {};
}

}  // namespace vramwise::formats
