// The catalogs as tools/embed_catalog.py lays them down: tables that need no work at start-up.
// Only catalog.cpp reads them.
#pragma once

#include <cstdint>
#include <string_view>

namespace vramwise::catalog::embedded {

// A piece of text: chunk number, offset and length in it (a chunk is shorter than 64 KiB).
struct Text {
  uint16_t chunk;
  uint16_t offset;
  uint16_t length;
};

// An entry: its id and its JSON (without id and aliases, coded as the tool's header says).
struct EntryRow {
  Text id;
  Text json;
};

// An id or alias, and which entry it names.
struct NameRow {
  Text name;
  uint16_t entry;
};

struct Table {
  const EntryRow* entries;  // sorted by id, ASCII case ignored
  uint32_t entry_count;
  const NameRow* names;     // sorted by name, ASCII case ignored
  uint32_t name_count;
};

extern const char* const kChunks[];
extern const Table kTables[];  // by Kind
extern const Text* const kStrings;
extern const uint32_t kStringCount;

inline std::string_view view(const Text& text) {
  return std::string_view(kChunks[text.chunk] + text.offset, text.length);
}

}  // namespace vramwise::catalog::embedded
