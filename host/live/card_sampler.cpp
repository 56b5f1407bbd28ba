#include "host/live/card_sampler.h"

#include "host/machine/card_reader.h"

namespace vramwise::host {

CardSampler::CardSampler(std::chrono::steady_clock::time_point start,
                         std::chrono::milliseconds interval)
    : start_(start), interval_(interval), thread_([this] { run(); }) {}

CardSampler::~CardSampler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void CardSampler::run() {
  CardReader reader;
  while (true) {
    std::vector<Finding> findings;
    CardSample sample;
    sample.cards = reader.read(findings);
    sample.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::unique_lock lock(mutex_);
    // A machine without a card has nothing to say, now or later.
    if (sample.cards.empty() && reader.source().empty()) return;
    samples_.push_back(std::move(sample));
    if (wake_.wait_for(lock, interval_, [this] { return stop_; })) return;
  }
}

std::vector<CardSample> CardSampler::take() {
  const std::lock_guard lock(mutex_);
  std::vector<CardSample> taken;
  taken.swap(samples_);
  return taken;
}

}  // namespace vramwise::host
