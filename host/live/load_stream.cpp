#include "host/live/load_stream.h"

#include <algorithm>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::host {
namespace {

constexpr size_t kKeptDetail = 160;
constexpr size_t kKeptOther = 4096;
constexpr int64_t kMostTokens = int64_t{1} << 40;

int64_t count(const json::Value* value) {
  if (value == nullptr || !value->is_integer()) return 0;
  const int64_t n = value->as_integer();
  return n < 0 || n > kMostTokens ? 0 : n;
}

// An error as the engines write it: {"error":{"message":…}}, {"object":"error","message":…},
// {"detail":…}; else the text itself.
std::string error_text(std::string_view body) {
  std::string text(body);
  if (const auto value = json::parse(body, "answer")) {
    const json::Value* holder = value->find("error");
    if (holder == nullptr || !holder->is_object()) holder = &*value;
    for (const char* key : {"message", "error", "detail"}) {
      const json::Value* found = holder->find(key);
      if (found == nullptr) continue;
      text = found->is_string() ? found->as_string() : json::dump(*found);
      break;
    }
  }
  text = std::string(trim(text));
  if (text.size() > kKeptDetail) text = text.substr(0, kKeptDetail) + " …";
  // Out and in again: bytes that are no UTF-8, and a letter that was cut, are replaced on the way.
  const auto valid = json::parse(json::dump(json::Value(text)), "answer");
  return valid ? valid->as_string() : std::string();
}

bool has_text(const json::Value* value) {
  return value != nullptr && ((value->is_string() && !value->as_string().empty()) ||
                              (value->is_array() && !value->as_array().empty()));
}

}  // namespace

void LoadStream::event(std::string_view data, Clock::time_point now) {
  if (done_ || data.empty()) return;
  if (data == "[DONE]") {
    done_ = true;
    return;
  }
  const auto value = json::parse(data, "event");
  if (!value || !value->is_object()) {
    faulty_ = true;
    return;
  }
  if (const json::Value* error = value->find("error"); error != nullptr && !error->is_null()) {
    error_ = error_text(data);
    return;
  }
  if (const json::Value* usage = value->find("usage"); usage != nullptr && usage->is_object()) {
    prompt_tokens_ = count(usage->find("prompt_tokens"));
    output_tokens_ = count(usage->find("completion_tokens"));
  }
  const json::Value* choices = value->find("choices");
  if (choices == nullptr || !choices->is_array() || choices->as_array().empty()) return;
  const json::Value& choice = choices->as_array().front();
  if (const json::Value* reason = choice.find("finish_reason");
      reason != nullptr && reason->is_string()) {
    finished_ = true;
  }
  bool text = has_text(choice.find("text"));
  if (const json::Value* delta = choice.find("delta"); delta != nullptr && delta->is_object()) {
    // Reasoning models stream their thoughts under names of their own.
    for (const char* key : {"content", "reasoning_content", "reasoning", "tool_calls"}) {
      text = text || has_text(delta->find(key));
    }
  }
  if (!text) return;
  if (pieces_ == 0) first_ = now;
  if (pieces_ > 0) gap_ = std::max(gap_, std::chrono::duration<double>(now - last_).count());
  last_ = now;
  ++pieces_;
  ++fresh_;
}

bool LoadStream::take(int status, std::string_view bytes, Clock::time_point now) {
  fresh_ = 0;
  gap_ = 0;
  if (status != 200) {
    other_ += bytes.substr(0, kKeptOther - std::min(kKeptOther, other_.size()));
    return true;
  }
  if (pieces_ == 0) other_ += bytes.substr(0, kKeptOther - std::min(kKeptOther, other_.size()));
  if (!events_.feed(bytes, [&](std::string_view data) { event(data, now); })) {
    faulty_ = true;
    return false;
  }
  return !faulty_;
}

void LoadStream::finish(const ExchangeEnd& end, LoadRecord& record) {
  const auto now = Clock::now();
  if (end.status == 200) events_.finish([&](std::string_view data) { event(data, now); });
  record.prompt_tokens = prompt_tokens_;
  record.counted = output_tokens_ > 0;
  record.pieces = pieces_;
  record.output_tokens = record.counted ? output_tokens_ : pieces_;
  const auto fault = [&](std::string kind, std::string detail) {
    record.error = std::move(kind);
    record.detail = std::move(detail);
  };
  if (end.status != 0 && end.status != 200) {
    std::string detail = error_text(other_);
    if (end.status >= 300 && end.status < 400) detail = "the server sends elsewhere";
    fault("status " + std::to_string(end.status), std::move(detail));
  } else if (!error_.empty()) {
    fault("server_error", error_);
  } else if (faulty_) {
    fault("bad_stream", "what came is no stream of tokens: " + error_text(other_));
  } else if (end.fault != ExchangeFault::none) {
    fault(std::string(to_string(end.fault)), end.text);
  } else if (pieces_ == 0) {
    // An answer of end-of-text alone is empty too, but then its end is marked.
    if (done_ || finished_) {
      fault("no_tokens", "the answer has no text");
    } else {
      fault("bad_stream", "what came is no stream of tokens: " + error_text(other_));
    }
  } else if (!done_ && !finished_) {
    fault("cut", "the stream ends in the middle");
  }
}

}  // namespace vramwise::host
