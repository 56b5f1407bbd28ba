#include "host/http.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/checked.h"
#include "base/text.h"
#include "host/curl_library.h"
#include "host/environment.h"

#ifndef VRAMWISE_VERSION
#define VRAMWISE_VERSION "0.0.0"
#endif

namespace vramwise::host {
namespace {

constexpr int kMostRedirects = 8;
constexpr int kMostExchanges = 40;                   // resumed bodies included
constexpr int64_t kWorthwhile = int64_t{64} << 10;   // of a body, between two interruptions
constexpr int64_t kLongestSkip = int64_t{64} << 20;  // of a body without range
constexpr size_t kErrorBody = size_t{16} << 10;      // kept of an answer that is no success
constexpr size_t kMostHeaderBytes = size_t{256} << 10;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
bool is_passing(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What the callbacks of one exchange share.
struct Transfer {
  const HttpRequest* request = nullptr;
  HttpReply* reply = nullptr;
  std::string* body = nullptr;  // where the wanted bytes go
  int64_t already = 0;          // of them, from earlier tries
  int64_t known_total = -1;     // from earlier tries

  bool begun = false;   // the first bytes have come, the head is known
  int64_t skip = 0;     // of the body, before what is wanted
  int64_t want = 0;     // still
  bool enough = false;  // stopped on purpose
  size_t header_bytes = 0;
  std::string fault;  // stopped because of this
  ErrorCode fault_code = ErrorCode::invalid_input;
  Progress* progress = nullptr;
  int64_t reported = 0;

  bool stop(ErrorCode code, std::string why) {
    fault_code = code;
    fault = std::move(why);
    return false;
  }
  bool begin();
  size_t take(std::string_view bytes);
};

// The head has been read: is this the answer to what was asked?
bool Transfer::begin() {
  begun = true;
  const int status = reply->status = reply->head.status;
  const std::string_view encoding = reply->head.find("content-encoding");
  const std::string_view length = reply->head.find("content-length");
  const bool plain = encoding.empty() || encoding == "identity";
  if (status != 200 && status != 206) {
    want = int64_t(kErrorBody);
    return true;
  }
  if (!request->range) {
    want = request->body_limit - already;
    return true;
  }
  const int64_t from = request->range->offset + already;
  want = request->range->bytes - already;
  if (status == 206) {
    const auto range = formats::parse_content_range(reply->head.find("content-range"));
    if (!range || range->first < 0) {
      return stop(ErrorCode::invalid_input, "the server does not say which range it sends");
    }
    if (range->first != from) {
      return stop(ErrorCode::invalid_input, "the server sends bytes from " +
                                                format_grouped(range->first) + " on, asked was " +
                                                format_grouped(from));
    }
    if (!plain) {
      return stop(ErrorCode::unsupported, "the server compresses ranges of a file");
    }
    want = std::min(want, range->last - range->first + 1);
    reply->total_bytes = range->total;
  } else {
    // The range was ignored: everything comes, from the start.
    if (plain && !length.empty()) {
      reply->total_bytes = parse_integer(length).value_or(-1);
    }
    if (from > kLongestSkip) {
      return stop(ErrorCode::unsupported,
                  "the server cannot send a part of a file, and the part lies too far behind");
    }
    skip = from;
    if (reply->total_bytes >= 0) {
      want = std::clamp<int64_t>(reply->total_bytes - from, 0, want);
    }
  }
  if (known_total >= 0 && reply->total_bytes >= 0 && known_total != reply->total_bytes) {
    return stop(ErrorCode::inconsistent, "the file changed its size while it was read");
  }
  return true;
}

size_t Transfer::take(std::string_view bytes) {
  const size_t all = bytes.size();
  if (!begun && !begin()) return 0;
  if (progress != nullptr) progress->update(int64_t(all));
  const size_t skipped = size_t(std::min<int64_t>(skip, int64_t(bytes.size())));
  bytes.remove_prefix(skipped);
  skip -= int64_t(skipped);
  const bool success = reply->status == 200 || reply->status == 206;
  const bool limited = success && !request->range;
  if (limited && int64_t(bytes.size()) > want) {
    stop(ErrorCode::too_large,
         "the answer has more than the " + format_bytes(Bytes(request->body_limit)) + " accepted");
    return 0;
  }
  const size_t kept = size_t(std::min<int64_t>(want, int64_t(bytes.size())));
  (success ? *body : reply->body).append(bytes.substr(0, kept));
  want -= int64_t(kept);
  if (want == 0 && !limited) {
    enough = true;
    // Whatever still comes is not wanted; a short read of the whole is fine as well.
    return kept == bytes.size() ? all : 0;
  }
  return all;
}

size_t on_header(char* bytes, size_t size, size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  transfer->header_bytes += size * count;
  if (transfer->header_bytes > kMostHeaderBytes) {
    transfer->stop(ErrorCode::too_large, "the server's answer has too many header lines");
    return 0;
  }
  transfer->reply->head.add_line({bytes, size * count});
  return size * count;
}

size_t on_body(char* bytes, size_t size, size_t count, void* user) {
  return static_cast<Transfer*>(user)->take({bytes, size * count});
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto* progress = static_cast<Progress*>(user);
  if (progress != nullptr) progress->update(0);
  return 0;
}

bool may_try_again(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR: return true;
    default: return false;
  }
}

// Certificates as the other tools of this field find them.
std::string certificate_file() {
  for (const char* name : {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    std::string file = env(name);
    if (!file.empty()) return file;
  }
  return {};
}

}  // namespace

struct HttpClient::Attempt {
  std::string have;  // bytes of the wanted range so far
  int64_t total = -1;
  bool retry = false;
  std::optional<int64_t> pause_seconds;  // the server's wish
};

HttpClient::HttpClient(HttpOptions options) : options_(options) {}

HttpClient::~HttpClient() {
  if (handle_ == nullptr) return;
  if (const auto curl = curl_library()) (*curl)->easy_cleanup(handle_);
}

Result<void> HttpClient::exchange(const HttpRequest& request, const formats::Url& url,
                                  bool with_token, HttpReply& reply, Attempt& attempt) {
  TRY_ASSIGN(const CurlLibrary* curl, curl_library());
  if (handle_ == nullptr) handle_ = curl->easy_init();
  if (handle_ == nullptr) return fail(ErrorCode::internal, "libcurl cannot be started");
  curl->easy_reset(handle_);
  reply = HttpReply();
  reply.url = url;

  Transfer transfer;
  transfer.request = &request;
  transfer.reply = &reply;
  transfer.body = &attempt.have;
  transfer.already = int64_t(attempt.have.size());
  transfer.known_total = attempt.total;
  transfer.progress = options_.progress;

  const auto set = [&](CURLoption option, auto value) {
    return curl->easy_setopt(handle_, option, value) == CURLE_OK;
  };
  const std::string text = url.to_text();
  bool ready =
      set(CURLOPT_URL, text.c_str()) && set(CURLOPT_NOSIGNAL, 1L) &&
      set(CURLOPT_FOLLOWLOCATION, 0L) && set(CURLOPT_SSL_VERIFYPEER, 1L) &&
      set(CURLOPT_SSL_VERIFYHOST, 2L) && set(CURLOPT_HEADEROPT, long(CURLHEADER_SEPARATE)) &&
      set(CURLOPT_USERAGENT, "vramwise/" VRAMWISE_VERSION) &&
      // Asks for plain bytes, and undoes a compression that comes all the same.
      set(CURLOPT_ACCEPT_ENCODING, "identity") &&
      set(CURLOPT_CONNECTTIMEOUT, long(options_.connect_seconds)) &&
      set(CURLOPT_LOW_SPEED_LIMIT, 512L) &&
      set(CURLOPT_LOW_SPEED_TIME, long(options_.stall_seconds)) &&
      set(CURLOPT_TIMEOUT, long(options_.transfer_seconds)) && set(CURLOPT_NOPROGRESS, 0L) &&
      set(CURLOPT_XFERINFOFUNCTION, on_progress) &&
      set(CURLOPT_XFERINFODATA, static_cast<void*>(options_.progress)) &&
      set(CURLOPT_HEADERFUNCTION, on_header) &&
      set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer)) &&
      set(CURLOPT_WRITEFUNCTION, on_body) && set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  const std::string certificates = certificate_file();
  if (!certificates.empty()) ready = ready && set(CURLOPT_CAINFO, certificates.c_str());
  std::string range;
  if (request.range) {
    const int64_t from = request.range->offset + transfer.already;
    const int64_t last = request.range->offset + request.range->bytes - 1;
    range = format_integer(from) + "-" + format_integer(last);
    ready = ready && set(CURLOPT_RANGE, range.c_str());
  }
  curl_slist* headers = nullptr;
  if (with_token) {
    headers = curl->slist_append(headers, ("Authorization: Bearer " + request.token).c_str());
  }
  if (!request.accept.empty()) {
    headers = curl->slist_append(headers, ("Accept: " + request.accept).c_str());
  }
  if (headers != nullptr) ready = ready && set(CURLOPT_HTTPHEADER, headers);

