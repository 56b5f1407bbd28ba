// From lines that were recognised to what a log says: values by field, device and rank, failures,
// the configuration, and which of several starts counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/log.h"
#include "verify/log_config.h"
#include "verify/pattern.h"
#include "verify/prefix.h"
#include "verify/template_index.h"

namespace vramwise::verify {

class LogBuilder {
 public:
  Log log;

  // What `row` says at `at` of the line `clean`, of which it is number `number` (from 1);
  // `captures` are the values that it matched.
  void take(const KnownLine& row, const std::vector<Capture>& captures, std::string_view clean,
            size_t at, int64_t number, RankTags& tags);
  // The end of the text: the start that counts is chosen.
  void close();

 private:
  bool has_ended() const { return log.serving || !log.failures.empty(); }
  void next_start();
  void trace(const Template& frame, std::string_view clean, size_t at);
  void fail(const KnownLine& row, const std::vector<Capture>& captures, std::string_view text,
            std::string rank, int64_t number);
  // Whether a values line is printed for a drafter: its target has had the like before it.
  bool is_of_drafter(const KnownLine& row, const std::string& rank) const;
  // Whether a pool line is that of the sliding-window layers.
  bool is_of_windows(const std::vector<Capture>& captures, const std::string& rank) const;
  bool has_reading(std::string_view field, const std::string& rank) const;
  void keep(std::string field, const Capture& c, const std::string& device, const std::string& rank,
            const KnownLine& row, int64_t number);

  std::optional<Log> ended_;  // the start before it, which came up or died
  ConfigReader config_reader_;
  int64_t began_ = 0;    // the line of the last configuration
  size_t expected_ = 0;  // where in log.readings the next value is looked for first

  // Where the last traceback was: its outermost telling frame, and one that holds others.
  Phase traced_ = Phase::start, traced_around_ = Phase::start;
};

}  // namespace vramwise::verify
