#include "host/live/exchanges.h"

#include <sys/resource.h>

#include <algorithm>
#include <list>
#include <vector>

#include "base/text.h"
#include "formats/http/head.h"
#include "host/curl_library.h"
#include "host/interrupt.h"

#ifndef VRAMWISE_VERSION
#define VRAMWISE_VERSION "0.0.0"
#endif

namespace vramwise::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kErrorBody = size_t{64} << 10;

struct Exchange {
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
  ExchangeHandler* handler = nullptr;
  std::string body;
  std::string url;
  std::chrono::milliseconds stall{};  // between bytes of the body
  std::chrono::milliseconds total{};
  int64_t most_bytes = 0;
  int64_t bytes = 0;
  Clock::time_point last;  // byte, either way
  ExchangeFault fault = ExchangeFault::none;
  const CurlLibrary* curl = nullptr;

  int status() const {
    long code = 0;
    curl->easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    return int(code);
  }
};

size_t on_body(char* data, size_t size, size_t count, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  const std::string_view bytes(data, size * count);
  exchange->last = Clock::now();
  exchange->bytes += int64_t(bytes.size());
  if (exchange->bytes > exchange->most_bytes) {
    exchange->fault = ExchangeFault::too_large;
    return 0;
  }
  if (exchange->handler->on_data(exchange->status(), bytes)) return bytes.size();
  exchange->fault = ExchangeFault::stopped;
  return 0;
}

size_t on_header(char*, size_t size, size_t count, void* user) {
  static_cast<Exchange*>(user)->last = Clock::now();
  return size * count;
}

ExchangeFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK: return ExchangeFault::none;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return ExchangeFault::refused;
    case CURLE_OPERATION_TIMEDOUT: return ExchangeFault::timed_out;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return ExchangeFault::reset;
    default: return ExchangeFault::other;
  }
}

bool is_loopback(const std::string& url) {
  const auto parsed = formats::parse_url(url);
  return parsed && (parsed->host == "localhost" || parsed->host == "[::1]" ||
                    starts_with(parsed->host, "127."));
}

// A descriptor a stream, and a few for everything else.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 8192) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > 8192 ? 8192 : limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::string_view to_string(ExchangeFault fault) {
  switch (fault) {
    case ExchangeFault::none: return "none";
    case ExchangeFault::refused: return "refused";
    case ExchangeFault::reset: return "reset";
    case ExchangeFault::stalled: return "stalled";
    case ExchangeFault::timed_out: return "timed_out";
    case ExchangeFault::too_large: return "too_large";
    case ExchangeFault::stopped: return "stopped";
    case ExchangeFault::other: return "other";
  }
  return "";
}

struct Exchanges::State {
  const CurlLibrary* curl = nullptr;
  CURLM* multi = nullptr;
  std::list<Exchange> running;  // their addresses are given to libcurl
  std::vector<CURL*> idle;      // handles to use again

  void finish(std::list<Exchange>::iterator it, ExchangeFault fault, std::string text);
  void end_stalled();
};

Exchanges::Exchanges() : state_(std::make_unique<State>()) {}

Exchanges::~Exchanges() {
  if (state_->multi == nullptr) return;
  for (Exchange& exchange : state_->running) {
    state_->curl->multi_remove_handle(state_->multi, exchange.handle);
    state_->curl->easy_cleanup(exchange.handle);
    state_->curl->slist_free_all(exchange.headers);
  }
  for (CURL* handle : state_->idle) state_->curl->easy_cleanup(handle);
  state_->curl->multi_cleanup(state_->multi);
}

Result<std::unique_ptr<Exchanges>> Exchanges::open() {
  TRY_ASSIGN(const CurlLibrary* curl, curl_library());
  raise_descriptor_limit();
  std::unique_ptr<Exchanges> exchanges(new Exchanges());
  exchanges->state_->curl = curl;
  exchanges->state_->multi = curl->multi_init();
  if (exchanges->state_->multi == nullptr) {
    return fail(ErrorCode::internal, "libcurl cannot be started");
  }
  return exchanges;
}

