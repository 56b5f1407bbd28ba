#include "host/head_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "host/environment.h"
#include "host/files.h"

namespace vramwise::host {
namespace {

constexpr std::string_view kMagic = "vramwise-head 1 ";
constexpr int64_t kLargestEntry = int64_t{40} << 20;
constexpr int64_t kLargestFolder = int64_t{1} << 30;

// FNV-1a: entries are told apart and damage is noticed; nobody is kept out by it.
uint64_t fnv(std::string_view bytes) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::string hex(uint64_t n) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; n >>= 4U) text[i] = "0123456789abcdef"[n & 0xFU];
  return text;
}

bool make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

}  // namespace

HeadCache HeadCache::of_user() {
  const std::string cache = cache_home();
  return HeadCache(cache.empty() ? "" : cache + "/vramwise");
}

std::string HeadCache::path(std::string_view kind, std::string_view key) const {
  // A content hash is a name; anything else becomes one.
  const bool plain =
      key.size() >= 32 && key.size() <= 128 && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  const std::string name =
      plain ? std::string(key) : hex(fnv(key)) + "-" + hex(fnv(std::string(key) + "#"));
  return folder_ + "/" + std::string(kind) + "/" + name;
}

std::optional<HeadCache::Entry> HeadCache::find(std::string_view kind, std::string_view key) const {
  if (folder_.empty() || key.empty()) return std::nullopt;
  const std::string file = path(kind, key);
  if (!exists(file)) return std::nullopt;
  auto text = read_file(file, kLargestEntry + 256);
  if (!text) return std::nullopt;
  // "vramwise-head 1 <total> <length> <checksum>\n" and the bytes.
  const size_t line = text->find('\n');
  if (!starts_with(*text, kMagic) || line == std::string::npos || line > 128) return std::nullopt;
  const auto parts =
      split(std::string_view(*text).substr(kMagic.size(), line - kMagic.size()), ' ');
  Entry entry;
  entry.bytes = text->substr(line + 1);
  if (parts.size() != 3) return std::nullopt;
  const auto total = parse_integer(parts[0]);
  const auto length = parse_integer(parts[1]);
  if (!total || !length || *length != int64_t(entry.bytes.size()) || *total < *length ||
      parts[2] != hex(fnv(entry.bytes))) {
    return std::nullopt;
  }
  entry.total_bytes = *total;
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // used just now
  return entry;
}

void HeadCache::store(std::string_view kind, std::string_view key, const Entry& entry) const {
  if (folder_.empty() || key.empty() || int64_t(entry.bytes.size()) > kLargestEntry) return;
  const std::string file = path(kind, key);
  if (!make_folders(file.substr(0, file.rfind('/')))) return;
  static std::atomic<int> counter{0};
  const std::string temporary =
      file + "." + format_integer(::getpid()) + "-" + format_integer(counter++) + ".tmp";
  const int fd = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string head = std::string(kMagic) + format_integer(entry.total_bytes) + " " +
                           format_integer(int64_t(entry.bytes.size())) + " " +
                           hex(fnv(entry.bytes)) + "\n";
  const bool written = write_all(fd, head) && write_all(fd, entry.bytes);
  const bool closed = ::close(fd) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), file.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  forget_oldest();
}

// Keeps the folder below its limit; also removes what interrupted processes left behind.
void HeadCache::forget_oldest() const {
  struct Item {
    int64_t time;
    int64_t bytes;
    std::string path;
  };
  std::vector<Item> items;
  int64_t total = 0;
  const std::string folder = folder_ + "/heads";
  DIR* handle = ::opendir(folder.c_str());
  if (handle == nullptr) return;
  const int64_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(handle)) {
    const std::string path = folder + "/" + entry->d_name;
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (ends_with(path, ".tmp") && now - status.st_mtime > 3600) {
      ::unlink(path.c_str());
      continue;
    }
    items.push_back({int64_t(status.st_mtime), int64_t(status.st_size), path});
    total += status.st_size;
  }
  ::closedir(handle);
  if (total <= kLargestFolder) return;
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.time != b.time ? a.time < b.time : a.path < b.path;
  });
  for (const Item& item : items) {
    if (total <= kLargestFolder / 2) break;
    if (::unlink(item.path.c_str()) == 0) total -= item.bytes;
  }
}

HeadSource::HeadSource(std::unique_ptr<formats::ByteSource> below, const HeadCache& cache,
                       std::string key)
    : below_(std::move(below)), blocks_(*below_), cache_(cache), key_(std::move(key)) {}

HeadSource::~HeadSource() {
  const int64_t had = known_ ? int64_t(known_->bytes.size()) : 0;
  if (key_.empty() || failed_ || touched_ <= had || touched_ > kLargestEntry) return;
  if (!blocks_.holds({had, touched_ - had})) return;
  const auto total = blocks_.size();
  if (!total) return;
  HeadCache::Entry entry;
  entry.total_bytes = *total;
  entry.bytes.resize(size_t(touched_));
  // Served from the blocks: reading began at the start and went forward. The part that came from
  // the cache is put in front.
  std::span<char> rest(entry.bytes);
  if (known_) {
    std::copy(known_->bytes.begin(), known_->bytes.end(), entry.bytes.begin());
    rest = rest.subspan(size_t(had));
  }
  if (!blocks_.read(had, rest)) return;
  cache_.store("heads", key_, entry);
}

void HeadSource::look() {
  if (looked_) return;
  looked_ = true;
  known_ = cache_.find("heads", key_);
}

Result<int64_t> HeadSource::size() {
  look();
  if (known_) return known_->total_bytes;
  return blocks_.size();
}

Result<int64_t> HeadSource::read_some(int64_t offset, int64_t at_least, std::span<char> out) {
  look();
  if (known_ && offset >= 0 && at_least <= int64_t(known_->bytes.size()) - offset) {
    const std::string_view bytes = std::string_view(known_->bytes).substr(size_t(offset));
    const size_t n = std::min(bytes.size(), out.size());
    std::copy_n(bytes.data(), n, out.data());
    return int64_t(n);
  }
  auto read = blocks_.read_some(offset, at_least, out);
  if (read) {
    touched_ = std::max(touched_, offset + *read);
  } else {
    failed_ = true;
  }
  return read;
}

Result<void> HeadSource::read(int64_t offset, std::span<char> out) {
  TRY(read_some(offset, int64_t(out.size()), out));
  return {};
}

}  // namespace vramwise::host
