// Samples of the cards from a thread of its own: nvidia-smi may take a second, and the streams of a
// load test must not wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "host/machine/machine.h"

namespace vramwise::host {

struct CardSample {
  double seconds = 0;  // since `start`
  std::vector<Card> cards;
};

class CardSampler {
 public:
  CardSampler(std::chrono::steady_clock::time_point start, std::chrono::milliseconds interval);
  ~CardSampler();
  CardSampler(const CardSampler&) = delete;
  CardSampler& operator=(const CardSampler&) = delete;

  // What came since the last call.
  std::vector<CardSample> take();

 private:
  void run();

  std::chrono::steady_clock::time_point start_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<CardSample> samples_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace vramwise::host
