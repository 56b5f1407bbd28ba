// What a server's log says, as values: made by LogReader, used by everything else here.
//
// src/verify reads startup logs and tracebacks (log_reader.h), finds out what was started
// (log_config.h), plans the same start and sets the two beside each other (reconcile.h), says why a
// start died (post_mortem.h) and keeps what was measured (calibrate.h). Called by api.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "engines/options.h"
#include "verify/pattern.h"
#include "verify/templates.h"

namespace vramwise::verify {

// One value that was printed, by field, device and rank. Printed several times: counted, with the
// first, the last, the smallest and the largest.
struct Reading {
  std::string field;   // as in the templates: "weights", "available", "kv_buffer"
  std::string device;  // buffer or device name where the line has one: "CUDA0"
  std::string rank;    // "TP0", "DP1 TP0", "pid 4711"; empty where nothing tells ranks apart
  std::string text;    // as printed (last)
  double first = 0, last = 0, smallest = 0, largest = 0;
  double rounding = 0;  // half a unit of the last digit
  double sum = 0;       // of values printed on lines of their own, for buffers in several parts
  Unit unit = Unit::none;
  bool number = false;
  int64_t count = 0;
  int64_t line = 0;  // of the last, 1-based
  std::string engine;
};

// Something that ended the start or a request.
struct Failure {
  std::string id;      // "out_of_memory", "cache_too_small", …
  std::string engine;  // whose words; empty: torch, CUDA
  std::string rank;
  Phase phase = Phase::start;  // in which it happened
  int64_t line = 0;
  std::string text;               // the line, cut
  std::vector<Reading> captures;  // its numbers
  double number(std::string_view field, double otherwise = 0) const;
  bool has(std::string_view field) const;
};

// What was started, as far as the log says it.
struct LogConfig {
  std::string engine, version, model, architecture, weights, gpu;
  std::string path;  // the model file, where it is one
  engines::Options options;
  std::vector<std::pair<std::string, std::string>> env;  // what a line shows of the environment
  bool whole_options = false;                            // the engine printed its own configuration
  bool wsl = false;                                      // under Windows' subsystem for Linux
};

// One of several servers that wrote into the same text.
struct LogServer {
  std::string name;  // before its lines, by a collector of logs
  std::string engine, model;
};

struct Log {
  LogConfig config;
  std::vector<Reading> readings;
  std::vector<Failure> failures;
  Phase phase = Phase::start;                 // the furthest that was reached
  bool serving = false;                       // it said that it is ready
  int64_t lines = 0, bytes = 0, matched = 0;  // of the whole text
  // Starts of a server in the text, of which this is the last that came up or died (or the only
  // one).
  int64_t starts = 1;
  // Servers of several models in the text, and the one that this is about; empty: there is one.
  std::vector<LogServer> servers;
  std::string server;
  bool truncated = false;  // more distinct readings than are kept

  // All ranks' readings of a field; with `device` only that one's.
  std::vector<const Reading*> all(std::string_view field, std::string_view device = {}) const;
  // The one in use where ranks differ: the smallest last value. nullptr: not printed.
  const Reading* one(std::string_view field) const;
  // The largest last value over the ranks: sizes of what every rank holds.
  const Reading* fullest(std::string_view field) const;
};

}  // namespace vramwise::verify
