// HTTP(S) with ranges on top of libcurl, the way model hubs need it: redirects that never carry a
// token to another host, retries with growing pauses, resumed bodies, limits on every size.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "formats/byte_source.h"
#include "formats/http/head.h"
#include "host/progress.h"

namespace vramwise::host {

struct HttpOptions {
  int tries = 4;
  int64_t connect_seconds = 10;
  int64_t stall_seconds = 10;          // below 512 bytes a second for that long counts as dead
  int64_t transfer_seconds = 600;      // one answer in all
  int64_t longest_pause_seconds = 60;  // a Retry-After beyond it is not waited for
  Progress* progress = nullptr;
};

struct HttpRequest {
  std::string url;
  std::string token;                    // sent as Bearer to the origin of `url` only
  std::string accept;                   // header of that name; may be empty
  std::optional<formats::Range> range;  // bytes wanted
  int64_t body_limit = int64_t{64} << 20;
};

struct HttpReply {
  int status = 0;
  formats::HttpHead head;        // of the last answer
  formats::HttpHead first_head;  // of the first one, before redirects: hubs put their facts there
  formats::Url url;              // after redirects
  std::string body;
  int64_t total_bytes = -1;  // size of the whole thing when a range was asked for; -1 unknown
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // An answer with any status below 500 but 408 and 429 is a reply, not an error. With a range, a
  // status of 200 or 206 comes with exactly the bytes asked for, less where the thing ends early.
  // Errors: invalid_input when the server cannot be reached, answers nonsense or keeps failing;
  // too_large beyond the limit.
  Result<HttpReply> get(const HttpRequest& request);

 private:
  struct Attempt;
  // One try from the first URL on, redirects included.
  Result<HttpReply> follow(const HttpRequest& request, const formats::Url& start, Attempt& attempt);
  // One exchange. `attempt.retry` says whether a failure may be tried again.
  Result<void> exchange(const HttpRequest& request, const formats::Url& url, bool with_token,
                        HttpReply& reply, Attempt& attempt);

  HttpOptions options_;
  void* handle_ = nullptr;  // CURL*, kept: connections are used again
};

// A remote file. The first range read tells its size.
class HttpSource final : public formats::ByteSource {
 public:
  // `known_size` -1: ask.
  HttpSource(HttpClient& client, std::string url, std::string token, std::string name,
             int64_t known_size = -1);

  const std::string& name() const override { return name_; }
  Result<int64_t> size() override;
  Result<void> read(int64_t offset, std::span<char> out) override;

 private:
  Result<HttpReply> fetch(int64_t offset, int64_t bytes);

  HttpClient& client_;
  std::string url_;
  std::string direct_;  // where redirects led to; needs no token
  std::string token_;
  std::string name_;
  int64_t size_;
  std::string first_;  // what came along when the size was asked for
};

// Seconds from HF_HUB_DOWNLOAD_TIMEOUT where set.
HttpOptions http_options_from_environment();

}  // namespace vramwise::host