void Exchanges::start(const ExchangeRequest& request, ExchangeHandler& handler) {
  State& state = *state_;
  const CurlLibrary& curl = *state.curl;
  Exchange& exchange = state.running.emplace_back();
  exchange.curl = &curl;
  exchange.handler = &handler;
  exchange.url = request.url;
  exchange.body = request.body;
  exchange.stall = request.stall;
  exchange.total = request.total;
  exchange.most_bytes = request.most_bytes;
  exchange.last = Clock::now();
  if (state.idle.empty()) {
    exchange.handle = curl.easy_init();
  } else {
    exchange.handle = state.idle.back();
    state.idle.pop_back();
    curl.easy_reset(exchange.handle);
  }
  const auto header = [&](const std::string& line) {
    exchange.headers = curl.slist_append(exchange.headers, line.c_str());
  };
  const auto set = [&](CURLoption option, auto value) {
    return curl.easy_setopt(exchange.handle, option, value) == CURLE_OK;
  };
  if (!request.accept.empty()) header("Accept: " + request.accept);
  if (!request.token.empty()) header("Authorization: Bearer " + request.token);
  bool ready = exchange.handle != nullptr && set(CURLOPT_URL, exchange.url.c_str()) &&
               set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_FOLLOWLOCATION, 0L) &&
               set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1)) &&
               set(CURLOPT_USERAGENT, "vramwise/" VRAMWISE_VERSION) &&
               set(CURLOPT_CONNECTTIMEOUT_MS, long(request.connect.count())) &&
               set(CURLOPT_TIMEOUT_MS, long(request.total.count())) &&
               set(CURLOPT_TCP_NODELAY, 1L) && set(CURLOPT_WRITEFUNCTION, on_body) &&
               set(CURLOPT_WRITEDATA, static_cast<void*>(&exchange)) &&
               set(CURLOPT_HEADERFUNCTION, on_header) &&
               set(CURLOPT_HEADERDATA, static_cast<void*>(&exchange)) &&
               set(CURLOPT_PRIVATE, static_cast<void*>(&exchange));
  if (ready && !exchange.body.empty()) {
    header("Content-Type: application/json");
    header("Expect:");  // no waiting for a "100 Continue"
    ready = set(CURLOPT_POST, 1L) && set(CURLOPT_POSTFIELDS, exchange.body.c_str()) &&
            set(CURLOPT_POSTFIELDSIZE, long(exchange.body.size()));
  }
  // A proxy of the environment does not reach this machine's own servers.
  if (ready && is_loopback(request.url)) ready = set(CURLOPT_NOPROXY, "*");
  if (ready) ready = set(CURLOPT_HTTPHEADER, exchange.headers);
  if (ready) ready = curl.multi_add_handle(state.multi, exchange.handle) == CURLM_OK;
  if (!ready) exchange.fault = ExchangeFault::other;
}

// Takes the exchange out before its handler hears of the end: that one may start the next.
void Exchanges::State::finish(std::list<Exchange>::iterator it, ExchangeFault fault,
                              std::string text) {
  ExchangeEnd end;
  end.status = it->handle != nullptr ? it->status() : 0;
  end.fault = fault;
  end.text = std::move(text);
  ExchangeHandler* handler = it->handler;
  if (it->handle != nullptr) {
    curl->multi_remove_handle(multi, it->handle);
    // A broken connection is not kept; the handle is.
    idle.push_back(it->handle);
  }
  curl->slist_free_all(it->headers);
  running.erase(it);
  handler->on_end(end);
}

