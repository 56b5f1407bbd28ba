// Reads a log in pieces of any size, in constant memory and at the speed of the disk: only lines
// that hold one of the templates' fixed words are looked at.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "verify/log.h"

namespace vramwise::verify {

class LogReader {
 public:
  LogReader();
  ~LogReader();
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;

  void feed(std::string_view bytes);
  // The end of the log: a last line without a line break counts. More may be fed afterwards.
  void finish();
  const Log& log() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The whole text at once.
Log read_log(std::string_view text);

}  // namespace vramwise::verify
