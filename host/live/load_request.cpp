#include "host/live/load_request.h"

#include <algorithm>
#include <array>

#include "json/value.h"

namespace vramwise::host {
namespace {

// Each is one token with its blank in the large vocabularies (Llama 3, Qwen, Gemma, GPT): frequent,
// short, lower case.
constexpr std::array<const char*, 64> kWords = {
    "the",  "of",   "and",   "to",    "in",    "is",    "that",  "for",  "it",   "as",   "was",
    "with", "be",   "by",    "on",    "not",   "he",    "his",   "but",  "at",   "are",  "this",
    "have", "from", "or",    "had",   "an",    "they",  "which", "one",  "you",  "were", "all",
    "her",  "she",  "there", "would", "their", "we",    "him",   "been", "has",  "when", "who",
    "will", "no",   "more",  "if",    "out",   "so",    "up",    "said", "what", "its",  "about",
    "than", "into", "them",  "can",   "only",  "other", "time",  "new",  "some"};

constexpr int64_t kMostWords = 4'000'000;

}  // namespace

std::string LoadTarget::url() const {
  return server + (api == LoadApi::chat ? "/v1/chat/completions" : "/v1/completions");
}

int64_t words_for(int64_t tokens, const TokenScale& scale) {
  const double words = (double(tokens) - scale.overhead) / std::max(scale.tokens_per_word, 0.05);
  return std::clamp<int64_t>(int64_t(words + 0.5), 1, kMostWords);
}

std::string make_prompt(int64_t tokens, const TokenScale& scale, workload::Random& random) {
  const int64_t words = words_for(tokens, scale);
  std::string text;
  text.reserve(size_t(words) * 5);
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) text += ' ';
    text += kWords[size_t(random.below(kWords.size()))];
  }
  return text;
}

std::string make_body(const LoadTarget& target, const std::string& prompt, int64_t output_tokens) {
  using json::Value;
  Value body = Value::object();
  body.set("model", target.model);
  if (target.api == LoadApi::chat) {
    Value message = Value::object();
    message.set("role", "user");
    message.set("content", prompt);
    body.set("messages", Value::array()).push(std::move(message));
  } else {
    body.set("prompt", prompt);
  }
  body.set("max_tokens", output_tokens);
  body.set("stream", true);
  body.set("stream_options", Value::object()).set("include_usage", true);
  if (target.ignore_eos) body.set("ignore_eos", true);
  return json::dump(body);
}

}  // namespace vramwise::host
