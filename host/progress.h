// One line on standard error about work that takes longer than half a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace vramwise::host {

class Progress {
 public:
  // `quiet`: say nothing at all.
  explicit Progress(bool quiet = false);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // What is going on from now on: "reading the header of model.gguf".
  void begin(std::string what);
  // May be called often; draws rarely.
  void update(int64_t bytes);
  // Removes the line from a terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::string what_;
  int64_t bytes_ = 0;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace vramwise::host
