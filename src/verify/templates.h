// What servers print, as tables: one a file an engine. A row is a pattern (pattern.h), what it
// tells and the versions that print it; nothing else knows the wording of a log.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vramwise::verify {

// Where a start stands. A line moves it on to what begins behind it.
enum class Phase : uint8_t { start, load, profile, sizing, capture, warmup, serve };
std::string_view to_string(Phase phase);

// What to do with a line that was found.
enum class Tells : uint8_t {
  values,   // its captures are readings
  config,   // a configuration to be read by its own rules (log_config.h)
  failure,  // the start, or the server, died of this
  frame,    // of a traceback: where it was when it died; `id` "around" for one that holds others
  decoy,    // looks like another line and says nothing
};

struct Template {
  std::string_view pattern;
  Tells tells = Tells::values;
  // values: the phase that begins behind the line (start: none). failure: the phase it happens in
  // whatever was printed before (start: the one the log stands in).
  Phase phase = Phase::start;
  // failure: what it is; config: which reader; values: "before_loading", "loaded" and "pool" where
  // a drafter prints the line as its target does before it
  std::string_view id;
  std::string_view since;  // first and last version that print it; empty: open
  std::string_view until;
  bool wraps = false;  // long: may go on over the next lines
};

struct Table {
  std::string_view engine;  // as the contract names it; empty: lines of any program (torch, CUDA)
  std::span<const Template> rows;
};

std::span<const Template> vllm_templates();
std::span<const Template> sglang_templates();
std::span<const Template> trtllm_templates();
std::span<const Template> llamacpp_templates();
std::span<const Template> ollama_templates();
std::span<const Template> common_templates();

// All of them. Where two engines print the same words the first table that matches has the line.
std::span<const Table> tables();

}  // namespace vramwise::verify
