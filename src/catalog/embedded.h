// The catalogs as tools/embed_catalog.py lays them down: tables that need no work at start-up.
// Only catalog.cpp reads them. They are as small as they are because the page carries them too.
#pragma once

#include <cstdint>
#include <string_view>

namespace vramwise::catalog::embedded {

// Where a text starts: chunk number and offset in it (a chunk is shorter than 64 KiB).
struct Place {
  uint16_t chunk;
  uint16_t offset;
};

struct Text {
  uint16_t chunk;
  uint16_t offset;
  uint16_t length;
};

// Names (ids and aliases) are sorted, ASCII case ignored, and stored one behind the other in blocks
// of kBlock; only the start of a block is kept, the rest follows from the lengths.
inline constexpr uint32_t kBlock = 16;

struct Table {
  const Text* json;     // of each entry, sorted by id: without id and aliases, coded as the
                        // header of the tool says
  const uint16_t* ids;  // of each entry: which name is its id
  uint32_t entry_count;
  const Place* blocks;
  const uint8_t* lengths;   // of each name
  const uint16_t* entries;  // of each name: which entry it names
  uint32_t name_count;
};

extern const char* const kChunks[];
extern const Table kTables[];  // by Kind
extern const Text* const kStrings;
extern const uint32_t kStringCount;

inline std::string_view view(const Text& text) {
  return std::string_view(kChunks[text.chunk] + text.offset, text.length);
}

inline std::string_view name(const Table& table, uint32_t index) {
  const Place& block = table.blocks[index / kBlock];
  uint32_t offset = block.offset;
  for (uint32_t i = index - index % kBlock; i < index; ++i) offset += table.lengths[i];
  return std::string_view(kChunks[block.chunk] + offset, table.lengths[index]);
}

}  // namespace vramwise::catalog::embedded
