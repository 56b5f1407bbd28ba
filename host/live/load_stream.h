// One streamed answer, read as it comes: times of its tokens, and what was wrong with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/stream/event_stream.h"
#include "host/live/exchanges.h"

namespace vramwise::host {

// What became of a request.
struct LoadRecord {
  double start = 0;  // seconds since the start of the test
  double end = 0;
  double first_token = 0;    // seconds from the request; 0: none came
  int64_t asked_prompt = 0;  // tokens
  int64_t asked_output = 0;
  int64_t prompt_tokens = 0;  // as the server counted; 0: it does not say
  int64_t output_tokens = 0;  // counted by it, else pieces of text
  bool counted = false;       // the server counted
  int64_t pieces = 0;         // of text that came
  std::string error;          // kind: "status 500", "stalled", "bad_stream"; empty: good
  std::string detail;         // in the server's words, cut
};

// Takes the bytes of one answer.
class LoadStream {
 public:
  using Clock = std::chrono::steady_clock;

  // False: the answer is no stream of tokens; stop reading.
  bool take(int status, std::string_view bytes, Clock::time_point now);
  // The end; fills `record` but its times.
  void finish(const ExchangeEnd& end, LoadRecord& record);

  bool has_token() const { return pieces_ > 0; }
  Clock::time_point first_token() const { return first_; }
  Clock::time_point last_token() const { return last_; }
  int64_t pieces() const { return pieces_; }
  // Seconds between the last two tokens when the last bytes had one; 0 otherwise.
  double gap() const { return gap_; }
  // Tokens in the last bytes.
  int fresh() const { return fresh_; }

 private:
  void event(std::string_view data, Clock::time_point now);

  formats::EventStream events_;
  std::string other_;  // the body of an answer that is no stream
  bool done_ = false;  // "[DONE]"
  bool faulty_ = false;
  std::string error_;      // an error object inside of the stream
  bool finished_ = false;  // a finish_reason came
  int64_t pieces_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t output_tokens_ = 0;
  int fresh_ = 0;
  double gap_ = 0;
  Clock::time_point first_{};
  Clock::time_point last_{};
};

}  // namespace vramwise::host
