// Many HTTP exchanges at once on one thread, each with bounds on time and size, on top of libcurl's
// multi interface. For servers that the person names: loopback or remote, http or https; redirects
// are not followed.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vramwise::host {

struct ExchangeRequest {
  std::string url;
  std::string body;    // not empty: POST with JSON
  std::string token;   // sent as Bearer; never shown
  std::string accept;  // header of that name; may be empty
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds stall{30'000};   // without a byte, once the body has begun
  std::chrono::milliseconds total{300'000};  // from start to end
  int64_t most_bytes = int64_t{64} << 20;    // of the answer
};

enum class ExchangeFault {
  none,
  refused,    // nobody listens, or the name is unknown
  reset,      // broken off in the middle
  stalled,    // no byte for too long
  timed_out,  // longer than allowed in all
  too_large,
  stopped,  // by us: the handler said so, or cancel()
  other,
};
std::string_view to_string(ExchangeFault fault);

struct ExchangeEnd {
  ExchangeFault fault = ExchangeFault::none;
  std::string text;  // of the fault, for people
  int status = 0;    // of HTTP; 0 without an answer
};

class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  // Bytes of the answer's body as they come; `status` is known by then. False: stop.
  virtual bool on_data(int status, std::string_view bytes) = 0;
  // Once, at the end. May start another exchange with this handler.
  virtual void on_end(const ExchangeEnd& end) = 0;
};

class Exchanges {
 public:
  ~Exchanges();
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  // Errors: unsupported without libcurl.
  static Result<std::unique_ptr<Exchanges>> open();

  // `handler` outlives the exchange. A request that cannot even be made ends at the next turn.
  void start(const ExchangeRequest& request, ExchangeHandler& handler);
  // Ends every exchange with fault `stopped`.
  void cancel_all();
  int running() const;
  // Moves bytes and calls handlers until something happened, at most for `wait`. Returns at once
  // when the process is interrupted.
  void turn(std::chrono::milliseconds wait);

 private:
  struct State;
  Exchanges();
  std::unique_ptr<State> state_;
};

// One exchange by itself; whole body. Errors: invalid_input with the fault's text.
struct SimpleReply {
  int status = 0;
  std::string body;
};
Result<SimpleReply> exchange_once(Exchanges& exchanges, const ExchangeRequest& request);

// Checks what a person typed as a server: http:// or https://, a host, perhaps a path; "/v1" and
// slashes at the end are taken off. "localhost:8000" gets its http://. Errors: invalid_input.
Result<std::string> server_address(std::string_view text);

}  // namespace vramwise::host