void Exchanges::State::end_stalled() {
  const auto now = Clock::now();
  for (auto it = running.begin(); it != running.end();) {
    const auto next = std::next(it);
    if (it->fault == ExchangeFault::other) {
      finish(it, ExchangeFault::other, "the request cannot be made");
    } else if (it->bytes > 0 && now - it->last > it->stall) {
      finish(it, ExchangeFault::stalled,
             "no byte for " + format_fixed(double(it->stall.count()) / 1000, 0) + " s");
    }
    it = next;
  }
}

int Exchanges::running() const { return int(state_->running.size()); }

void Exchanges::cancel_all() {
  // Handlers may start new ones while these end; those stay.
  size_t left = state_->running.size();
  while (left-- > 0 && !state_->running.empty()) {
    state_->finish(state_->running.begin(), ExchangeFault::stopped, "stopped");
  }
}

void Exchanges::turn(std::chrono::milliseconds wait) {
  State& state = *state_;
  int active = 0;
  state.curl->multi_perform(state.multi, &active);
  int waiting = 0;
  while (CURLMsg* message = state.curl->multi_info_read(state.multi, &waiting)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* pointer = nullptr;
    state.curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &pointer);
    for (auto it = state.running.begin(); it != state.running.end(); ++it) {
      if (static_cast<void*>(&*it) != static_cast<void*>(pointer)) continue;
      const ExchangeFault fault = it->fault != ExchangeFault::none ? it->fault : fault_of(code);
      std::string text;
      if (fault == ExchangeFault::too_large) {
        text = "the answer has more than " + format_bytes(Bytes(it->most_bytes));
      } else if (fault == ExchangeFault::timed_out) {
        text = "not done within " + format_fixed(double(it->total.count()) / 1000, 0) + " s";
      } else if (fault != ExchangeFault::none) {
        text = state.curl->easy_strerror(code);
      }
      state.finish(it, fault, std::move(text));
      break;
    }
  }
  state.end_stalled();
  if (interrupted()) return;
  curl_waitfd wake{};
  wake.fd = interrupt_descriptor();
  wake.events = CURL_WAIT_POLLIN;
  state.curl->multi_poll(state.multi, &wake, wake.fd >= 0 ? 1u : 0u, int(wait.count()), nullptr);
}

namespace {

class Collector final : public ExchangeHandler {
 public:
  bool on_data(int status, std::string_view bytes) override {
    const size_t most = status == 200 ? SIZE_MAX : kErrorBody;
    reply.body.append(bytes.substr(0, most - std::min(most, reply.body.size())));
    return true;
  }
  void on_end(const ExchangeEnd& ended) override {
    end = ended;
    reply.status = ended.status;
    done = true;
  }
  SimpleReply reply;
  ExchangeEnd end;
  bool done = false;
};

}  // namespace

Result<SimpleReply> exchange_once(Exchanges& exchanges, const ExchangeRequest& request) {
  Collector collector;
  exchanges.start(request, collector);
  while (!collector.done && !interrupted()) exchanges.turn(std::chrono::milliseconds(200));
  if (!collector.done) {
    exchanges.cancel_all();
    return fail(Error(ErrorCode::invalid_input, "interrupted").at(request.url));
  }
  if (collector.end.fault != ExchangeFault::none) {
    return fail(Error(ErrorCode::invalid_input, collector.end.text).at(request.url));
  }
  return std::move(collector.reply);
}

Result<std::string> server_address(std::string_view text) {
  std::string address(trim(text));
  if (!contains(address, "://")) address = "http://" + address;
  const auto url = formats::parse_url(address);
  if (!url || url->host.empty() || (url->scheme != "http" && url->scheme != "https")) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 80)) + "' is not the address of a server")
                    .at("URL")
                    .hint("write http://127.0.0.1:8000"));
  }
  const auto strip = [&](std::string_view ending) {
    if (!ends_with(address, ending)) return false;
    address.resize(address.size() - ending.size());
    return true;
  };
  while (strip("/")) {
  }
  for (const char* ending : {"/chat/completions", "/completions", "/metrics", "/v1"}) strip(ending);
  return address;
}

}  // namespace vramwise::host