  const CURLcode code = ready ? curl->easy_perform(handle_) : CURLE_FAILED_INIT;
  curl->slist_free_all(headers);
  // The pointers above end with this function.
  curl->easy_reset(handle_);

  const std::string where = url.without_query();
  if (!transfer.fault.empty()) {
    attempt.retry = false;
    return fail(Error(transfer.fault_code, transfer.fault).at(where));
  }
  // An answer without a body never reached the callback.
  if (code == CURLE_OK && !transfer.begun && !transfer.begin()) {
    return fail(Error(transfer.fault_code, transfer.fault).at(where));
  }
  reply.status = reply.head.status;
  if (attempt.total < 0) attempt.total = reply.total_bytes;
  const bool success = reply.status == 200 || reply.status == 206;
  const bool stopped = code == CURLE_WRITE_ERROR && transfer.enough;
  if (code != CURLE_OK && !stopped && !(transfer.enough && success)) {
    attempt.retry = may_try_again(code);
    Error error(ErrorCode::invalid_input,
                "cannot read " + where + ": " + curl->easy_strerror(code));
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT) {
      error.hints.push_back("without network, --offline reads what is cached");
    }
    if (code == CURLE_PEER_FAILED_VERIFICATION) {
      error.hints.push_back("a proxy's certificate is given with SSL_CERT_FILE");
    }
    return fail(std::move(error).at(where));
  }
  if (success && request.range && transfer.want > 0 && reply.total_bytes >= 0) {
    attempt.retry = true;
    return fail(
        Error(ErrorCode::invalid_input,
              where + " was cut off " + format_grouped(transfer.want) + " bytes before its end")
            .at(where));
  }
  return {};
}

