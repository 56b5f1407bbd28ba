#include "formats/byte_source.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
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
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes.size() > b.bytes.size();
  });
  for (const Part& part : parts_) present_ += int64_t(part.bytes.size());
}

Result<void> PartialSource::read(int64_t offset, std::span<char> out) {
  if (!within(offset, out.size(), size_)) {
    return fail(beyond_end(name_, offset, int64_t(out.size()), size_));
  }
  // One request grows eightfold over what is there: a header of 8 MiB takes three rounds.
  constexpr int64_t kFirst = int64_t{1} << 20;
  constexpr int64_t kLargest = int64_t{16} << 20;
  while (!out.empty()) {
    const Part* found = nullptr;
    for (const Part& part : parts_) {
      if (part.offset > offset) break;
      if (offset < part.offset + int64_t(part.bytes.size())) found = &part;
    }
    if (found == nullptr) {
      const int64_t wanted = std::max(
          int64_t(out.size()), std::clamp(saturating_multiply(present_, 7), kFirst, kLargest));
      if (!missing_) missing_ = Range{offset, std::min(wanted, size_ - offset)};
      return fail(Error(ErrorCode::invalid_input,
                        "bytes from " + format_grouped(offset) + " on are not at hand")
                      .at(Where{name_, "", 0, 0, offset}));
    }
    const std::string_view bytes = found->bytes.substr(size_t(offset - found->offset));
    const size_t n = std::min(bytes.size(), out.size());
    std::memcpy(out.data(), bytes.data(), n);
    out = out.subspan(n);
    offset += int64_t(n);
  }
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

Result<void> BlockCache::read(int64_t offset, std::span<char> out) {
  TRY_ASSIGN(const int64_t size, below_.size());
  if (!within(offset, out.size(), size)) {
    return fail(beyond_end(name(), offset, int64_t(out.size()), size));
  }
  while (!out.empty()) {
    TRY_ASSIGN(const Block* block, block_at(offset, int64_t(out.size())));
    const std::string_view bytes =
        std::string_view(block->bytes).substr(size_t(offset - block->offset));
    const size_t n = std::min(bytes.size(), out.size());
    std::memcpy(out.data(), bytes.data(), n);
    out = out.subspan(n);
    offset += int64_t(n);
  }
  return {};
}

}  // namespace vramwise::formats
