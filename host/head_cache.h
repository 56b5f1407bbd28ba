// Beginnings of remote files, and lists of repositories, remembered on disk below
// $XDG_CACHE_HOME/vramwise. Entries are found by what the hub calls the content (a hash), so they
// are never out of date. Safe under several processes: an entry appears by a rename or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/byte_source.h"

namespace vramwise::host {

class HeadCache {
 public:
  // `folder` "" keeps nothing.
  explicit HeadCache(std::string folder) : folder_(std::move(folder)) {}
  // In the user's cache folder.
  static HeadCache of_user();

  struct Entry {
    int64_t total_bytes = 0;  // of the whole file
    std::string bytes;        // its beginning
  };
  // Damaged entries count as absent.
  std::optional<Entry> find(std::string_view kind, std::string_view key) const;
  // Failing to write is no failure of the question.
  void store(std::string_view kind, std::string_view key, const Entry& entry) const;

 private:
  std::string path(std::string_view kind, std::string_view key) const;
  void forget_oldest() const;

  std::string folder_;
};

// A remote file whose beginning is remembered. `key` "" remembers nothing.
class HeadSource final : public formats::ByteSource {
 public:
  HeadSource(std::unique_ptr<formats::ByteSource> below, const HeadCache& cache, std::string key);
  HeadSource(const HeadSource&) = delete;
  HeadSource& operator=(const HeadSource&) = delete;
  // Writes down what was read.
  ~HeadSource() override;

  const std::string& name() const override { return below_->name(); }
  Result<int64_t> size() override;
  Result<void> read(int64_t offset, std::span<char> out) override;
  Result<int64_t> read_some(int64_t offset, int64_t at_least, std::span<char> out) override;

 private:
  std::unique_ptr<formats::ByteSource> below_;
  formats::BlockCache blocks_;
  const HeadCache& cache_;
  std::string key_;
  bool looked_ = false;
  std::optional<HeadCache::Entry> known_;
  int64_t touched_ = 0;  // end of the furthest read
  bool failed_ = false;

  void look();
};

}  // namespace vramwise::host