Result<HttpReply> HttpClient::follow(const HttpRequest& request, const formats::Url& start,
                                     Attempt& attempt) {
  formats::Url url = start;
  formats::HttpHead first_head;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    HttpReply reply;
    const bool with_token = !request.token.empty() && same_origin(url, start);
    attempt.retry = false;
    TRY(exchange(request, url, with_token, reply, attempt));
    if (hop == 0) first_head = reply.head;
    reply.first_head = first_head;
    if (is_passing(reply.status)) {
      attempt.retry = true;
      attempt.pause_seconds =
          formats::parse_retry_after(reply.head.find("retry-after"), unix_now());
      Error error(ErrorCode::invalid_input,
                  url.without_query() + " answers " + format_integer(reply.status) +
                      (reply.status == 429 ? " (too many requests)" : ""));
      if (reply.status == 429 && request.token.empty()) {
        error.hints.push_back("a token (HF_TOKEN) raises the hub's limits");
      }
      return fail(std::move(error).at(url.without_query()));
    }
    if (!is_redirect(reply.status)) return reply;
    const auto next = resolve_location(url, reply.head.find("location"));
    if (!next || (url.scheme == "https" && next->scheme == "http")) {
      return fail(Error(ErrorCode::invalid_input,
                        url.without_query() + " redirects to " +
                            (next ? "an unencrypted address" : "no usable address"))
                      .at(url.without_query()));
    }
    url = *next;
  }
  return fail(Error(ErrorCode::invalid_input, start.without_query() + " redirects too often")
                  .at(start.without_query()));
}

Result<HttpReply> HttpClient::get(const HttpRequest& request) {
  const auto start = formats::parse_url(request.url);
  if (!start) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + request.url.substr(0, std::min<size_t>(request.url.find('?'), 120)) +
                          "' is no address that can be read (http or https, no user name)"));
  }
  for (const char c : request.token) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '\x7f') {
      return fail(Error(ErrorCode::invalid_input, "the access token holds blanks or line breaks")
                      .hint("check HF_TOKEN and the token file"));
    }
  }
  Attempt attempt;
  int failures = 0;
  int64_t before = 0;
  for (int n = 0;; ++n) {
    if (!request.range) attempt.have.clear();
    attempt.pause_seconds.reset();
    auto reply = follow(request, *start, attempt);
    if (reply) {
      if (reply->status == 200 || reply->status == 206) {
        reply->body = std::move(attempt.have);
        if (reply->total_bytes < 0) reply->total_bytes = attempt.total;
      }
      return reply;
    }
    // A body that goes on growing at a pace is worth going on with.
    failures = int64_t(attempt.have.size()) - before >= kWorthwhile ? 1 : failures + 1;
    before = int64_t(attempt.have.size());
    const int64_t wish = attempt.pause_seconds.value_or(0);
    if (!attempt.retry || failures >= options_.tries || n >= kMostExchanges ||
        wish > options_.longest_pause_seconds) {
      if (wish > options_.longest_pause_seconds) {
        reply.error().hints.push_back("the server asks to wait for " + format_integer(wish) +
                                      " seconds");
      }
      return reply;
    }
    // 0.25, 0.5, 1 … seconds, or what the server asks for.
    const auto pause = std::max(std::chrono::milliseconds(250) * (1 << std::min(failures - 1, 6)),
                                std::chrono::milliseconds(1000) * wish);
    const auto until = std::chrono::steady_clock::now() + pause;
    while (std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (options_.progress != nullptr) options_.progress->update(0);
    }
  }
}

HttpSource::HttpSource(HttpClient& client, std::string url, std::string token, std::string name,
                       int64_t known_size)
    : client_(client),
      url_(std::move(url)),
      token_(std::move(token)),
      name_(std::move(name)),
      size_(known_size) {}

Result<HttpReply> HttpSource::fetch(int64_t offset, int64_t bytes) {
  HttpRequest request;
  request.range = formats::Range{offset, bytes};
  if (!direct_.empty()) {
    // Signed addresses expire: then the way over the first one is taken again.
    request.url = direct_;
    auto reply = client_.get(request);
    if (reply && (reply->status == 200 || reply->status == 206)) return reply;
    direct_.clear();
  }
  request.url = url_;
  request.token = token_;
  TRY_ASSIGN(HttpReply reply, client_.get(request));
  if (reply.status != 200 && reply.status != 206) {
    Error error(reply.status == 404 ? ErrorCode::not_found : ErrorCode::invalid_input,
                name_ + ": the server answers " + format_integer(reply.status));
    if (reply.status == 401 || reply.status == 403) {
      error.hints.push_back("access needs a token with the right to it: set HF_TOKEN");
    }
    return fail(std::move(error).at(name_));
  }
  if (size_ >= 0 && reply.total_bytes >= 0 && reply.total_bytes != size_) {
    return fail(Error(ErrorCode::inconsistent, name_ + " has " + format_grouped(reply.total_bytes) +
                                                   " bytes, " + format_grouped(size_) +
                                                   " were announced")
                    .at(name_));
  }
  const auto start = formats::parse_url(url_);
  if (start && !same_origin(reply.url, *start)) direct_ = reply.url.to_text();
  return reply;
}

Result<int64_t> HttpSource::size() {
  if (size_ >= 0) return size_;
  constexpr int64_t kFirst = int64_t{1} << 20;
  TRY_ASSIGN(HttpReply reply, fetch(0, kFirst));
  if (reply.total_bytes < 0) {
    return fail(Error(ErrorCode::unsupported, name_ + ": the server does not say how large it is")
                    .at(name_));
  }
  size_ = reply.total_bytes;
  first_ = std::move(reply.body);
  return size_;
}

Result<void> HttpSource::read(int64_t offset, std::span<char> out) {
  TRY_ASSIGN(const int64_t size, this->size());
  if (offset < 0 || offset > size || int64_t(out.size()) > size - offset) {
    return fail(formats::beyond_end(name_, offset, int64_t(out.size()), size));
  }
  if (out.empty()) return {};
  if (offset + int64_t(out.size()) <= int64_t(first_.size())) {
    std::copy_n(first_.data() + offset, out.size(), out.data());
    return {};
  }
  TRY_ASSIGN(const HttpReply reply, fetch(offset, int64_t(out.size())));
  if (reply.body.size() != out.size()) {
    return fail(Error(ErrorCode::invalid_input,
                      name_ + ": " + format_grouped(int64_t(reply.body.size())) + " of " +
                          format_grouped(int64_t(out.size())) + " bytes came")
                    .at(name_));
  }
  std::copy_n(reply.body.data(), out.size(), out.data());
  return {};
}

HttpOptions http_options_from_environment() {
  HttpOptions options;
  if (const auto seconds = parse_integer(env("HF_HUB_DOWNLOAD_TIMEOUT"));
      seconds && *seconds > 0 && *seconds < 3600) {
    options.stall_seconds = *seconds;
    options.connect_seconds = *seconds;
  }
  return options;
}

}  // namespace vramwise::host
